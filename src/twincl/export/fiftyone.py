"""A data set for FiftyOne, read by its type FiftyOneImageClassificationDataset.

fiftyone.Dataset.from_dir(dataset_dir=FOLDER, dataset_type=fiftyone.types.FiftyOneImageClassificationDataset)
"""

import json
from pathlib import Path
from typing import Any

from twincl.export.images import judged_images, place, sources, suffix_of
from twincl.files import write_text
from twincl.results.corrections import Policy, correct
from twincl.results.finished import FinishedRun

LABELS, IMAGES = "labels.json", "data"


def write(run: FinishedRun, output: Path, *, policy: Policy, data: str | None = None) -> str:
    """`labels.json`: the corrected label of every image with its confidence, and what is known of it as attributes.

    Dropped images are there too, with the attribute `action` to filter by. Images in files are named by their
    absolute paths and stay where they are, each once; others are written to `data/`.

    Raises:
        InputError: the data are features, gone or changed.
    """
    split = judged_images(run, data)
    (output / IMAGES).mkdir()
    corrected = correct(run.table, policy)
    number = {name: k for k, name in enumerate(run.classes)}
    labels: dict[str, Any] = {}
    rows = zip(sources(split), run.table.to_dict("records"), corrected.to_dict("records"), strict=True)
    for source, judged, decided in rows:
        if isinstance(source, Path):
            key = str(source.absolute())
        else:
            key = f"{judged['index']:06}"
            place(source, output / IMAGES / (key + suffix_of(source)))
        about = ("given_label", "is_label_issue", "label_quality", "clean_probability", "suggested_label", "split")
        labels[key] = {
            "label": number[decided["corrected"]],
            "confidence": decided["confidence"],
            "attributes": {"file": judged["file_name"], "action": decided["action"]} | {k: judged[k] for k in about},
        }
    content = {"classes": list(run.classes), "labels": labels}
    write_text(output / LABELS, json.dumps(content, indent=1, allow_nan=False) + "\n")
    return f"{len(labels)} images with their labels"
