import gzip
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from twincl.data.idx import read_idx
from twincl.data.read import read_dataset
from twincl.errors import InputError

RNG = np.random.default_rng(0)


def pixels(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize(("x", "y"), [("x", "y"), ("X", "Y"), ("images", "labels"), ("x_train", "y_train")])
def test_npz_names(tmp_path, x, y):
    images = pixels(4, 5, 6, 3)
    np.savez(tmp_path / "d.npz", **{x: images, y: np.array(["b", "a", "b", "a"])})
    data = read_dataset(str(tmp_path / "d.npz"))
    assert np.array_equal(data.train.pixels, images)
    assert data.train.labels.tolist() == ["b", "a", "b", "a"]
    assert data.train.names == ["0", "1", "2", "3"]


def test_npz_as_medmnist_has_it(tmp_path):
    arrays = {}
    for split, count in (("train", 6), ("val", 3), ("test", 2)):
        arrays[f"{split}_images"] = pixels(count, 28, 28)
        arrays[f"{split}_labels"] = np.arange(count, dtype=np.uint8)[:, None]
    np.savez_compressed(tmp_path / "d.npz", **arrays)
    data = read_dataset(str(tmp_path / "d.npz"))
    assert data.train.pixels.shape == (6, 28, 28)
    assert data.test.labels.tolist() == [0, 1]
    assert len(read_dataset(str(tmp_path / "d.npz"), split="val").train) == 3


def test_channels_first_and_given_names(tmp_path):
    images = pixels(2, 3, 5, 6)
    np.savez(tmp_path / "d.npz", a=images, b=np.array([1, 0]))
    data = read_dataset(str(tmp_path / "d.npz"), image_column="a", label_column="b")
    assert np.array_equal(data.train.pixels, images.transpose(0, 2, 3, 1))
    with pytest.raises(InputError, match="arrays: a, b"):
        read_dataset(str(tmp_path / "d.npz"))


def test_a_lone_npy_has_no_labels(tmp_path):
    np.save(tmp_path / "d.npy", pixels(2, 4, 4))
    assert read_dataset(str(tmp_path / "d.npy")).train.labels is None


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        (np.linspace(0, 1, 256).reshape(1, 16, 16), np.arange(256)),
        (np.arange(256.0).reshape(1, 16, 16), np.arange(256)),
        (np.arange(256).reshape(1, 16, 16), np.arange(256)),
        (np.eye(16, dtype=bool)[None], 255 * np.eye(16).reshape(-1)),
        (np.eye(16, dtype=np.int64)[None], 255 * np.eye(16).reshape(-1)),
    ],
)
def test_clear_ranges_become_bytes(tmp_path, images, expected):
    np.savez(tmp_path / "d.npz", x=images, y=[0])
    result = read_dataset(str(tmp_path / "d.npz")).train.pixels
    assert result.dtype == np.uint8
    assert result.reshape(-1).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x": np.full((1, 4, 4), 16.0), "y": [0]}, "neither 0..1 nor 0..255"),
        ({"x": np.full((1, 4, 4), -1.0), "y": [0]}, "neither"),
        ({"x": np.full((1, 4, 4), 300), "y": [0]}, "neither"),
        ({"x": np.full((1, 4, 4), np.nan), "y": [0]}, "NaN"),
        ({"x": np.zeros(16, np.uint8), "y": [0]}, "shape"),
        ({"x": np.zeros((1, 5, 5, 2), np.uint8), "y": [0]}, "shape"),
        ({"x": np.zeros((1, 4, 4), np.uint8), "y": [0, 1]}, "1 images but 2 labels"),
        ({"x": np.zeros((1, 4, 4), np.uint8), "y": [[0, 1]]}, "exactly one label"),
        ({"x": np.zeros((0, 4, 4), np.uint8), "y": []}, "holds no images"),
        ({"x": np.zeros((1, 4, 4), complex), "y": [0]}, "type"),
    ],
)
def test_unusable_arrays(tmp_path, arrays, reason):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(InputError, match=reason):
        read_dataset(str(tmp_path / "d.npz"))


def test_pickled_and_damaged_arrays_are_refused(tmp_path):
    np.savez(tmp_path / "d.npz", x=pixels(1, 4, 4), y=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="Python objects"):
        read_dataset(str(tmp_path / "d.npz"))
    np.savez(tmp_path / "d.npz", x=pixels(1, 4, 4), y=[0], names=np.array([{"a": 1}], dtype=object))
    assert read_dataset(str(tmp_path / "d.npz")).train.labels.tolist() == [0], "what is not asked for is not read"
    (tmp_path / "d.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(InputError, match="not a readable numpy file"):
        read_dataset(str(tmp_path / "d.npz"))


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(side).to_bytes(4, "big") for side in array.shape)
    content = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)


@settings(max_examples=30, deadline=None)
@given(array=hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5)), zipped=st.booleans())
def test_idx_round_trip(tmp_path_factory, array, zipped):
    path = tmp_path_factory.mktemp("idx") / ("x-ubyte.gz" if zipped else "x-ubyte")
    write_idx(path, array)
    assert np.array_equal(read_idx(path), array)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("dot", ["-", "."])
def test_mnist(tmp_path, suffix, dot):
    sets = {"train": (pixels(6, 28, 28), np.arange(6)), "t10k": (pixels(2, 28, 28), np.array([7, 3]))}
    for name, (images, labels) in sets.items():
        write_idx(tmp_path / f"{name}-images{dot}idx3-ubyte{suffix}", images)
        write_idx(tmp_path / f"{name}-labels{dot}idx1-ubyte{suffix}", labels)
    for path in (tmp_path, tmp_path / f"train-images{dot}idx3-ubyte{suffix}"):
        data = read_dataset(str(path))
        assert np.array_equal(data.train.pixels, sets["train"][0])
        assert data.test.labels.tolist() == [7, 3]
        assert data.augment_hint == "symbols"


def test_damaged_idx(tmp_path):
    images, labels = tmp_path / "train-images-idx3-ubyte", tmp_path / "train-labels-idx1-ubyte"
    write_idx(images, pixels(3, 4, 4))
    with pytest.raises(InputError, match="labels that belong"):
        read_dataset(str(tmp_path))
    write_idx(labels, np.arange(2))
    with pytest.raises(InputError, match=r"3 images .* 2 labels"):
        read_dataset(str(tmp_path))
    images.write_bytes(images.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"3 x 4 x 4 bytes .* has 47"):
        read_dataset(str(tmp_path))
    images.write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match="magic"):
        read_dataset(str(tmp_path))
    images.unlink()
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match="cannot be read"):
        read_dataset(str(tmp_path))


def write_cifar(folder, hundred=False, key=str):
    folder.mkdir()
    files = ["train", "test"] if hundred else [*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"]
    images = {}
    for place, name in enumerate(files):
        images[name] = pixels(2, 3, 32, 32)
        batch = {"data": images[name].reshape(2, -1), ("fine_labels" if hundred else "labels"): [place, 0]}
        content = {key(name): value for name, value in batch.items()}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    names = {("fine_label_names" if hundred else "label_names"): [f"class {n}" for n in range(10)]}
    (folder / ("meta" if hundred else "batches.meta")).write_bytes(pickle.dumps(names, protocol=2))
    return images


@pytest.mark.parametrize("hundred", [False, True])
@pytest.mark.parametrize("key", [str, str.encode])
def test_cifar(tmp_path, hundred, key):
    folder = tmp_path / "batches"
    images = write_cifar(folder, hundred, key)
    for path in (folder, tmp_path):
        data = read_dataset(str(path))
        assert len(data.train) == (2 if hundred else 10)
        assert data.train.labels.tolist() == ([0, 0] if hundred else [0, 0, 1, 0, 2, 0, 3, 0, 4, 0])
        first = images["train" if hundred else "data_batch_1"][0]
        assert np.array_equal(data.train.pixels[0], first.transpose(1, 2, 0))
        assert len(data.test) == 2
        assert data.classes[3] == "class 3"


def test_cifar_mistakes(tmp_path):
    write_cifar(tmp_path / "a")
    write_cifar(tmp_path / "b", hundred=True)
    with pytest.raises(InputError, match="several CIFAR"):
        read_dataset(str(tmp_path))
    (tmp_path / "a" / "data_batch_3").unlink()
    with pytest.raises(InputError, match="data_batch_3 is missing"):
        read_dataset(str(tmp_path / "a"))
    (tmp_path / "b" / "train").write_bytes(b"not a pickle")
    with pytest.raises(InputError, match="not a readable pickle"):
        read_dataset(str(tmp_path / "b"))


def test_digits():
    data = read_dataset("digits")
    assert data.train.pixels.shape == (1437, 8, 8)
    assert data.test.pixels.shape == (360, 8, 8)
    assert data.train.pixels.max() == 255
    assert data.augment_hint == "symbols"
    assert data.classes == tuple("0123456789")
    assert not set(data.train.names) & set(data.test.names)
    assert np.bincount(data.test.labels).min() >= 35
    assert read_dataset("digits").train.names == data.train.names
