import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from picture import save

from twincl.data.read import read_dataset
from twincl.errors import InputError


def test_class_folders_are_read_in_order_and_other_files_counted(tmp_path):
    for name in ("dog/b.PNG", "dog/a.jpg", "cat/deep/er/z.png", "cat/y.webp"):
        save(tmp_path / name)
    (tmp_path / "cat" / ".hidden.png").write_bytes(b"")
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    save(tmp_path / "loose.png")
    data = read_dataset(str(tmp_path))
    assert data.train.names == ["cat/deep/er/z.png", "cat/y.webp", "dog/a.jpg", "dog/b.PNG"]
    assert data.train.labels.tolist() == ["cat", "cat", "dog", "dog"]
    assert data.train.pixels == [tmp_path / name for name in data.train.names]
    assert data.test is None
    assert data.ignored == 3


@pytest.mark.parametrize(
    ("folders", "test"),
    [(("Training", "VAL", "Testing"), "Testing"), (("train", "valid"), "valid"), (("train", "test"), "test")],
)
def test_split_folders(tmp_path, folders, test):
    for folder in folders:
        save(tmp_path / folder / "cat" / "1.png")
    data = read_dataset(str(tmp_path))
    assert data.train.names == [f"{folders[0]}/cat/1.png"]
    assert data.test.names == [f"{test}/cat/1.png"]
    assert data.test.labels.tolist() == ["cat"]
    assert data.unused == (("val",) if len(folders) > 2 else ())


def test_one_split_alone(tmp_path):
    save(tmp_path / "train" / "cat" / "1.png")
    save(tmp_path / "val" / "cat" / "2.png")
    data = read_dataset(str(tmp_path), split="validation")
    assert data.train.names == ["val/cat/2.png"]
    assert data.test is None
    with pytest.raises(InputError, match="no split 'test'"):
        read_dataset(str(tmp_path), split="test")


def test_a_class_called_train_is_a_class(tmp_path):
    for name in ("bus", "car", "train"):
        save(tmp_path / name / "1.png")
    assert read_dataset(str(tmp_path)).train.labels.tolist() == ["bus", "car", "train"]


def test_splits_beside_other_folders_are_refused(tmp_path):
    for name in ("train/cat", "test/cat", "unlabelled"):
        save(tmp_path / name / "1.png")
    with pytest.raises(InputError, match="unlabelled"):
        read_dataset(str(tmp_path))


def test_a_flat_folder_has_no_labels(tmp_path):
    save(tmp_path / "a.png")
    assert read_dataset(str(tmp_path)).train.labels is None


def test_only_a_test_split_is_no_training_data(tmp_path):
    save(tmp_path / "test" / "cat" / "1.png")
    with pytest.raises(InputError, match="no training split"):
        read_dataset(str(tmp_path))


def test_a_link_to_a_folder_above_is_not_followed(tmp_path):
    save(tmp_path / "cat" / "1.png")
    (tmp_path / "cat" / "again").symlink_to(tmp_path, target_is_directory=True)
    assert read_dataset(str(tmp_path)).train.names == ["cat/1.png"]


def test_a_linked_class_folder_is_followed(tmp_path):
    save(tmp_path / "elsewhere" / "1.png")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cat").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert read_dataset(str(tmp_path / "data")).train.names == ["cat/1.png"]


def test_nothing_there(tmp_path):
    (tmp_path / "notes.txt").write_text("no image")
    with pytest.raises(InputError, match="holds no images"):
        read_dataset(str(tmp_path))
    with pytest.raises(InputError, match="no file or folder"):
        read_dataset(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="not a data set"):
        read_dataset(str(tmp_path / "notes.txt"))
    (tmp_path / "data.zip").write_bytes(b"")
    with pytest.raises(InputError, match="unpack"):
        read_dataset(str(tmp_path / "data.zip"))


def test_columns_belong_to_tables(tmp_path):
    save(tmp_path / "cat" / "1.png")
    with pytest.raises(InputError, match="no label column 'species'"):
        read_dataset(str(tmp_path), label_column="species")


def test_metadata_csv(tmp_path):
    for name in ("a.png", "b.png", "c.png"):
        save(tmp_path / name)
    (tmp_path / "metadata.csv").write_text("file_name,label\nb.png,cat\na.png,dog\n")
    train = read_dataset(str(tmp_path)).train
    assert train.names == ["b.png", "a.png"]
    assert train.labels.tolist() == ["cat", "dog"]


def test_metadata_jsonl_in_split_folders(tmp_path):
    for split in ("train", "test"):
        save(tmp_path / split / "a.png")
        (tmp_path / split / "metadata.jsonl").write_text('{"file_name": "a.png", "label": 3}\n\n')
    data = read_dataset(str(tmp_path))
    assert (data.train.names, data.test.names) == (["train/a.png"], ["test/a.png"])
    assert data.test.labels.tolist() == [3]


def test_metadata_above_split_folders(tmp_path):
    save(tmp_path / "train" / "a.png")
    save(tmp_path / "test" / "a.png")
    (tmp_path / "metadata.csv").write_text("file_name,label\ntrain/a.png,cat\ntest/a.png,dog\n")
    data = read_dataset(str(tmp_path))
    assert (data.train.names, data.test.names) == (["train/a.png"], ["test/a.png"])


def test_metadata_without_labels_leaves_the_class_folders(tmp_path):
    save(tmp_path / "cat" / "a.png")
    (tmp_path / "metadata.csv").write_text("file_name,caption\ncat/a.png,a cat\n")
    assert read_dataset(str(tmp_path)).train.labels.tolist() == ["cat"]


def test_split_folders_with_more_to_their_names(tmp_path):
    for name in ("training_set/cat", "training_set/dog", "test_set/cat", "test_set/dog"):
        save(tmp_path / name / "1.png")
    data = read_dataset(str(tmp_path))
    assert data.train.labels.tolist() == data.test.labels.tolist() == ["cat", "dog"]
    assert data.test.names[0] == "test_set/cat/1.png"


@pytest.mark.parametrize(
    ("folders", "reason"),
    [
        (("seg_train/seg_train/sea", "seg_test/seg_test/sea", "seg_pred"), r"other folders of images \(seg_pred\)"),
        (("seg_train/seg_train/sea", "seg_test/seg_test/sea"), "do not hold the same classes"),
        (("train/cat", "train/dog", "unlabeled"), r"beside folders without \(unlabeled\).*; point to .*/train, or"),
    ],
)
def test_what_may_be_splits_or_classes_is_not_guessed(tmp_path, folders, reason):
    for name in folders:
        save(tmp_path / name / "1.png")
    with pytest.raises(InputError, match=reason):
        read_dataset(str(tmp_path))


def test_classes_with_folders_in_them_stay_classes(tmp_path):
    for name in ("cat/indoors", "cat/outdoors", "dog/indoors", "test_tube/indoors"):
        save(tmp_path / name / "1.png")
    assert read_dataset(str(tmp_path)).train.labels.tolist() == ["cat", "cat", "dog", "test_tube"]


@pytest.mark.parametrize("flat", [False, True])
def test_a_test_split_without_labels_does_not_hide_one_with(tmp_path, flat):
    for name in ("train/cat", "train/dog", "valid/cat", "test" if flat else "test/images"):
        save(tmp_path / name / "1.png")
    data = read_dataset(str(tmp_path))
    assert (data.test.names, data.test.labels.tolist()) == (["valid/cat/1.png"], ["cat"])
    assert read_dataset(str(tmp_path), split="test").train.labels is None or not flat


def test_a_lone_folder_in_the_test_split_is_no_class(tmp_path):
    for name in ("train/cat", "train/dog", "test/unknown"):
        save(tmp_path / name / "1.png")
    data = read_dataset(str(tmp_path))
    assert data.test.labels is None
    assert data.test.names == ["test/unknown/1.png"]


def test_images_that_metadata_do_not_list_are_counted(tmp_path):
    for name in ("cat/a.png", "cat/b.png", "dog/c.png"):
        save(tmp_path / name)
    (tmp_path / "metadata.csv").write_text("file_name,label\ncat/a.png,x\n")
    data = read_dataset(str(tmp_path))
    assert (data.train.names, data.ignored) == (["cat/a.png"], 2)


def test_parquet_beside_class_folders_is_not_guessed(tmp_path):
    pq.write_table(pa.table({"embedding": [[1.0, 2.0], [3.0, 4.0]], "label": [0, 1]}), tmp_path / "vectors.parquet")
    save(tmp_path / "assets" / "logo.png")
    assert read_dataset(str(tmp_path)).train.is_features
    save(tmp_path / "cat" / "1.png")
    with pytest.raises(InputError, match="holds parquet files and 2 images in folders"):
        read_dataset(str(tmp_path))
