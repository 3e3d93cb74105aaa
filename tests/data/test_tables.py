import json
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from picture import png, save

from twincl.data.classes import encode_labels
from twincl.data.labels import read_labels
from twincl.data.read import read_dataset
from twincl.errors import InputError


@pytest.fixture
def images(tmp_path):
    for name in ("a", "b", "c", "d"):
        save(tmp_path / "img" / f"{name}.png")
    return tmp_path


def write(folder, text, name="data.csv"):
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "File_Name,Label\nimg/a.png,cat\nimg/b.png,NA\n"),
        ("x.csv", "\ufefffilename;label\nimg/a.png;cat\n\nimg/b.png;NA\n\n"),
        ("x.csv", "path\tclass\nimg/a.png\tcat\nimg/b.png\tNA"),
        ("x.csv", '"path","class"\r\n"img/a.png","cat"\r\n"./img/b.png","NA"\r\n'),
        ("x.csv", "path,class\nimg\\a.png,cat\nimg/b.png, NA\n"),
        ("x.tsv", "image\ttarget\nimg/a.png\tcat\nimg/b.png\tNA\n"),
        ("x.jsonl", '{"image": "img/a.png", "label": "cat"}\n{"image": "img/b.png", "label": "NA"}\n'),
    ],
)
def test_text_tables(images, name, text):
    data = read_dataset(write(images, text, name))
    assert data.train.labels.tolist() == ["cat", "NA"]
    assert data.train.names == ["img/a.png", "img/b.png"]
    assert [path.name for path in data.train.pixels] == ["a.png", "b.png"]


def test_given_columns_and_a_hint_for_a_mistyped_one(images):
    path = write(images, "photo,species,label\nimg/a.png,cat,x\n")
    data = read_dataset(path, image_column="photo", label_column="species")
    assert data.train.labels.tolist() == ["cat"]
    with pytest.raises(InputError, match="did you mean 'species'"):
        read_dataset(path, image_column="photo", label_column="specie")
    with pytest.raises(InputError, match="photo, species, label"):
        read_dataset(path)


def test_a_table_without_labels(images):
    assert read_dataset(write(images, "path,size\nimg/a.png,3\n")).train.labels is None


def test_split_column(images):
    text = "path,label,Split\nimg/a.png,x,train\nimg/b.png,y,validation\nimg/c.png,x,TEST\nimg/d.png,y,train\n"
    data = read_dataset(write(images, text))
    assert data.train.names == ["img/a.png", "img/d.png"]
    assert data.test.names == ["img/c.png"]
    with pytest.raises(InputError, match=r"row 3 .*unknown split 'tets'; did you mean 'test'"):
        read_dataset(write(images, "path,label,split\nimg/a.png,x,train\nimg/b.png,y,tets\n"))
    other = read_dataset(write(images, "path,label,set\nimg/a.png,x,lego\n"))
    assert len(other.train) == 1


def test_missing_files_are_named_by_spreadsheet_row(images):
    rows = "".join(f"img/{name}.png,x\n" for name in "aqbrstuvw")
    with pytest.raises(InputError) as caught:
        read_dataset(write(images, "path,label\n" + rows))
    message = str(caught.value)
    assert "7 of 9 image files" in message
    assert "row 3: img/q.png, row 5: img/r.png" in message
    assert "..." in message


def test_missing_labels_are_named_by_spreadsheet_row(images):
    text = "path,label\nimg/a.png,x\n\nimg/b.png,\nimg/c.png,NaN\n"
    with pytest.raises(InputError, match=r"2 labels are missing .*row 4, 5"):
        read_dataset(write(images, text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no rows"),
        ("path,label\n", "no rows"),
        ("path,label\nimg/a.png,x,y\n", "row 2 .* 3 values"),
        ('path,label\nimg/a.png,"x\nimg/b.png,y\n', r"row 2, line 3: unexpected end of data.*quote"),
        ('path,label\nimg/a.png,"x\nimg/b.png,"y"\n', r"row 2, line 3: .* expected after .*quote"),
        ("path,label,label\nimg/a.png,x,y\n", "2 columns named 'label'"),
        ("\n\npath,label\n\nimg/a.png,x,y\n", "row 5 .* 3 values but the header has 2"),
    ],
)
def test_unusable_text(images, text, reason):
    with pytest.raises(InputError, match=reason):
        read_dataset(write(images, text))


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "x.csv").write_bytes("path,label\nä.png,ö\n".encode("latin1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_dataset(str(tmp_path / "x.csv"))


def test_a_damaged_json_line(tmp_path):
    with pytest.raises(InputError, match="line 2"):
        read_dataset(write(tmp_path, '{"path": "a"}\n{"path": \n', "x.jsonl"))
    with pytest.raises(InputError, match=r"line 1 .*not a JSON object"):
        read_dataset(write(tmp_path, "[1]\n", "x.jsonl"))


def hugging_face(path, labels, names=("cat", "dog"), paths=True):
    """A parquet file as `datasets` writes it, with the images inside."""
    images = [{"bytes": png(seed=row), "path": f"{row}.png" if paths else None} for row in range(len(labels))]
    table = pa.table(
        {
            "image": pa.array(images, pa.struct({"bytes": pa.binary(), "path": pa.string()})),
            "file_name": ["not there"] * len(labels),
            "label": pa.array(labels, pa.int64()),
        }
    )
    features = {"image": {"_type": "Image"}, "label": {"names": list(names), "_type": "ClassLabel"}}
    info = json.dumps({"info": {"features": features}})
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table.replace_schema_metadata({b"huggingface": info.encode()}), path, row_group_size=2)


@pytest.mark.parametrize("folder", [".", "data"])
def test_parquet_with_images_and_class_names_in_splits(tmp_path, folder):
    hugging_face(tmp_path / folder / "train-00000-of-00002.parquet", [0, 1, 1])
    hugging_face(tmp_path / folder / "train-00001-of-00002.parquet", [1])
    hugging_face(tmp_path / folder / "test-00000-of-00001.parquet", [0])
    hugging_face(tmp_path / folder / "extra-00000-of-00001.parquet", [0])
    data = read_dataset(str(tmp_path))
    assert data.classes == ("cat", "dog")
    assert data.train.labels.tolist() == [0, 1, 1, 1]
    assert data.train.pixels == [png(seed=row) for row in (0, 1, 2, 0)]
    assert data.train.names == ["0", "1", "2", "3"]  # the stored names repeat
    assert data.test.names == ["0.png"]
    assert data.ignored == 1


def test_one_parquet_file(tmp_path):
    hugging_face(tmp_path / "x.parquet", [1, 0])
    train = read_dataset(str(tmp_path / "x.parquet")).train
    assert train.names == ["0.png", "1.png"]
    assert train.subset(np.array([1])).pixels == [png(seed=1)]


def test_parquet_of_paths(images):
    table = pa.table({"path": ["img/a.png", "img/b.png"], "label": pa.array(["x", "y"]).dictionary_encode()})
    pq.write_table(table, images / "train.parquet")
    pq.write_table(table.slice(1), images / "test.parquet")
    data = read_dataset(str(images))
    assert data.train.names == ["img/a.png", "img/b.png"]
    assert data.test.labels.tolist() == ["y"]


def test_parquet_mistakes(images):
    with pytest.raises(InputError, match="not a readable parquet"):
        read_dataset(write(images, "nonsense", "x.parquet"))
    pq.write_table(pa.table({"path": ["img/a.png", "img/zz.png"], "label": [1, 2]}), images / "x.parquet")
    with pytest.raises(InputError, match=r"row 2: img/zz\.png"):
        read_dataset(str(images / "x.parquet"))
    pq.write_table(pa.table({"path": ["img/a.png", "img/b.png"], "label": [1, None]}), images / "x.parquet")
    with pytest.raises(InputError, match=r"1 label is missing .*row 2"):
        read_dataset(str(images / "x.parquet"))
    pq.write_table(pa.table({"path": ["img/a.png", None], "label": [1, 2]}), images / "x.parquet")
    with pytest.raises(InputError, match=r"name no image in the column 'path' \(row 2\)"):
        read_dataset(str(images / "x.parquet"))
    pq.write_table(pa.table({"path": ["img/a.png", "img/b.png"], "label": [[1], [2, 3]]}), images / "x.parquet")
    with pytest.raises(InputError, match="several labels"):
        read_dataset(str(images / "x.parquet"))


def test_bytes_without_a_struct(tmp_path):
    pq.write_table(pa.table({"img": [png(), png(seed=1)], "fine_label": [1.0, 2.0]}), tmp_path / "x.parquet")
    train = read_dataset(str(tmp_path / "x.parquet")).train
    assert train.pixels == [png(), png(seed=1)]
    assert train.labels.tolist() == [1, 2]
    assert train.labels.dtype == np.int64


def test_blank_lines_before_the_header(images):
    train = read_dataset(write(images, "\n\npath;label\nimg/a.png;x\n")).train
    assert (train.names, train.labels.tolist()) == (["img/a.png"], ["x"])


def test_accents_written_in_another_way(tmp_path):
    apart = unicodedata.normalize("NFD", "café.png")
    save(tmp_path / apart)
    train = read_dataset(write(tmp_path, "path,label\ncafé.png,x\n")).train
    assert train.pixels == [tmp_path / apart]
    labels = tmp_path / "labels.csv"
    labels.write_text("path,label\ncafé.png,y\n")
    assert read_labels(labels, key=None, names=train.names).tolist() == ["y"]


def test_class_names_that_are_numbers(tmp_path):
    """Dice: the label 1 is the class called 2, also where no label is 0."""
    sides = ("1", "2", "3", "4", "5", "6")
    hugging_face(tmp_path / "train.parquet", [0, 1, 2, 3, 4, 5], sides)
    hugging_face(tmp_path / "test.parquet", [1, 5], sides)
    data = read_dataset(str(tmp_path))
    (train, test), classes = encode_labels(data.train.labels, data.test.labels, classes=data.classes)
    assert classes == sides
    assert (train.tolist(), test.tolist()) == ([0, 1, 2, 3, 4, 5], [1, 5])


def test_more_files_than_can_be_open(tmp_path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(40):
        hugging_face(tmp_path / f"train-{number:05}.parquet", [0, 1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 20, hard))
    try:
        assert len(read_dataset(str(tmp_path)).train) == 80
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
