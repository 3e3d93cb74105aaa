"""A pickle that would create a file, in every place where a file can be given: nothing is created."""

import contextlib
import gzip
import hashlib
import pickle
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from payload import Payload, check, save_npy, save_npz

from twincl.cli import main
from twincl.config import build_config
from twincl.data.labels import read_labels
from twincl.data.pickles import read_pickle, read_torch
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.nets.resnet import load_imagenet_weights, resnet18
from twincl.results.finished import load_run
from twincl.runs.predict import predict
from twincl.runs.train import train
from twincl.training.checkpoint import CHECKSUM_LENGTH, find_checkpoints


@pytest.fixture
def made(tmp_path):
    """What the payload would make; the test fails if it is there in the end."""
    path = tmp_path / "made"
    check(path)
    yield path
    assert not path.exists(), "the payload ran"


def torch_file(path, content, *, zipped=True):
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    return path


# data


@pytest.mark.parametrize("place", ["batches.meta", "data_batch_1", "test_batch"])
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_cifar_batches(made, tmp_path, place, protocol):
    folder = tmp_path / "cifar"
    folder.mkdir()
    batch = {b"data": np.zeros((2, 3072), np.uint8), b"labels": [0, 1]}
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        (folder / name).write_bytes(pickle.dumps(batch, protocol=protocol))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["a", "b"]}, protocol=protocol))
    assert len(read_dataset(str(folder)).train) == 10, "without the payload it is read"
    evil = batch | {b"labels": [0, Payload(made)], b"label_names": ["a", Payload(made)]}
    (folder / place).write_bytes(pickle.dumps(evil, protocol=protocol))
    with pytest.raises(InputError, match=r"asks for '(posix|nt)\.mkdir' while loading and was refused"):
        read_dataset(str(folder))


@pytest.mark.parametrize("beside", [[0, 1], np.arange(2), torch.arange(2)], ids=["list", "array", "tensor"])
@pytest.mark.parametrize("zipped", [True, False])
def test_label_files_by_torch(made, tmp_path, beside, zipped):
    assert read_labels(
        torch_file(tmp_path / "good.pt", {"a": beside}, zipped=zipped), key="a", names=["x", "y"]
    ).tolist() == [0, 1]
    bad = torch_file(tmp_path / "bad.pt", {"a": beside, "b": Payload(made)}, zipped=zipped)
    with pytest.raises(InputError, match="was refused"):
        read_labels(bad, key="a", names=["x", "y"])


def test_arrays(made, tmp_path):
    files = {None: save_npy(tmp_path / "d.npy", made), "y": save_npz(tmp_path / "d.npz", made)}
    for key, path in files.items():
        with pytest.raises(InputError, match="holds Python objects, which are not read"):
            read_dataset(str(path))
        with pytest.raises(InputError, match="holds Python objects, which are not read"):
            read_labels(path, key=key, names=["x", "y"])
    for samples in (np.zeros((2, 4, 4), np.uint8), np.zeros((2, 4), np.float32)):
        with pytest.raises(InputError, match="holds Python objects"):
            read_dataset(str(save_npz(tmp_path / "labels.npz", made, x=samples)))


def test_pickle_files_named_as_arrays(made, tmp_path):
    for name in ("d.npy", "d.npz"):
        (tmp_path / name).write_bytes(pickle.dumps(Payload(made)))
        with pytest.raises(InputError, match="not a readable numpy file"):
            read_dataset(str(tmp_path / name))
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(pickle.dumps(Payload(made))))
    with pytest.raises(InputError, match="wrong magic number"):
        read_dataset(str(tmp_path / "train-images-idx3-ubyte.gz"))


def test_parquet_metadata(made, tmp_path):
    """Arrow once unpickled extension types that a file named."""
    evil = pickle.dumps(Payload(made))
    field = pa.field(
        "label",
        pa.int64(),
        metadata={"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": evil},
    )
    schema = pa.schema(
        [pa.field("embedding", pa.list_(pa.float32())), field], metadata={"pandas": evil, "huggingface": evil}
    )
    table = pa.table({"embedding": [[1.0], [2.0]], "label": [0, 1]}).cast(schema)
    pq.write_table(table, tmp_path / "d.parquet")
    assert read_dataset(str(tmp_path / "d.parquet")).train.labels.tolist() == [0, 1]


def test_configuration(made, tmp_path):
    for text in (f"data: !!python/object/apply:os.mkdir ['{made}']", f"!!python/object/apply:os.mkdir ['{made}']"):
        (tmp_path / "c.yaml").write_text(text)
        with pytest.raises(InputError, match="not valid YAML"):
            build_config(file=tmp_path / "c.yaml", settings={})


def test_transition_matrix(made, tmp_path, capsys):
    file = save_npy(tmp_path / "m.npy", made)
    command = [
        "noise",
        "digits",
        "--output",
        str(tmp_path / "n.csv"),
        "--noise",
        "matrix",
        "--set",
        f"noise.matrix={file}",
    ]
    with pytest.raises(SystemExit) as end:
        main(command)
    assert end.value.code == 2
    assert "holds Python objects" in capsys.readouterr().err


# models


@pytest.mark.parametrize("zipped", [True, False])
def test_pretrained_weights(made, tmp_path, zipped):
    net = resnet18(channels=3)
    content = {**net.state_dict(), "extra": Payload(made)}
    for name in ("w.pth", "w.pt", "w.bin"):
        with pytest.raises(InputError, match="cannot be read as a weights file"):
            load_imagenet_weights(net, torch_file(tmp_path / name, content, zipped=zipped))
    (tmp_path / "w.safetensors").write_bytes(pickle.dumps(Payload(made)))
    with pytest.raises(InputError, match="cannot be read as a weights file"):
        load_imagenet_weights(net, tmp_path / "w.safetensors")


@pytest.fixture
def run(vector_run, tmp_path):
    return shutil.copytree(vector_run, tmp_path / "run")


def test_run_folder(made, run, vector_run):
    data = str(vector_run.parent / "data.npz")
    torch_file(run / "model.safetensors", {"w": Payload(made)})
    with pytest.raises(InputError, match="cannot be loaded"):
        predict(run, data)
    (run / "model.json").write_bytes(pickle.dumps(Payload(made)))
    with pytest.raises(InputError, match="cannot be"):
        predict(run, data)
    save_npz(run / "outputs.npz", made)
    with pytest.raises(InputError, match="holds Python objects"):
        load_run(run)
    (run / "outputs.npz").write_bytes(pickle.dumps(Payload(made)))
    with pytest.raises(InputError, match="not a readable numpy file"):
        load_run(run)


def test_run_folder_configuration(made, run):
    (run / "config.yaml").write_text(f"data: !!python/object/apply:os.mkdir ['{made}']")
    with pytest.raises(InputError, match="cannot be read"):
        load_run(run)


@pytest.mark.parametrize("zipped", [True, False])
def test_checkpoint(made, run, zipped):
    """With the right checksum in its name, which anyone can calculate."""
    folder = run / "checkpoints"
    newest = find_checkpoints(folder)[0]
    good = torch.load(newest, weights_only=True)
    for file in find_checkpoints(folder):
        file.unlink()
    evil = torch_file(folder / "x", good | {"epoch": 0, "net": Payload(made)}, zipped=zipped)
    evil.rename(folder / f"00000-0000001-{hashlib.sha256(evil.read_bytes()).hexdigest()[:CHECKSUM_LENGTH]}.pt")
    with contextlib.suppress(InputError):  # or it begins anew
        train(build_config(file=run / "config.yaml", settings={}), run, resume=True)


# what a pickle can do without calling anything


def forged(code: str, flags: int, raw: bytes) -> bytes:
    """An array of that dtype over `raw`, with flags that numpy would believe."""

    class Dtype:
        def __reduce__(self):
            return np.dtype, (code, False, True), (3, "|", None, None, None, -1, -1, flags)

    class Array:
        def __reduce__(self):
            make, arguments, _ = np.empty(0).__reduce__()
            return make, arguments, (1, (1,), Dtype(), False, raw)

    return pickle.dumps({"labels": Array()}, protocol=2)


def test_a_forged_dtype_makes_no_pointers(tmp_path):
    """Numpy takes the flags of a dtype from the pickle: an array of objects over given bytes is pointers."""
    (tmp_path / "x.pt").write_bytes(forged("O8", 0, b"A" * 8))
    for read in (read_pickle, read_torch):
        with pytest.raises(InputError, match="refused"):
            read(tmp_path / "x.pt")
    (tmp_path / "x.pt").write_bytes(forged("i8", 0, b"A" * 8))
    assert read_pickle(tmp_path / "x.pt")["labels"].tolist() == [0x4141414141414141], "an honest one is read"


@pytest.mark.parametrize(
    "program",
    [
        b"\x80\x04" + b"(" * 3 + b"t" * 2 + b"0" * 9 + b".",  # more taken than put
        b"\x80\x02cnumpy\nndarray\n(M\xff\xffM\xff\xff\x86tR.",  # the array itself, called
        b"\x80\x02cnumpy\nndarray\n)\x81.",  # an object without a call
        b"\x80\x04c_codecs\nencode\n(X\x01\x00\x00\x00xX\x04\x00\x00\x00idnatR.",  # slow for long text
        b"\x80\x04]r\xff\xff\xff\x7f.",  # a memo of two thousand million places
        b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.",  # a bytearray of 8 EiB
        b"\x80\x04B\xff\xff\xff\xff.",  # four gigabytes of bytes in a file of ten
        b"\x80\x04\x8f.",  # a set
        b"\x80\x04}]Ns.",  # a list as key
        b"\x80\x04]N}b.",  # the state of a None
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    ],
)
def test_odd_programs(tmp_path, program):
    (tmp_path / "x.pt").write_bytes(program)
    for read in (read_pickle, read_torch):
        try:
            value = read(tmp_path / "x.pt")
        except InputError:
            continue
        assert value in ([], b"\xff\xff\xff\xff"), "plain data, if anything"


def test_pickles_that_refer_to_themselves(tmp_path):
    circle: list = [1]
    circle.append(circle)
    table: dict = {"a": circle}
    table["b"] = table
    deep = ()
    for _ in range(50):
        deep = (deep, deep)  # 2 ** 50 tuples, if each was looked at
    (tmp_path / "x.pt").write_bytes(pickle.dumps({"labels": [1, 2], "circle": table, "deep": deep}))
    assert read_labels(tmp_path / "x.pt", key="labels", names=["x", "y"]).tolist() == [1, 2]
    with pytest.raises(InputError):
        read_labels(tmp_path / "x.pt", key="circle", names=["x", "y"])
    with pytest.raises(InputError):
        read_labels(tmp_path / "x.pt", key="deep", names=["x", "y"])


def test_a_tuple_of_tuples_as_key(tmp_path):
    """Python hashes it by recursion in C, to the end of the stack."""
    (tmp_path / "x.pt").write_bytes(b"\x80\x04})" + b"\x85" * 500_000 + b"Ns.")
    with pytest.raises(InputError, match="a tuple as key"):
        read_torch(tmp_path / "x.pt")


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_reach_no_further_than_their_storage(tmp_path, zipped):
    def expect(tensor, reason=None):
        file = torch_file(tmp_path / "x.pt", {"a": tensor}, zipped=zipped)
        if reason is None:
            assert np.array_equal(read_torch(file)["a"], tensor.numpy())
        else:
            with pytest.raises(InputError, match=reason):
                read_torch(file)

    whole = torch.arange(24).reshape(2, 3, 4)
    for view in (whole, whole[:, 1:], whole[..., ::2], whole.permute(2, 0, 1), whole[1, 2, 3], whole[:0]):
        expect(view)
    expect(torch.zeros(1, dtype=torch.int64).expand(10**12), "a tensor of shape")
    expect(torch.tensor(True))
    file = torch_file(tmp_path / "x.pt", {"a": torch.arange(3)}, zipped=False)
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(InputError, match="a tensor of shape"):
        read_torch(file)
