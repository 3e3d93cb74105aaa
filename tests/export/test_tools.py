"""Exports for Label Studio, FiftyOne and cleanlab, held against what these tools document or do."""

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from PIL import Image

from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.results.corrections import Policy, correct
from twincl.results.finished import load_run
from twincl.runs.export import export

SHARE = {"type": "number", "minimum": 0, "maximum": 1}
TEXT = {"type": "string", "minLength": 1}


def tasks_schema(classes) -> dict:
    """Label Studio's basic JSON format with predictions (labelstud.io/guide/predictions, /guide/tasks)."""
    result = {
        "type": "object",
        "required": ["id", "from_name", "to_name", "type", "value"],
        "additionalProperties": False,
        "properties": {
            "id": TEXT,
            "from_name": {"const": "label"},
            "to_name": {"const": "image"},
            "type": {"const": "choices"},
            "value": {
                "type": "object",
                "required": ["choices"],
                "properties": {"choices": {"type": "array", "items": {"enum": list(classes)}, "minItems": 1}},
            },
        },
    }
    prediction = {
        "type": "object",
        "required": ["result"],
        "additionalProperties": False,
        "properties": {"model_version": TEXT, "score": SHARE, "result": {"type": "array", "items": result}},
    }
    task = {
        "type": "object",
        "required": ["data"],
        "additionalProperties": False,
        "properties": {
            "data": {
                "type": "object",
                "required": ["image", "file", "given_label", "label_quality"],
                "properties": {"image": TEXT, "given_label": {"enum": list(classes)}, "label_quality": SHARE},
            },
            "predictions": {"type": "array", "items": prediction},
        },
    }
    return {"type": "array", "items": task}


def test_label_studio_tasks(photo_run, tmp_path, colours):
    export(photo_run, "labelstudio", tmp_path / "tasks")
    tasks = json.loads((tmp_path / "tasks" / "tasks.json").read_text())
    jsonschema.validate(tasks, tasks_schema(colours))
    table = load_run(photo_run).ranked
    assert [task["data"]["file"] for task in tasks] == table["file_name"].tolist(), "the most suspect first"
    assert [task["data"]["given_label"] for task in tasks] == table["given_label"].tolist()
    suggested = [task["predictions"][0]["result"][0]["value"]["choices"] for task in tasks]
    assert suggested == [[name] for name in table["suggested_label"]]
    assert [task["predictions"][0]["score"] for task in tasks] == table["suggestion_confidence"].tolist()
    ids = [task["predictions"][0]["result"][0]["id"] for task in tasks]
    assert len(set(ids)) == len(ids)
    assert tasks[0]["data"]["image"] == f"/data/local-files/?d={table['file_name'].iloc[0]}"
    assert sorted(file.name for file in (tmp_path / "tasks").iterdir()) == [
        "export.json",
        "label_config.xml",
        "tasks.json",
    ]


def test_the_labelling_config_fits_the_tasks(photo_run, tmp_path, colours):
    export(photo_run, "labelstudio", tmp_path / "tasks")
    view = ElementTree.parse(tmp_path / "tasks" / "label_config.xml").getroot()
    assert view.tag == "View"
    image, choices = view.find("Image"), view.find("Choices")
    assert (image.get("name"), image.get("value")) == ("image", "$image")
    assert (choices.get("name"), choices.get("toName"), choices.get("choice")) == ("label", "image", "single")
    assert [choice.get("value") for choice in choices] == list(colours)


def test_label_studio_with_hostile_names(picture_folder, run_on, tmp_path):
    data = picture_folder(tmp_path / "data", per_class=3)
    wild = '"><script>&amp;'
    (data / "red").rename(data / wild)
    (data / wild / "00.png").rename(data / wild / "a b&c=d#e?f%20.png")
    latin = b"caf\xe9.png".decode("utf-8", "surrogateescape")
    (data / wild / "01.png").rename(data / wild / latin)
    run = run_on(tmp_path / "run", data)
    export(run, "labelstudio", tmp_path / "tasks")
    classes = load_run(run).classes
    view = ElementTree.parse(tmp_path / "tasks" / "label_config.xml").getroot()
    assert [choice.get("value") for choice in view.find("Choices")] == list(classes)
    tasks = json.loads((tmp_path / "tasks" / "tasks.json").read_text())
    jsonschema.validate(tasks, tasks_schema(classes))
    for task in tasks:
        query = parse_qs(urlsplit(task["data"]["image"]).query, errors="surrogateescape")
        assert query == {"d": [task["data"]["file"]]}, "one parameter, and it is the file"
        assert (data / query["d"][0]).is_file()
        assert task["data"]["image"].isascii()


@pytest.mark.parametrize(
    ("prefix", "address"),
    [
        ("/data/local-files/?d=photos/", "/data/local-files/?d=photos/red/a%20b.png"),
        ("https://example.org/photos/", "https://example.org/photos/red/a%20b.png"),
        ("s3://bucket/photos/", "s3://bucket/photos/red/a b.png"),
    ],
)
def test_where_label_studio_finds_the_images(picture_folder, run_on, tmp_path, prefix, address):
    data = picture_folder(tmp_path / "data", per_class=2)
    (data / "red" / "00.png").rename(data / "red" / "a b.png")
    export(run_on(tmp_path / "run", data), "labelstudio", tmp_path / "tasks", image_prefix=prefix)
    tasks = json.loads((tmp_path / "tasks" / "tasks.json").read_text())
    assert address in [task["data"]["image"] for task in tasks]


def test_label_studio_gets_images_that_are_not_files(digits, tmp_path):
    export(digits, "labelstudio", tmp_path / "tasks")
    original = read_dataset("digits").train
    pixels = dict(zip(original.names, original.pixels, strict=True))
    for task in json.loads((tmp_path / "tasks" / "tasks.json").read_text())[:20]:
        file = tmp_path / "tasks" / task["data"]["image"].removeprefix("/data/local-files/?d=")
        np.testing.assert_array_equal(np.asarray(Image.open(file)), pixels[task["data"]["file"]])


def test_a_class_that_xml_cannot_hold_is_one_sentence(pictures, run_on, tmp_path):
    pixels, _ = pictures(6)
    np.savez(tmp_path / "data.npz", x=pixels, y=np.array(["bad\x01", "good"] * 3))
    run = run_on(tmp_path / "run", tmp_path / "data.npz")
    with pytest.raises(InputError, match=r"the class 'bad\\x01' has a character .* rename the class"):
        export(run, "labelstudio", tmp_path / "tasks")
    assert not (tmp_path / "tasks").exists()


def fiftyone_schema(count: int) -> dict:
    """FiftyOneImageClassificationDataset with confidences and attributes (FiftyOne's guide, importing data sets)."""
    reserved = ["id", "label", "confidence", "tags", "logits"]  # fields of a Classification
    label = {
        "type": "object",
        "required": ["label"],
        "additionalProperties": False,
        "properties": {
            "label": {"type": "integer", "minimum": 0, "maximum": count - 1},
            "confidence": SHARE,
            "attributes": {"type": "object", "propertyNames": {"not": {"enum": reserved}}},
        },
    }
    return {
        "type": "object",
        "required": ["classes", "labels"],
        "additionalProperties": False,
        "properties": {
            "classes": {"type": "array", "items": TEXT, "minItems": count, "maxItems": count},
            "labels": {"type": "object", "additionalProperties": label},
        },
    }


@pytest.mark.parametrize("name", ["digits", "photo_run"])
def test_fiftyone(request, name, tmp_path):
    run = request.getfixturevalue(name)
    policy = Policy(relabel_above=0.5)
    export(run, "fiftyone", tmp_path / "set", policy=policy)
    content = json.loads((tmp_path / "set" / "labels.json").read_text())
    finished = load_run(run)
    jsonschema.validate(content, fiftyone_schema(len(finished.classes)))
    decided = correct(finished.table, policy).set_index("file")
    assert len(content["labels"]) == len(decided)
    data = {
        str(file.with_suffix("").relative_to(tmp_path / "set" / "data")): file
        for file in (tmp_path / "set" / "data").rglob("*.*")
    }
    for key, label in content["labels"].items():
        file = Path(key) if Path(key).is_absolute() else data[key]  # as FiftyOne's importer looks them up
        assert Image.open(file).size
        about = label["attributes"]
        row = decided.loc[about["file"]]
        assert content["classes"][label["label"]] == row["corrected"]
        assert (label["confidence"], about["action"], about["given_label"]) == (
            row["confidence"],
            row["action"],
            row["given"],
        )
    assert bool(data) == (name == "digits"), "files stay where they are"


@pytest.fixture
def arrays(digits, tmp_path):
    export(digits, "cleanlab", tmp_path / "arrays")
    names = ("labels", "pred_probs", "features")
    return [np.load(tmp_path / "arrays" / f"{name}.npy", allow_pickle=False) for name in names]


def test_cleanlab_arrays(arrays, digits, tmp_path):
    labels, probabilities, features = arrays
    run = load_run(digits)
    classes = json.loads((tmp_path / "arrays" / "class_names.json").read_text())
    assert classes == list(run.classes)
    assert [classes[k] for k in labels] == run.table["given_label"].tolist()
    np.testing.assert_array_equal(probabilities, run.class_probabilities)
    np.testing.assert_array_equal(features, run.embeddings)
    assert (tmp_path / "arrays" / "files.txt").read_text().splitlines() == run.table["file_name"].tolist()


def test_cleanlab_finds_issues_in_them(arrays, digits):
    from cleanlab.filter import find_label_issues

    labels, probabilities, _ = arrays
    theirs = find_label_issues(labels, probabilities, n_jobs=1)
    ours = load_run(digits).table["is_label_issue"].to_numpy()
    assert theirs.mean() == pytest.approx(0.27, abs=0.1), "three tenths of the labels were redrawn"
    assert (theirs == ours).mean() > 0.85


def test_datalab_takes_them(arrays, digits):
    from cleanlab import Datalab

    labels, probabilities, features = arrays
    lab = Datalab({"label": labels}, label_name="label", verbosity=0)
    lab.find_issues(pred_probs=probabilities, features=features, issue_types={"label": {}, "outlier": {}})
    found = lab.get_issues("label")
    assert len(found) == len(labels)
    ours = load_run(digits).table["is_label_issue"].to_numpy()
    assert (found["is_label_issue"].to_numpy() == ours).mean() > 0.85


def test_line_breaks_in_names_do_not_add_lines(picture_folder, run_on, tmp_path):
    data = picture_folder(tmp_path / "data", per_class=2)
    (data / "red" / "00.png").rename(data / "red" / "two\nlines.png")
    export(run_on(tmp_path / "run", data), "cleanlab", tmp_path / "arrays")
    assert "red/two\\nlines.png" in (tmp_path / "arrays" / "files.txt").read_text().splitlines()
