"""Names as strangers choose them, from the file to every table and back."""

import csv
import shutil
import sys

import numpy as np
import pandas as pd
import pytest

from twincl.config import build_config
from twincl.data.labels import read_labels
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.export.registry import FORMATS
from twincl.results.corrections import Policy
from twincl.results.finished import load_run
from twincl.runs.corrections import write_corrections
from twincl.runs.export import export
from twincl.runs.train import train

NAMES = [
    *(
        "=1+1.png",
        "+a.png",
        "-a.png",
        "@a.png",
        "\ttab.png",
        "\rreturn.png",
        "line\nbreak.png",
        "a\r\nb.png",
        "a\rb.png",
    ),
    *(
        'quo"te.png',
        "com,ma.png",
        "semi;=colon.png",
        "'=quoted.png",
        "<script>alert(1)</script>.png".replace("/", "\u2215"),
    ),
    *(
        "\u202egnp.exe.png",
        "emoji 🐈\u200d⬛.png",
        "trailing .png",
        "ünï\u0301.png",
        "{{ jinja }}.png",
        "%s%n.png",
        "NaN.png",
    ),
    b"caf\xe9.png".decode("utf-8", "surrogateescape"),
]
CLASSES = ["=HYPERLINK(A1)", "-1", "<b>bold</b>".replace("/", "\u2215")]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")


@pytest.fixture(scope="module")
def data(picture_folder, tmp_path_factory):
    folder = picture_folder(tmp_path_factory.mktemp("names") / "data", per_class=len(NAMES))
    for old, new in zip(sorted(folder.iterdir()), CLASSES, strict=True):
        for file, name in zip(sorted(old.iterdir()), NAMES, strict=True):
            file.rename(old / name)
        old.rename(folder / new)
    (folder / "-1" / "=broken\x1b[31m.png").write_bytes(b"no image")
    return folder


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    output = tmp_path_factory.mktemp("runs") / "run"
    train(build_config(settings={"data.path": str(data), "optim.epochs": 1, "data.holdout": 0.0, "amp": False}), output)
    write_corrections(output, Policy())
    return output


def cells(file):
    with file.open(newline="", encoding="utf-8", errors="surrogateescape") as content:
        return [cell for row in csv.reader(content) for cell in row]


def test_the_run_knows_the_names(run, data):
    judged = load_run(run).table
    everything = {f"{kind}/{name}" for kind in CLASSES for name in NAMES}
    assert set(judged["file_name"]) == everything
    assert set(judged["given_label"]) == set(CLASSES)


@pytest.mark.parametrize("name", ["label_issues.csv", "corrected_labels.csv", "skipped_images.csv"])
def test_no_table_holds_a_formula(run, name):
    for cell in cells(run / name):
        assert cell[:1] not in ("=", "+", "@", "\t", "\r") or cell == "", cell
        assert not cell.startswith("-") or cell == "-1", "a number is no formula"


@pytest.mark.parametrize("file", ["corrected_labels.csv:given", "label_issues.csv:given_label"])
def test_tables_of_a_run_are_labels_of_its_data(run, data, file):
    name, _, key = file.partition(":")
    names = [name for name in read_dataset(str(data)).train.names if "broken" not in name]
    labels = read_labels(run / name, key=key, names=names)
    assert labels.tolist() == [name.split("/")[0] for name in names]


def test_a_training_on_the_corrected_labels(run, data, tmp_path):
    clean = shutil.copytree(data, tmp_path / "data", symlinks=True)
    (clean / "-1" / "=broken\x1b[31m.png").unlink()
    settings = {
        "data.path": str(clean),
        "data.labels": f"{run / 'corrected_labels.csv'}:given",
        "optim.epochs": 1,
        "amp": False,
    }
    train(build_config(settings=settings), tmp_path / "next")
    again = load_run(tmp_path / "next").table
    assert again["given_label"].tolist() == [name.split("/")[0] for name in again["file_name"]]


@pytest.mark.parametrize("format", ["csv", "imagefolder", "labelstudio", "fiftyone", "cleanlab"])
def test_exports(run, data, tmp_path, format):
    output = tmp_path / f"out{FORMATS[format].suffix}"
    export(run, format, output)
    inside = output.parent.resolve()
    for file in tmp_path.rglob("*"):
        assert file.resolve().is_relative_to(inside)
    for file in (output,) if output.is_file() else output.glob("*.csv"):
        assert not any(cell[:1] in ("=", "+", "@", "\t", "\r") for cell in cells(file) if cell)


def test_predictions_and_noise(run, data, tmp_path, capsys):
    from twincl.cli import main

    for command in (
        ["predict", run, data, "--output", tmp_path / "p.csv"],
        ["noise", data, "--output", tmp_path / "n.csv"],
    ):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in command])
        assert end.value.code == 0
    said = capsys.readouterr()
    assert "left out: -1/=broken\\x1b[31m.png" in said.err
    for name in ("p.csv", "n.csv"):
        assert not any(cell[:1] in ("=", "@", "\t", "\r") for cell in cells(tmp_path / name) if cell)
    names = read_dataset(str(data)).train.names
    truth = read_labels(tmp_path / "n.csv", key="true_label", names=names)
    assert truth.tolist() == [name.split("/")[0] for name in names]


def test_a_terminal_is_told_nothing_to_obey(tmp_path, capsys):
    from twincl.cli import main

    with pytest.raises(SystemExit) as end:
        main(["train", "\x1b[2J\u202egnp.exe\n\x07", "--output", str(tmp_path / "run")])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("twincl: there is no file or folder at '\\x1b[2J\\u202egnp.exe \\x07'")


def test_a_class_of_another_encoding_is_refused_before_anything_is_done(photos, tmp_path):
    folder = shutil.copytree(photos, tmp_path / "data")
    (folder / "red").rename(folder / b"caf\xe9".decode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"the class 'caf\\udce9' is not Unicode"):
        train(build_config(settings={"data.path": str(folder)}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "accepted"),
    [
        (b"file_name,label\ncaf\xe9.png,x\n", True),
        (b"file_name,label\na.png,caf\xe9\n", False),
        (b"file_name,l\xe9bel\na.png,x\n", False),
        ("file_name,label\na.png,x\n".encode("utf-16"), False),
    ],
)
def test_tables_of_another_encoding(tmp_path, content, accepted):
    (tmp_path / "l.csv").write_bytes(content)
    name = b"caf\xe9.png".decode("utf-8", "surrogateescape") if accepted else "a.png"
    if accepted:
        assert read_labels(tmp_path / "l.csv", key=None, names=[name]).tolist() == ["x"]
    else:
        with pytest.raises(InputError, match="not UTF-8"):
            read_labels(tmp_path / "l.csv", key=None, names=[name])


def test_a_spreadsheet_user_gets_the_number(tmp_path):
    """Class -1 is still -1 for pandas, too."""
    from twincl.results.folder import write_table

    write_table(tmp_path / "t.csv", pd.DataFrame({"file_name": ["a", "b"], "label": ["-1", "+1"]}))
    assert pd.read_csv(tmp_path / "t.csv")["label"].tolist() == [-1, 1]
    assert np.array_equal(read_labels(tmp_path / "t.csv", key=None, names=["a", "b"]), ["-1", "+1"])
