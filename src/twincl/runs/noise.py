"""Simulated label noise: on load, or as a file of its own."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from twincl.config import Config, NoiseSettings
from twincl.data.classes import encode_labels
from twincl.data.features import feature_statistics
from twincl.data.images import Images, load_images
from twincl.data.noise import add_noise
from twincl.data.numpy_files import load_arrays
from twincl.errors import InputError
from twincl.files import atomic_path, refuse_existing
from twincl.results.folder import write_table
from twincl.runs.read import read_configured
from twincl.runs.workers import number_of_workers

Labels = NDArray[np.int64]


def require_rate(noise: NoiseSettings) -> None:
    """Noise of which nobody said how much is not taken for none.

    Raises:
        InputError: there is a type that needs a rate, and no rate.
    """
    if noise.rate is None and noise.type not in ("none", "matrix"):
        raise InputError(f"--noise {noise.type} needs --noise-rate, the share of labels to disturb, such as 0.4")


def corrupt(labels: Labels, num_classes: int, noise: NoiseSettings, seed: int, images: Images | None) -> Labels:
    """The labels with simulated noise; `images` are looked at by instance-dependent noise alone."""
    features = matrix = None
    require_rate(noise)
    if noise.type == "instance":
        if images is None:
            raise InputError("instance-dependent noise needs the images, not labels alone")
        features = _thumbnails(images) if len(images.shape) > 1 else _standardised(images)
    if noise.type == "matrix":
        matrix = _read_matrix(noise.matrix)
    noisy = add_noise(
        labels,
        kind=noise.type,
        rate=noise.rate or 0.0,
        num_classes=num_classes,
        seed=seed if noise.seed is None else noise.seed,
        include_own=noise.include_own,
        features=features,
        matrix=matrix,
    )
    return noisy.astype(np.int64)


def write_noisy_labels(config: Config, output: Path, *, force: bool) -> float:
    """Write the training labels of `config.data.path` with noise added; returns the share that changed.

    A `.csv` has index, file_name, label, true_label with class names; a `.npy` has the integer labels in data order.
    """
    if output.suffix not in (".csv", ".npy"):
        raise InputError(f"the labels can be written as .csv or .npy, not '{output.suffix}'")
    refuse_existing(output, force=force)
    settings = config.data
    raw = read_configured(settings)
    if raw.train.labels is None:
        raise InputError(f"{settings.path} has no labels to disturb")
    (labels,), classes = encode_labels(raw.train.labels, classes=raw.classes)
    assert labels is not None
    images = None
    if config.noise.type == "instance":
        workers = number_of_workers(settings.workers)
        loaded = load_images(raw.train, size=None, channels=None, default_size=64, workers=workers)
        if loaded.broken:
            raise InputError(f"{len(loaded.broken)} images do not decode; instance-dependent noise needs all of them")
        images = loaded.images
    noisy = corrupt(labels, len(classes), config.noise, config.seed, images)
    if output.suffix == ".npy":
        with atomic_path(output) as temporary, temporary.open("wb") as file:
            np.save(file, noisy)
    else:
        names = np.asarray(classes, dtype=object)
        files = pd.Series(raw.train.names, dtype=object)
        columns = {"file_name": files, "label": names[noisy], "true_label": names[labels]}
        write_table(output, pd.DataFrame({"index": np.arange(len(labels)), **columns}))
    return float((noisy != labels).mean())


def _thumbnails(images: Images, side: int = 8) -> NDArray[np.float64]:
    """(N, C * side * side) small versions of all images, the features that instance-dependent noise looks at."""
    parts = []
    for start in range(0, len(images), 1024):
        pixels = images.batch(np.arange(start, min(start + 1024, len(images)))).float().div_(255)
        parts.append(torch.nn.functional.adaptive_avg_pool2d(pixels, side).flatten(1))
    return torch.cat(parts).double().numpy()


def _standardised(vectors: Images) -> NDArray[np.float64]:
    """(N, D) the features themselves, in their deviations."""
    mean, deviation = (np.asarray(values) for values in feature_statistics(vectors))
    centred: NDArray[np.float64] = vectors.batch(np.arange(len(vectors))).double().numpy() - mean
    return centred / np.where(deviation > 0, deviation, 1)


def _read_matrix(reference: str | None) -> NDArray[np.float64]:
    if reference is None:
        raise InputError("noise of type 'matrix' needs a file: --set noise.matrix=FILE.npy or FILE.csv")
    file = Path(reference)
    try:
        matrix = load_arrays(file) if file.suffix == ".npy" else np.loadtxt(file, delimiter=",", ndmin=2)
        return np.asarray(matrix, dtype=np.float64)
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"the transition matrix {file} cannot be read: {error}") from None
