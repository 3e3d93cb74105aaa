"""Files that are more than they seem: nothing is allocated, or unpacked, because a header says so."""

import gzip
import io
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from twincl.archives import ALWAYS, check_unpacked
from twincl.data.decode import BrokenImage, decode, read_header
from twincl.data.images import load_images
from twincl.data.labels import read_labels
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.nets.resnet import load_imagenet_weights, resnet18

SMALL = 64 * 2**20  # bytes that a refusal may allocate; numpy and Python both report theirs


@pytest.fixture
def refuses():
    """Reading raises InputError that matches, and allocates next to nothing."""

    def check(read, match, most=SMALL):
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match=match) as error:
                read()
            assert tracemalloc.get_traced_memory()[1] < most
        finally:
            tracemalloc.stop()
        assert len(str(error.value)) < 600

    return check


def npy(shape, kind="|u1", content=b"", version=1):
    header = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape!r}, }}".ljust(117) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(2, "little") + header.encode() + content


def zeros(path, size, *names, head=b""):
    """A zip archive with files of so many zeros in it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in names:
            archive.writestr(name, head + bytes(size))
    return path


# images


def png_header(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(100_000, 100_000), (2**31 - 1, 2**31 - 1), (10_000, 10_000), (0, 5)])
def test_images_that_claim_to_be_huge(size):
    """Ten thousand squared is beyond Pillow's limit, but not beyond twice that, where Pillow itself only warns."""
    content = png_header(*size)
    tracemalloc.start()
    for read in (read_header, lambda it: decode(it, size=8, channels=3)):
        with pytest.raises(BrokenImage):
            read(content)
    assert tracemalloc.get_traced_memory()[1] < SMALL
    tracemalloc.stop()


def test_a_real_decompression_bomb(tmp_path):
    Image.new("1", (20_000, 20_000)).save(tmp_path / "bomb.png")
    assert (tmp_path / "bomb.png").stat().st_size < 100_000
    with pytest.raises(BrokenImage, match="decompression bomb"):
        decode(tmp_path / "bomb.png", size=8, channels=1)


def test_damaged_images_are_left_out_and_the_rest_is_used(tmp_path):
    buffer = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(buffer, "JPEG")
    whole = buffer.getvalue()
    contents = {
        **{f"{number}.jpg": whole for number in range(3)},
        **{"cut.jpg": whole[: len(whole) // 2], "bomb.png": png_header(100_000, 100_000), "text.jpg": b"hello"},
        "program.png": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(made) (w) file closefile showpage\n",
    }
    for name, content in contents.items():
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / name).write_bytes(content)
    loaded = load_images(read_dataset(str(tmp_path)).train, size=None, channels=None)
    assert len(loaded.images) == 3
    reasons = {name.split("/")[-1]: reason for name, reason in loaded.broken}
    assert sorted(reasons) == ["bomb.png", "cut.jpg", "program.png", "text.jpg"]
    assert "truncated" in reasons["cut.jpg"]
    assert "bomb" in reasons["bomb.png"]
    assert "not an image" in reasons["program.png"], "PostScript is a program; Pillow would run it"


# arrays


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((10**12, 32, 32, 3), "|u1"),
        ((2**62, 4), "<f4"),
        ((2**64, 4), "<f4"),
        ((-1, 4), "<f4"),
        ((2, -(2**63)), "<f4"),
        ((10**12,), "<U0"),
        ((10**12,), "|S0"),
        ((10**12,), "|V0"),
        ((1,), "|V99999999999"),
        ((3, 4), "<f4"),
    ],
)
def test_arrays_that_claim_more_than_the_file_has(tmp_path, refuses, shape, kind):
    content = npy(shape, kind, bytes(32))
    (tmp_path / "d.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "d.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content)
    for name in ("d.npy", "d.npz"):
        refuses(lambda name=name: read_dataset(str(tmp_path / name)), "not a readable numpy file")
        refuses(lambda name=name: read_labels(tmp_path / name, key=None, names=["a"]), "not a readable numpy file")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [((0, 8, 8), "no images"), ((0, 4), "no images"), ((10**12, 0, 8), "without pixels"), ((10**12, 0), "no features")],
)
def test_arrays_of_nothing(tmp_path, refuses, shape, reason):
    (tmp_path / "d.npy").write_bytes(npy(shape, "<f4"))
    refuses(lambda: load_images(read_dataset(str(tmp_path / "d.npy")).train, size=None, channels=None), reason)


def test_array_header_that_is_no_header(tmp_path, refuses):
    for content in (npy((1,), version=3), npy((1,), version=9), npy("__import__('os')"), npy((1,))[:40]):
        (tmp_path / "d.npy").write_bytes(content)
        refuses(lambda: read_dataset(str(tmp_path / "d.npy")), "not a readable numpy file")


def test_zip_bombs(tmp_path, refuses):
    size = 100 * 2**20
    bomb = zeros(tmp_path / "d.npz", size, "x.npy", "d/data.pkl", "d/data/0", head=npy((size // 4, 4)))
    assert bomb.stat().st_size < 3 * size / 500
    refuses(lambda: read_dataset(str(bomb)), "decompression bomb")
    refuses(lambda: read_labels(bomb, key=None, names=["a"]), "decompression bomb")
    packed = bomb.rename(tmp_path / "d.pt")
    refuses(lambda: read_labels(packed, key=None, names=["a"]), "decompression bomb")
    net = resnet18()
    refuses(lambda: load_imagenet_weights(net, packed), "decompression bomb")


def test_many_names_for_the_same_bytes(tmp_path, refuses):
    """A zip archive whose entries overlap holds every byte many times."""
    zeros(tmp_path / "one.zip", 40 * 2**20, "x.npy", head=npy((2**20, 40)))
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        entry = archive.infolist()[0]
        with zipfile.ZipFile(tmp_path / "d.npz", "w") as bomb:
            bomb.fp.write((tmp_path / "one.zip").read_bytes()[: archive.start_dir])
            bomb.start_dir = bomb.fp.tell()
            bomb._didModify = True
            for _ in range(20):
                bomb.filelist.append(entry)
    refuses(lambda: read_dataset(str(tmp_path / "d.npz")), "decompression bomb")


def test_well_packed_data_are_no_bomb(tmp_path):
    np.savez_compressed(tmp_path / "d.npz", x=np.zeros((2000, 32, 32, 3), np.uint8), y=np.arange(2000) % 10)
    assert (tmp_path / "d.npz").stat().st_size < 2000 * 3072 / 100
    assert len(read_dataset(str(tmp_path / "d.npz")).train) == 2000
    check_unpacked(tmp_path / "d.npz", ALWAYS)
    with pytest.raises(InputError):
        check_unpacked(tmp_path / "d.npz", ALWAYS + 1)


# IDX


def idx(folder, images=b"", labels=b"", packed=False):
    for name, content in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    return str(folder)


def header(*sizes):
    return bytes([0, 0, 8, len(sizes)]) + b"".join(size.to_bytes(4, "big") for size in sizes)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("images", "reason"),
    [
        (header(2**32 - 1, 2**32 - 1, 2**32 - 1), "4294967295 x 4294967295 x 4294967295|decompression bomb"),
        (header(60_000, 28, 28), "should hold 60000 x 28 x 28 bytes"),
        (header(3, 2, 2) + bytes(11), "should hold 3 x 2 x 2 bytes after its header but has 11"),
        (header(3, 2, 2) + bytes(13), "but has more"),
        (header(2**32 - 1, 0, 28), "images of 0 x 28 pixels"),
        (header(*[1] * 200) + bytes(1), "wrong number of dimensions"),
        (header(3, 2, 2)[:9], "wrong number of dimensions"),
        (header(0, 28, 28), "no images|but .* has 2 labels"),
    ],
)
def test_idx_headers(tmp_path, refuses, images, reason, packed):
    folder = idx(tmp_path, images, header(2) + bytes(2), packed)
    refuses(lambda: read_dataset(folder), reason)


def test_no_images_at_all(tmp_path, refuses):
    folder = idx(tmp_path, header(0, 28, 28), header(0))
    refuses(lambda: read_dataset(folder), "holds no images")


def test_gzip_bomb(tmp_path, refuses):
    size = 300 * 2**20
    content = gzip.compress(header(size // 16, 4, 4) + bytes(size), compresslevel=6)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(content)
    refuses(lambda: read_dataset(str(tmp_path)), "decompression bomb")
    modest = gzip.compress(header(2, 4, 4)) + gzip.compress(bytes(SMALL * 2), compresslevel=6)  # in its header
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(modest)
    refuses(lambda: read_dataset(str(tmp_path)), "but has more")


# tables


def test_a_field_of_100_megabytes(tmp_path, refuses):
    path = tmp_path / "d.csv"
    path.write_bytes(b'path,label\na.png,"' + b"x" * 100_000_000 + b'"\n')
    refuses(lambda: read_dataset(str(path)), "field larger than field limit", most=10 * 100_000_000)
    path = tmp_path / "d.jsonl"
    path.write_bytes(b'{"path": "a.png", "label": "' + b"x" * 1_000_000 + b'"}\n')
    refuses(lambda: read_labels(path, key="label", names=["a.png"]), "label in row 1 .* has 1000000 characters")


def test_parquet_bomb(tmp_path, refuses):
    """One vector, or one picture, a million times: a dictionary makes a small file of it."""
    big = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array([b"x" * 10_000]))
    within = pa.StructArray.from_arrays([big], ["bytes"])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(100_000_000, np.float32)), 1000)
    for column in (big, within, vectors):
        pq.write_table(pa.table({"image": column}), tmp_path / "d.parquet")
        assert (tmp_path / "d.parquet").stat().st_size < 500_000
        before = pa.default_memory_pool().max_memory()
        refuses(lambda: read_dataset(str(tmp_path / "d.parquet")), "decompression bomb")
        assert pa.default_memory_pool().max_memory() <= max(before, 3 * ALWAYS)  # all of it would be four


def test_names_of_classes_that_are_not_there(tmp_path, refuses):
    """Labels beyond the names that the schema lists."""
    about = b'{"info": {"features": {"label": {"names": ["a", "b"]}, "split": {"names": ["train"]}}}}'
    for label, split in (([0, 2], [0, 0]), ([0, -3], [0, 0]), ([0, 1], [0, 1]), ([0, 1], [None, 0])):
        table = pa.table({"path": ["x", "y"], "label": label, "split": split})
        pq.write_table(table.replace_schema_metadata({"huggingface": about}), tmp_path / "d.parquet")
        if label == [0, 1]:
            vectors = table.append_column("embedding", pa.array([[1.0], [2.0]]))
            pq.write_table(vectors.replace_schema_metadata({"huggingface": about}), tmp_path / "d.parquet")
            refuses(lambda: read_dataset(str(tmp_path / "d.parquet")), "whose classes are 0 to 0")
        else:
            refuses(lambda: read_labels(tmp_path / "d.parquet", key=None, names=["x", "y"]), "whose classes are 0 to 1")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"path": "a.png", "label": ' + "1" * 5000 + "}", "is not JSON"),
        ('{"path": "a.png", "label": ' + "[" * 100_000 + "}", "is not JSON"),
        ('{"path": "a.png", "label": "\\ud800"}', "not Unicode"),
        ('{"path": "\\ud800.png", "label": "x"}', "does not exist"),
        ('{"path": "' + "x/" * 5000 + '", "label": "x"}', "does not exist"),
        ('{"path": "a\\u0000.png", "label": "x"}', "does not exist"),
    ],
)
def test_odd_lines(tmp_path, refuses, line, reason):
    from twincl.data.classes import encode_labels

    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "d.jsonl").write_text(line)
    refuses(lambda: encode_labels(read_dataset(str(tmp_path / "d.jsonl")).train.labels, classes=None), reason)


@pytest.mark.parametrize("value", [2**63, 10**30, -(10**400), 1e300])
def test_numbers_beyond_64_bits_are_names(tmp_path, value):
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "d.jsonl").write_text(f'{{"path": "a.png", "label": {value}}}')
    assert read_dataset(str(tmp_path / "d.jsonl")).train.labels.tolist() == [str(int(value))]


def test_unsigned_numbers_do_not_wrap(tmp_path):
    np.save(tmp_path / "l.npy", np.array([2**64 - 1, 0], np.uint64))
    labels = read_labels(tmp_path / "l.npy", key=None, names=["a", "b"])
    assert labels.tolist() == ["18446744073709551615", "0"]


def test_torch_is_not_asked_to_allocate(tmp_path, refuses):
    torch.save({"labels": torch.zeros(1, dtype=torch.int64).expand(10**12)}, tmp_path / "l.pt")
    refuses(lambda: read_labels(tmp_path / "l.pt", key=None, names=["a"]), "in a storage of 1 elements")
