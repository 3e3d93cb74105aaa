"""Write a noisy copy of a dataset's labels."""

from pathlib import Path

import numpy as np
import pandas as pd

from twincl.config import Config
from twincl.data.classes import encode_labels
from twincl.data.images import load_images
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.files import atomic_path, refuse_existing
from twincl.runs.prepare import corrupt


def write_noisy_labels(config: Config, output: Path, *, force: bool) -> float:
    """Write the training labels of `config.data.path` with noise added; returns the share that changed.

    A `.csv` has index, file_name, label, true_label with class names; a `.npy` has the integer labels in data order.
    """
    refuse_existing(output, force=force)
    settings = config.data
    raw = read_dataset(settings.path, image_column=settings.image_column, label_column=settings.label_column)
    if raw.train.labels is None:
        raise InputError(f"{settings.path} has no labels to disturb")
    (labels,), classes = encode_labels(raw.train.labels, classes=raw.classes)
    assert labels is not None
    images = None
    if config.noise.type == "instance":
        loaded = load_images(raw.train, size=None, channels=None, default_size=64)
        if loaded.broken:
            raise InputError(f"{len(loaded.broken)} images do not decode; instance-dependent noise needs all of them")
        images = loaded.images
    noisy = corrupt(labels, len(classes), config.noise, config.seed, images)
    with atomic_path(output) as temporary:
        if output.suffix == ".npy":
            with temporary.open("wb") as file:
                np.save(file, noisy)
        elif output.suffix == ".csv":
            names = np.asarray(classes, dtype=object)
            files = pd.Series(raw.train.names, dtype=object)
            columns = {"file_name": files, "label": names[noisy], "true_label": names[labels]}
            table = pd.DataFrame({"index": np.arange(len(labels)), **columns})
            table.to_csv(temporary, index=False, errors="surrogateescape")
        else:
            raise InputError(f"the labels can be written as .csv or .npy, not '{output.suffix}'")
    return float((noisy != labels).mean())
