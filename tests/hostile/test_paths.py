"""File names that lead elsewhere: out of the folder, round in circles, or to what is no file."""

import inspect
import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from safetensors.torch import save_file

from twincl.cli import main
from twincl.data.images import load_images
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.nets.resnet import resnet18


@pytest.fixture
def folders(tmp_path):
    """`data` with a table in it, and `secret` beside it, each with a picture."""
    for name in ("data/img/a.png", "secret/s.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    return tmp_path


def table(folders, path, kind):
    file = folders / "data" / f"t.{kind}"
    rows = pd.DataFrame({"file_name": ["img/a.png", path], "label": ["x", "y"]})
    if kind == "jsonl":
        rows.to_json(file, orient="records", lines=True)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pandas(rows), file)
    else:
        rows.to_csv(file, index=False, sep="\t" if kind == "tsv" else ",")
    return str(file)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("path", ["../secret/s.png", "img/../../secret/s.png", "..\\secret\\s.png", "ABSOLUTE"])
def test_tables_stay_in_their_folder(folders, kind, path):
    path = str(folders / "secret" / "s.png") if path == "ABSOLUTE" else path
    file = table(folders, path, kind)
    with pytest.raises(InputError, match=r"1 of 2 image files .* lies outside its folder .*--allow-outside") as error:
        read_dataset(file)
    assert path[-40:] in str(error.value)
    data = read_dataset(file, allow_outside=True)
    assert len(load_images(data.train, size=None, channels=None).images) == 2


@pytest.mark.parametrize("path", ["../../../../../../../../etc/passwd", "/etc/passwd", "../nothing.png", "/dev/zero"])
def test_what_is_outside_is_not_even_looked_for(folders, path):
    with pytest.raises(InputError, match="outside its folder"):
        read_dataset(table(folders, path, "csv"))


@pytest.mark.parametrize("path", ["img/a.png", "./img/../img/a.png", "img\\a.png", "ABSOLUTE"])
def test_every_way_to_a_file_inside(folders, path):
    path = str(folders / "data" / "img" / "a.png") if path == "ABSOLUTE" else path
    assert len(read_dataset(table(folders, path, "csv")).train) == 2


def test_paths_in_a_column_of_images(folders):
    """Hugging Face's structs may hold a path in place of the content."""
    images = pa.array([{"bytes": None, "path": "img/a.png"}, {"bytes": None, "path": "../secret/s.png"}])
    pq.write_table(pa.table({"image": images, "label": [0, 1]}), folders / "data" / "t.parquet")
    with pytest.raises(InputError, match="outside its folder"):
        read_dataset(str(folders / "data" / "t.parquet"))


def test_a_metadata_file_in_a_folder(folders):
    (folders / "data" / "metadata.csv").write_text("file_name,label\nimg/a.png,x\n../secret/s.png,y\n")
    with pytest.raises(InputError, match="outside its folder"):
        read_dataset(str(folders / "data"))
    assert len(read_dataset(str(folders / "data"), allow_outside=True).train) == 2


def test_links_that_lead_outside(folders):
    (folders / "data" / "link.png").symlink_to(folders / "secret" / "s.png")
    (folders / "data" / "more").symlink_to(folders / "secret")
    (folders / "data" / "own.png").symlink_to(folders / "data" / "img" / "a.png")
    for path in ("link.png", "more/s.png"):
        with pytest.raises(InputError, match="outside its folder"):
            read_dataset(table(folders, path, "csv"))
    assert len(read_dataset(table(folders, "own.png", "csv")).train) == 2
    (folders / "way").symlink_to(folders / "data")
    assert len(read_dataset(str(folders / "way" / "t.csv")).train) == 2, "the table itself may be reached by a link"


def test_a_link_to_itself(folders):
    (folders / "data" / "x.png").symlink_to(folders / "data" / "x.png")
    with pytest.raises(InputError, match=r"lies outside|does not exist"):
        read_dataset(table(folders, "x.png", "csv"))


def test_the_flag_of_every_command(picture_folder, tmp_path, capsys):
    photos = picture_folder(tmp_path / "photos", per_class=4)
    files = sorted(photos.rglob("*.png"))
    (tmp_path / "tables").mkdir()
    listed = pd.DataFrame({"file_name": [f"../photos/{file.relative_to(photos)}" for file in files]})
    listed.assign(label=[file.parent.name for file in files]).to_csv(tmp_path / "tables" / "t.csv", index=False)

    def twincl(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return end.value.code, capsys.readouterr().err

    run, data, weights = tmp_path / "run", tmp_path / "tables" / "t.csv", tmp_path / "w.safetensors"
    save_file(resnet18().state_dict(), weights)
    commands = [
        ("train", data, "--output", run, "--epochs", 1, "--batch-size", 4, "--holdout", 0, "--no-amp"),
        ("evaluate", run, data),
        ("predict", run, data, "--output", tmp_path / "p.csv"),
        ("noise", data, "--output", tmp_path / "n.csv"),
        (
            "embed",
            data,
            "--model",
            "resnet18",
            "--weights",
            weights,
            "--img-size",
            16,
            "--output",
            tmp_path / "e.parquet",
        ),
    ]
    for command in commands:
        code, said = twincl(*command)
        assert code == 2
        assert "12 of 12 image files" in said
        assert "lie outside its folder" in said
        assert twincl(*command, "--allow-outside") == (0, "")
    assert twincl("report", run)[0] == 0
    assert "cannot be read" not in (run / "report.html").read_text()
    assert twincl("export", run, "--format", "imagefolder", "--output", tmp_path / "clean") == (0, "")


# folders of images


def test_circles_of_links(folders):
    data = folders / "data"
    (data / "img" / "round").symlink_to(data)
    (data / "img" / "self").symlink_to("self")
    (data / "img" / "self.png").symlink_to("self.png")
    (data / "img" / "dead.png").symlink_to("nothing.png")
    found = read_dataset(str(data)).train
    assert found.names == ["img/a.png", "img/dead.png", "img/self.png"]
    loaded = load_images(found, size=None, channels=None)
    assert [name for name, _ in loaded.broken] == ["img/dead.png", "img/self.png"]


def test_links_that_multiply(tmp_path):
    """Thirty folders with two links each, to the next one: two to the thirtieth paths."""
    for number in range(30):
        (tmp_path / f"{number:02}").mkdir()
        for name in ("a", "b"):
            (tmp_path / f"{number:02}" / name).symlink_to(tmp_path / f"{number + 1:02}")
    with pytest.raises(InputError, match="in more than 16 ways"):
        read_dataset(str(tmp_path))


def test_the_same_folder_twice_is_no_circle(folders):
    (folders / "data" / "again").symlink_to(folders / "data" / "img")
    assert read_dataset(str(folders / "data")).train.names == ["again/a.png", "img/a.png"]


def test_folders_in_folders(folders):
    """Deeper than Python may call itself; the limit is lowered, as a deeper folder is hard to remove again."""
    deep = folders / "data" / "img" / Path(*["d"] * 120)
    deep.mkdir(parents=True)
    shutil.copyfile(folders / "data" / "img" / "a.png", deep / "b.png")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 80)
    try:
        found = read_dataset(str(folders / "data"))
    finally:
        sys.setrecursionlimit(limit)
    assert len(found.train) == 2


def test_pipes_and_devices_are_passed_over(folders):
    os.mkfifo(folders / "data" / "img" / "pipe.png")
    (folders / "data" / "img" / "zero.png").symlink_to("/dev/zero")
    found = read_dataset(str(folders / "data"))
    assert found.train.names == ["img/a.png"]
    assert found.ignored == 2
    for path in ("img/pipe.png", "/dev/zero"):
        with pytest.raises(InputError, match=r"does not exist|outside"):
            read_dataset(table(folders, path, "csv"))


@pytest.mark.parametrize("path", ["~nobody-of-that-name/data", "~nobody-of-that-name", "x" * 5000, "/dev/null"])
def test_paths_of_data(path):
    with pytest.raises(InputError):
        read_dataset(path)
