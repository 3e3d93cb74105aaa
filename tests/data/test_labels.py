import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from twincl.data.labels import read_labels
from twincl.errors import InputError

ROWS = ["0", "1", "2"]
FILES = ["cat/a.png", "cat/b.png", "dog/c.png"]
CIFAR_N = {"clean_label": np.array([0, 1, 2]), "worse_label": np.array([2, 1, 0])}


def labels(path, names=ROWS, key=None, label_column=None):
    return read_labels(path, key=key, names=names, label_column=label_column).tolist()


def test_npy(tmp_path):
    path = tmp_path / "y.npy"
    np.save(path, np.array([3, 1, 2], dtype=np.uint8))
    assert labels(path) == [3, 1, 2]
    np.save(path, np.array(["x", "y", "z"]))
    assert labels(path) == ["x", "y", "z"]
    np.save(path, np.array([[1.0], [2.0], [0.0]]))
    assert labels(path) == [1, 2, 0]
    np.save(path, np.array([1.0, np.nan, 0.0]))
    with pytest.raises(InputError, match="row 1"):
        labels(path)
    np.save(path, np.array([1, 2]))
    with pytest.raises(InputError, match="2 labels but the data set has 3 samples"):
        labels(path)
    np.save(path, np.array([{}, {}, {}]), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects"):
        labels(path)
    with pytest.raises(InputError, match="no label file"):
        labels(tmp_path / "absent.npy")
    np.save(path, np.array([3, 1, 2]))
    with pytest.raises(InputError, match="single array"):
        labels(path, key="worse")


def test_npz_and_cifar_n(tmp_path):
    np.savez(tmp_path / "y.npz", **CIFAR_N)
    torch.save(CIFAR_N, tmp_path / "y.pt")
    torch.save(CIFAR_N, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(CIFAR_N, protocol=2))
    for name in ("y.npz", "y.pt", "old.pt", "plain.pt"):
        assert labels(tmp_path / name, key="worse_label") == [2, 1, 0]
        with pytest.raises(InputError, match="clean_label, worse_label"):
            labels(tmp_path / name)
        with pytest.raises(InputError, match="did you mean 'worse_label'"):
            labels(tmp_path / name, key="worst_label")


def test_text(tmp_path):
    path = tmp_path / "y.txt"
    path.write_text("cat\n dog \ncat\n\n")
    assert labels(path) == ["cat", "dog", "cat"]
    path.write_text("cat\n\ncat\n")
    with pytest.raises(InputError, match="row 2"):
        labels(path)


def test_table_in_row_order_and_by_index(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("label\nx\ny\nz\n")
    assert labels(path) == ["x", "y", "z"]
    path.write_text("index,noisy\n2,z\n0,x\n1,y\n")
    assert labels(path) == ["x", "y", "z"]
    path.write_text("index,noisy\n1,x\n2,y\n3,z\n")
    assert labels(path) == ["x", "y", "z"]
    path.write_text("index,noisy\n7,x\n2,y\n3,z\n")
    with pytest.raises(InputError, match=r"not 0\.\.2"):
        labels(path)


def test_table_of_several_label_columns(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("index,clean_label,aggre_label\n0,1,5\n1,2,6\n2,3,7\n")
    assert labels(path, key="aggre_label") == ["5", "6", "7"]
    assert labels(path, label_column="clean_label") == ["1", "2", "3"]
    with pytest.raises(InputError, match="choose from: clean_label, aggre_label"):
        labels(path)
    with pytest.raises(InputError, match="did you mean 'aggre_label'"):
        labels(path, key="agre_label")


def test_table_joined_by_file(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("file_name,label\n./dog/c.png,3\ncat\\b.png,2\ncat/a.png,1\nextra.png,9\n")
    assert labels(path, FILES) == ["1", "2", "3"]
    path.write_text("file_name,label\nc.png,3\nb.png,2\nsome/where/a.png,1\n")
    assert labels(path, FILES) == ["1", "2", "3"]
    path.write_text("file_name,label\ncat/a.png,1\ncat/b.png,1\n")
    with pytest.raises(InputError, match=r"2 rows but none for 1 of the 3 images \(dog/c.png\)"):
        labels(path, FILES)
    path.write_text("file_name,label\nb.png,1\na.png,1\nc.png,2\na.png,2\n")
    with pytest.raises(InputError, match="two different labels"):
        labels(path, FILES)


def test_an_ambiguous_bare_name_is_not_joined(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("file_name,label\na.png,1\nb.png,2\n")
    with pytest.raises(InputError, match="none for 2 of the 3"):
        labels(path, ["cat/a.png", "dog/a.png", "dog/b.png"])
    path.write_text("file_name,label\nx/a.png,1\ny/a.png,2\nb.png,2\n")
    with pytest.raises(InputError, match="none for 1 of the 2"):
        labels(path, ["cat/a.png", "dog/b.png"])


def test_parquet(tmp_path):
    pq.write_table(pa.table({"file": FILES[::-1], "label": [3, 2, 1]}), tmp_path / "y.parquet")
    assert labels(tmp_path / "y.parquet", FILES) == [1, 2, 3]


def test_unknown_kind(tmp_path):
    (tmp_path / "y.doc").write_text("x")
    with pytest.raises(InputError, match="not a label file"):
        labels(tmp_path / "y.doc")


def test_rows_in_order_for_samples_without_names(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("file_name,label\na.png,3\nb.png,1\nc.png,2\n")
    assert labels(path, ROWS) == ["3", "1", "2"]
    path.write_text("file_name,label\n2,3\n0,1\n1,2\n")
    assert labels(path, ROWS) == ["1", "2", "3"], "by name where the names are there"


def test_images_that_are_listed_again_and_again(tmp_path):
    path, names = tmp_path / "y.csv", ["a.png", "b.png", "a.png"]
    path.write_text("file_name,label\na.png,3\nb.png,1\na.png,2\n")
    assert labels(path, names) == ["3", "1", "2"]
    path.write_text("index,file_name,label\n2,a.png,2\n1,b.png,1\n0,a.png,3\n")
    assert labels(path, names) == ["3", "1", "2"]
    path.write_text("file_name,label\nb.png,1\na.png,3\na.png,2\n")
    with pytest.raises(InputError, match="two different labels"):
        labels(path, names)


def test_another_folder_is_another_image_where_paths_are_known(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("file_name,label\ncat/1.png,cat\ndog/2.png,dog\n")
    with pytest.raises(InputError, match=r"none for 1 of the 2 images \(cat/2.png\)"):
        labels(path, ["cat/1.png", "cat/2.png"])
    path.write_text("file_name,label\nimages/1.png,cat\nimages/2.png,dog\n")
    assert labels(path, ["a/1.png", "b/2.png"]) == ["cat", "dog"]


def test_a_missing_header_is_named(tmp_path):
    path = tmp_path / "y.csv"
    path.write_text("cat\ndog\ncat\n")
    with pytest.raises(InputError, match=r"2 labels \(its first line was taken for the names of the columns\)"):
        labels(path)


def test_an_array_that_is_not_asked_for_may_hold_anything(tmp_path):
    np.savez(tmp_path / "y.npz", y=[1, 2, 3], notes=np.array([{}, {}], dtype=object))
    assert labels(tmp_path / "y.npz", key="y") == [1, 2, 3]
    with pytest.raises(InputError, match=r"'notes' in .* holds Python objects"):
        labels(tmp_path / "y.npz", key="notes")
