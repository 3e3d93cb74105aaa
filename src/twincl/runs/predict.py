"""Use a trained model on new data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from twincl.data.classes import encode_labels
from twincl.data.dataset import RawDataset, RawSplit
from twincl.data.read import read_dataset
from twincl.data.synsets import match_synsets
from twincl.errors import InputError
from twincl.results.metrics import FEW_CLASSES, top_accuracy
from twincl.results.model_file import load_model
from twincl.runs.apply import apply_model
from twincl.runs.labels import labels_from, named_labels
from twincl.runs.prepare import Progress
from twincl.training.device import choose_device


def predict(
    run: Path,
    data: str,
    *,
    split: str | None = None,
    image_column: str | None = None,
    allow_outside: bool = False,
    device: str = "auto",
    progress: Progress = None,
) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """Table with one row an image (file, predicted_label, confidence), and the images that could not be decoded."""
    place = choose_device(device)
    model = load_model(run, place)
    raw = split_to_predict(read_dataset(data, image_column=image_column, split=split, allow_outside=allow_outside))
    found = apply_model(model, raw, place, progress=progress)
    confidence, index = found.probabilities.max(1)
    names = np.asarray(model.classes, dtype=object)
    table = pd.DataFrame(
        {
            "file": pd.Series([raw.names[row] for row in found.kept], dtype=object),
            "predicted_label": names[index.numpy()],
            "confidence": confidence.numpy().round(6),
        }
    )
    return table, found.broken


def evaluate(
    run: Path,
    data: str,
    *,
    split: str | None = None,
    labels: str | None = None,
    image_column: str | None = None,
    label_column: str | None = None,
    allow_outside: bool = False,
    device: str = "auto",
    progress: Progress = None,
) -> dict[str, Any]:
    """Accuracy of a run's model on labelled data, in all and for each class.

    Of data with splits the test split is taken unless another is named.
    """
    place = choose_device(device)
    model = load_model(run, place)
    dataset = read_dataset(
        data, image_column=image_column, label_column=label_column, split=split, allow_outside=allow_outside
    )
    raw = split_to_predict(dataset)
    given = labels_from(labels, raw, label_column)
    if given is None:
        raise InputError(f"{data} has no labels to evaluate against; give a file with --labels")
    raw = match_synsets(replace(raw, labels=named_labels(given, dataset.classes)), model.classes)
    (encoded,), _ = encode_labels(raw.labels, classes=model.classes)
    assert encoded is not None
    found = apply_model(model, raw, place, progress=progress)
    truth = encoded[found.kept]
    right = found.probabilities.argmax(1).numpy() == truth
    many = len(model.classes) > FEW_CLASSES
    return {
        "accuracy": float(right.mean()),
        **({"accuracy_top5": top_accuracy(found.probabilities, truth, 5)} if many else {}),
        "num_images": len(right),
        "num_skipped": len(found.broken),
        "per_class": {
            name: {"accuracy": float(right[truth == k].mean()), "num_images": int((truth == k).sum())}
            for k, name in enumerate(model.classes)
            if (truth == k).any()
        },
    }


def split_to_predict(dataset: RawDataset) -> RawSplit:
    """The test split where there is one; a split asked for by name is the only one there is."""
    return dataset.train if dataset.test is None else dataset.test
