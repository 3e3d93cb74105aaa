import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from picture import png

from twincl.data.batches import Batches
from twincl.data.dataset import RawSplit
from twincl.data.features import check_features, feature_statistics
from twincl.data.images import MemoryFeatures, load_images, load_like
from twincl.data.labels import read_labels
from twincl.data.read import read_dataset
from twincl.errors import InputError


def vectors(count: int = 6, width: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, width)).astype(np.float32)


def raw(features: np.ndarray) -> RawSplit:
    return RawSplit(features, None, [str(row) for row in range(len(features))])


def write_parquet(path, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return str(path)


# numpy files


def test_a_lone_npy(tmp_path):
    np.save(tmp_path / "d.npy", vectors())
    data = read_dataset(str(tmp_path / "d.npy"))
    assert data.train.is_features
    assert data.train.labels is None
    assert data.train.names == ["0", "1", "2", "3", "4", "5"]
    assert np.array_equal(data.train.pixels, vectors())


@pytest.mark.parametrize("name", ["x", "X_train", "embeddings", "features", "embedding", "vectors", "train_features"])
def test_npz_names(tmp_path, name):
    np.savez(tmp_path / "d.npz", **{name: vectors(), "y": np.arange(6)})
    data = read_dataset(str(tmp_path / "d.npz"))
    assert np.array_equal(data.train.pixels, vectors())
    assert data.train.labels.tolist() == [0, 1, 2, 3, 4, 5]


def test_npz_splits(tmp_path):
    np.savez(tmp_path / "d.npz", x=vectors(), y=np.arange(6), x_test=vectors(2, seed=1), y_test=["a", "b"])
    data = read_dataset(str(tmp_path / "d.npz"))
    assert np.array_equal(data.test.pixels, vectors(2, seed=1))
    assert data.test.labels.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.int64, np.uint8, bool, ">f4"])
def test_any_numbers_become_float32(tmp_path, kind):
    values = np.array([[0, 1], [1, 1]]).astype(kind)
    np.save(tmp_path / "d.npy", values)
    features = read_dataset(str(tmp_path / "d.npy")).train.pixels
    assert features.dtype == np.float32
    assert features.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.zeros((3, 0)), "no features"),
        (np.array([["a", "b"]]), "has the type <U1; save features as float32"),
        (np.zeros((2, 3), complex), "has the type complex128"),
        (np.array([[0, 1], [2, np.nan], [np.nan, 0]]), "row 1 of .* missing, NaN, infinite"),
        (np.array([[0, 1], [2, 3], [-np.inf, 0]], np.float32), "row 2 of "),
        (np.array([[0, 1e300]]), "row 0 of .* beyond float32"),
        (np.array([[0, 1]], object), "holds Python objects"),
    ],
)
def test_unusable_values(tmp_path, values, reason):
    np.save(tmp_path / "d.npy", values)
    with pytest.raises(InputError, match=reason) as error:
        read_dataset(str(tmp_path / "d.npy"))
    assert "\n" not in str(error.value)


def test_labels_of_another_length(tmp_path):
    np.savez(tmp_path / "d.npz", x=vectors(), y=np.arange(5))
    with pytest.raises(InputError, match="has 6 rows but 5 labels"):
        read_dataset(str(tmp_path / "d.npz"))


def test_float32_is_never_copied():
    values = vectors()
    assert check_features(values, where="x") is values
    store = load_images(raw(values), size=None, channels=None).images
    assert store.tensor.data_ptr() == values.ctypes.data


def test_the_first_bad_row_is_found_far_down():
    values = vectors(10_000, 2)
    values[[9_000, 9_500], 1] = np.nan
    with pytest.raises(InputError, match=r"^row 9000 of x has"):
        check_features(values, where="x")
    with pytest.raises(InputError, match=r"^row 9001 of x has"):
        check_features(values, where="x", rows=range(1, 10_001))


# parquet


@pytest.mark.parametrize("name", ["embedding", "Embeddings", "features", "feature", "vector"])
@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 4)]
)
def test_parquet_columns(tmp_path, name, kind):
    column = pa.array(vectors().tolist(), kind)
    path = write_parquet(tmp_path / "d.parquet", **{name: column, "label": list("abcabc")})
    data = read_dataset(path)
    assert data.train.pixels.dtype == np.float32
    assert np.array_equal(data.train.pixels, vectors())
    assert data.train.labels.tolist() == list("abcabc")
    assert data.train.names == ["0", "1", "2", "3", "4", "5"]


def test_parquet_by_given_name_and_from_several_files(tmp_path):
    for number, part in enumerate(np.split(vectors(), 2)):
        columns = {"clip": pa.array(part.tolist()), "label": [0, 1, 2]}
        write_parquet(tmp_path / f"train-{number}.parquet", **columns)
    assert np.array_equal(read_dataset(str(tmp_path), image_column="clip").train.pixels, vectors())
    with pytest.raises(InputError, match="columns: clip, label"):
        read_dataset(str(tmp_path))


def test_parquet_splits_and_classes_as_hugging_face_has_them(tmp_path):
    info = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    for split, seed in (("train", 0), ("test", 1)):
        table = pa.table({"embedding": vectors(2, seed=seed).tolist(), "label": [1, 0]})
        table = table.replace_schema_metadata({"huggingface": json.dumps(info)})
        pq.write_table(table, tmp_path / f"{split}-00000-of-00001.parquet")
    data = read_dataset(str(tmp_path))
    assert data.classes == ("cat", "dog")
    assert np.array_equal(data.test.pixels, vectors(2, seed=1))


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"file_name": ["a.png", "b.png"]}, ["a.png", "b.png"]),  # files that need not exist
        ({"id": [7, 3]}, ["7", "3"]),
        ({"id": [7, 7]}, ["0", "1"]),
        ({"id": [7, None]}, ["0", "1"]),
        ({"image": ["a.png", "b.png"]}, ["0", "1"]),
    ],
)
def test_rows_are_named_by_their_file_or_id(tmp_path, columns, names):
    path = write_parquet(tmp_path / "d.parquet", embedding=vectors(2).tolist(), **columns)
    assert read_dataset(path).train.names == names


def test_encoded_images_come_before_vectors(tmp_path):
    images = [{"bytes": png(), "path": None}] * 2
    path = write_parquet(tmp_path / "d.parquet", embedding=vectors(2).tolist(), image=images)
    assert not read_dataset(path).train.is_features
    assert read_dataset(path, image_column="embedding").train.is_features


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([[1.0, 2.0], [1.0], [1.0, 2.0]], "row 2 of .* has a vector of 1 values"),
        ([[1.0, 2.0], [1.0, 2.0], None], "row 3 of .* has a vector of 0 values"),
        ([None, [1.0], [1.0]], "row 1 of .* has a vector of 0 values"),
        ([[], [], []], "row 1 of .* has a vector of 0 values"),
        ([[1.0, 2.0], [1.0, 2.0], [None, 2.0]], "row 3 of .* missing"),
        ([[1, 2], [None, 2], [1, 2]], "row 2 of .* missing"),
        ([[1.0], [float("nan")], [1.0]], "row 2 of .* NaN"),
        ([[1e300], [1.0], [1.0]], "row 1 of .* beyond float32"),
    ],
)
def test_unusable_vectors(tmp_path, values, reason):
    kind = pa.list_(pa.int64()) if values[0] == [1, 2] and isinstance(values[0][0], int) else pa.list_(pa.float64())
    path = write_parquet(tmp_path / "d.parquet", embedding=pa.array(values, kind), label=["a", "b", "c"])
    with pytest.raises(InputError, match=reason) as error:
        read_dataset(path)
    assert "\n" not in str(error.value)


def test_a_label_file_is_joined_by_id(tmp_path):
    (tmp_path / "labels.csv").write_text("id,label\n9,c\n7,a\n8,b\n")
    assert read_labels(tmp_path / "labels.csv", key=None, names=["7", "8", "9"]).tolist() == ["a", "b", "c"]
    in_order = read_labels(tmp_path / "labels.csv", key=None, names=["0", "1", "2"])
    assert in_order.tolist() == ["c", "a", "b"], "ids of something else"


# stores, batches, statistics


def test_store_and_batches():
    store = MemoryFeatures(vectors())
    assert (store.shape, len(store), store.in_memory) == ((4,), 6, True)
    assert np.array_equal(store.batch(np.array([4, 1])).numpy(), vectors()[[4, 1]])
    assert np.array_equal(store.subset(np.array([5, 0])).tensor.numpy(), vectors()[[5, 0]])
    served = list(Batches(store, np.arange(6), batch_size=4, device=torch.device("cpu")).in_order())
    assert [len(batch.labels) for batch in served] == [4, 2]
    assert torch.equal(torch.cat([batch.images for batch in served]), store.tensor)
    for wrong in (vectors().astype(np.float64), vectors()[0]):
        with pytest.raises(ValueError, match="float32"):
            MemoryFeatures(wrong)


def test_a_read_only_array_can_be_served():
    values = vectors()
    values.flags.writeable = False
    assert np.array_equal(MemoryFeatures(values).tensor.numpy(), values)


def test_statistics_are_those_of_all_rows():
    values = np.float32(1e4) + vectors(10_000, 3) * np.float32([1, 5, 0])
    mean, deviation = feature_statistics(MemoryFeatures(values))
    assert mean == pytest.approx(values.astype(np.float64).mean(0).tolist(), rel=1e-6)
    assert deviation == pytest.approx(values.astype(np.float64).std(0, ddof=1).tolist(), rel=1e-5)
    assert (mean[2], deviation[2]) == (1e4, 0)
    assert feature_statistics(MemoryFeatures(vectors(1)))[1] == (0, 0, 0, 0)


def test_features_have_no_size():
    for options in ({"size": 8, "channels": None}, {"size": None, "channels": 3}):
        with pytest.raises(InputError, match="feature vectors, which have no image size or channels"):
            load_images(raw(vectors()), **options)


def test_load_like_brings_images_to_the_shape_and_demands_it_of_features():
    pixels = raw(np.zeros((2, 8, 8), np.uint8))
    assert load_like(pixels, (3, 4, 4)).images.shape == (3, 4, 4)
    assert load_like(raw(vectors()), (4,)).images.shape == (4,)
    for split, shape, message in (
        (pixels, (4,), "images were given where feature vectors of 4 values are needed"),
        (raw(vectors()), (5,), "feature vectors of 4 values were given where feature vectors of 5 values are needed"),
        (raw(vectors()), (3, 8, 9), "feature vectors of 4 values were given where images of 9x8x3 are needed"),
    ):
        with pytest.raises(InputError, match=message):
            load_like(split, shape)
