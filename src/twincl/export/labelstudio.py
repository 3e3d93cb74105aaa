"""Tasks for Label Studio: every image with what the run suggests as a prediction, to be confirmed by hand."""

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from twincl import __version__
from twincl.errors import InputError
from twincl.export.images import judged_images, place, sources, suffix_of
from twincl.files import write_text
from twincl.results.finished import FinishedRun

TASKS, CONFIG, IMAGES = "tasks.json", "label_config.xml", "images"
LOCAL_FILES = "/data/local-files/?d="  # how Label Studio serves files below its LOCAL_FILES_DOCUMENT_ROOT

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(run: FinishedRun, output: Path, *, data: str | None = None, image_prefix: str = LOCAL_FILES) -> str:
    """`tasks.json`, the most suspect label first, and `label_config.xml` for the project's labelling interface.

    The address of an image is `image_prefix` and its name in the data, percent-encoded where the prefix is a path or
    an http address. With the default, start Label Studio with LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED=true and
    LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT set to the folder of the data. Images that are not files are written to
    `images/`; then the root is the exported folder.

    Raises:
        InputError: the data are features, gone or changed, or a class has a name that XML cannot hold.
    """
    unfit = next((name for name in run.classes if _NOT_XML.search(name)), None)
    if unfit is not None:
        raise InputError(f"the class {unfit!r} has a character that Label Studio's XML cannot hold; rename the class")
    split = judged_images(run, data)
    paths: dict[int, str] = {}
    for row, source, name in zip(run.table["index"], sources(split), split.names, strict=True):
        paths[row] = name if isinstance(source, Path) else f"{IMAGES}/{row:06}{suffix_of(source)}"
        if not isinstance(source, Path):
            (output / IMAGES).mkdir(exist_ok=True)
            place(source, output / paths[row])
    tasks = [_task(row, _address(image_prefix, paths[row["index"]])) for row in run.ranked.to_dict("records")]
    write_text(output / TASKS, json.dumps(tasks, indent=1, allow_nan=False) + "\n")
    write_text(output / CONFIG, _label_config(run.classes))
    return f"{len(tasks)} tasks, the most suspect label first"


def _task(row: dict[Any, Any], image: str) -> dict[str, Any]:
    choice = {
        "id": f"label-{row['index']}",
        "from_name": "label",
        "to_name": "image",
        "type": "choices",
        "value": {"choices": [row["suggested_label"]]},
    }
    about = ("given_label", "is_label_issue", "label_quality", "clean_probability", "split")
    return {
        "data": {"image": image, "file": row["file_name"]} | {name: row[name] for name in about},
        "predictions": [
            {"model_version": f"twincl {__version__}", "score": row["suggestion_confidence"], "result": [choice]}
        ],
    }


def _address(prefix: str, path: str) -> str:
    """An address on the web is percent-encoded; one in cloud storage (s3://, gs://) is not."""
    on_the_web = prefix.startswith(("/", "http://", "https://"))
    return prefix + (quote(os.fsencode(path)) if on_the_web else path)


def _label_config(classes: tuple[str, ...]) -> str:
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Image", name="image", value="$image")
    ElementTree.SubElement(view, "Header", value="Given label:", size="5")
    ElementTree.SubElement(view, "Header", value="$given_label")
    choices = ElementTree.SubElement(view, "Choices", name="label", toName="image", choice="single", required="true")
    for name in classes:
        ElementTree.SubElement(choices, "Choice", value=name)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"
