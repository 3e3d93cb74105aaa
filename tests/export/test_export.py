"""What every format has in common: what it may replace, what it takes, and that the help says what it is for."""

import json
import re

import pytest
from typer.testing import CliRunner

from twincl.cli.app import app
from twincl.errors import InputError
from twincl.export.registry import FORMATS
from twincl.results.corrections import Policy
from twincl.runs.export import export

FILES = [name for name, format in FORMATS.items() if format.suffix and name not in ("onnx", "torch-export")]
FOLDERS = [name for name, format in FORMATS.items() if not format.suffix]


def test_the_help_says_what_every_format_is_for():
    said = CliRunner().invoke(app, ["export", "--help"]).output
    described = re.findall(r"^ +([a-z-]+) {2,}\w.{8,}$", said, re.MULTILINE)
    assert [name for name in described if name in FORMATS] == list(FORMATS)


@pytest.mark.parametrize("format", FILES)
def test_a_file_is_replaced_only_by_force(photo_run, tmp_path, format):
    output = tmp_path / f"out{FORMATS[format].suffix}"
    output.write_text("mine")
    with pytest.raises(InputError, match="exists; pass --force"):
        export(photo_run, format, output)
    assert output.read_text() == "mine"
    export(photo_run, format, output, force=True)
    assert output.read_bytes() != b"mine"
    assert [path.name for path in tmp_path.iterdir()] == [output.name]


@pytest.mark.parametrize("format", FOLDERS)
def test_a_folder_is_replaced_only_by_force_and_only_if_it_is_an_export(photo_run, tmp_path, fingerprint, format):
    output = tmp_path / "out"
    output.mkdir()
    export(photo_run, format, output)  # empty: free
    assert json.loads((output / "export.json").read_text())["format"] == format
    before = fingerprint(output)
    with pytest.raises(InputError, match="holds an export; pass --force"):
        export(photo_run, format, output)
    (output / "stale.txt").write_text("of the earlier export")
    export(photo_run, format, output, force=True)
    assert fingerprint(output) == before
    (output / "export.json").unlink()
    for force in (False, True):
        with pytest.raises(InputError, match="holds other files and no export"):
            export(photo_run, format, output, force=force)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_fails_leaves_the_earlier_one(photo_run, tmp_path, fingerprint):
    export(photo_run, "imagefolder", tmp_path / "out")
    before = fingerprint(tmp_path)
    with pytest.raises(InputError):
        export(photo_run, "imagefolder", tmp_path / "out", data=str(tmp_path / "nowhere"), force=True)
    assert fingerprint(tmp_path) == before


def test_places_that_cannot_be(photo_run, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file; choose a folder"):
        export(photo_run, "cleanlab", tmp_path / "file", force=True)
    for format, name in (("cleanlab", "no/where"), ("csv", "no/where.csv")):
        with pytest.raises(InputError, match="cannot be written: "):
            export(photo_run, format, tmp_path / name)
    with pytest.raises(InputError, match=r"'onnx' is a file: .* ends in .onnx"):
        export(photo_run, "onnx", tmp_path / "model")


@pytest.mark.parametrize("format", ["csv", "imagefolder"])
@pytest.mark.parametrize("force", [False, True])
def test_the_data_are_never_written_into(picture_folder, run_on, tmp_path, fingerprint, format, force):
    photos = picture_folder(tmp_path / "above" / "photos")
    run, before = run_on(tmp_path / "run", photos), fingerprint(photos)
    name = "out.csv" if format == "csv" else "out"
    places = [photos / name, photos / "red" / name, tmp_path / "run" / ".." / "above" / "photos" / name]
    if format == "imagefolder":
        (photos / "export.json").write_text("{}")  # data that were themselves an export
        before = fingerprint(photos)
        places += [photos, tmp_path / "above"]
    for place in places:
        with pytest.raises(InputError, match=r"lies in or above the data .* choose another"):
            export(run, format, place, force=force)
    assert fingerprint(photos) == before


def test_an_option_that_a_format_has_no_use_for_is_refused(photo_run, tmp_path):
    for format, options, flag in (
        ("onnx", {"policy": Policy()}, "--relabel-above and --drop-below"),
        ("csv", {"link": True}, "--link"),
        ("cleanlab", {"data": "x"}, "--data"),
        ("fiftyone", {"image_prefix": "x"}, "--image-prefix"),
    ):
        with pytest.raises(InputError, match=f"'{format}' has no use for {flag}"):
            export(photo_run, format, tmp_path / f"out{FORMATS[format].suffix}", **options)
    with pytest.raises(InputError, match="unknown format 'labelstudo': did you mean 'labelstudio'"):
        export(photo_run, "labelstudo", tmp_path / "out")
    assert not list(tmp_path.iterdir())
