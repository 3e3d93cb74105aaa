"""From a configuration to images and labels in hand, checked; nothing is written here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from twincl.config import Config, NoiseSettings
from twincl.data.classes import encode_labels
from twincl.data.dataset import RawSplit
from twincl.data.holdout import hold_out
from twincl.data.images import Images, Loaded, load_images
from twincl.data.labels import read_labels
from twincl.data.noise import add_noise
from twincl.data.read import read_dataset
from twincl.errors import InputError

Labels = NDArray[np.int64]
Progress = Callable[..., Any] | None


@dataclass(frozen=True)
class TrainingSet:
    """What may be learned from: images and the labels they came with. There is no field for the truth."""

    images: Images
    labels: Labels
    names: list[str]


@dataclass(frozen=True)
class Evaluation:
    """What only evaluation sees: test data, and the true labels of the training set where they are known."""

    images: Images | None
    labels: Labels | None
    truth: Labels | None
    origin: str  # where the test data come from, in words


@dataclass(frozen=True)
class Prepared:
    """Data ready for a training."""

    train: TrainingSet
    evaluation: Evaluation
    classes: tuple[str, ...]
    augment_hint: str
    broken: list[tuple[str, str]]  # image and reason


def prepare(config: Config, device: torch.device, progress: Progress = None) -> Prepared:
    """Read, decode, split and, where asked, corrupt the labels.

    Raises:
        InputError: anything about the data that makes a training impossible.
    """
    settings = config.data
    if config.noise.type == "none" and config.noise.rate > 0:
        raise InputError(f"a noise rate of {config.noise.rate:g} needs a type of noise, such as --noise symmetric")
    raw = read_dataset(settings.path, image_column=settings.image_column, label_column=settings.label_column)
    raw_test, origin = _test_split(config, raw.test)
    given = _labels_from(settings.labels, raw.train, settings.label_column)
    truth = _labels_from(settings.true_labels, raw.train, None) if settings.true_labels else None
    if given is None:
        raise InputError(
            f"{settings.path} has no labels; put the images in one folder a class, or give a file with --labels"
        )
    test_given = raw_test.labels if raw_test else None
    numbered = raw.classes or _own_names(raw.train.labels, given)
    (labels, test_labels, true_labels), classes = encode_labels(given, test_given, truth, classes=numbered)
    assert labels is not None

    loaded, kept = _load(config, raw.train, device, progress)
    labels, names = labels[kept], [raw.train.names[i] for i in kept]
    true_labels = None if true_labels is None else true_labels[kept]
    images, broken = loaded.images, loaded.broken

    test_images: Images | None = None
    if raw_test is not None and test_labels is not None:
        channels, height, _ = images.shape
        loaded_test = load_images(
            raw_test, size=height, channels=channels, memory_limit=settings.memory_limit_mb * 2**20, progress=progress
        )
        test_images, test_labels = loaded_test.images, test_labels[loaded_test.kept]
        broken = broken + loaded_test.broken
    else:
        origin = "none"
        train_index, test_index = hold_out(labels, settings.holdout, config.seed)
        if len(test_index):
            # The test is as good as its labels: the truth where it is known.
            test_labels = (labels if true_labels is None else true_labels)[test_index]
            test_images, images = images.subset(test_index), images.subset(train_index)
            labels, names = labels[train_index], [names[i] for i in train_index]
            true_labels = None if true_labels is None else true_labels[train_index]
            known = true_labels is not None or config.noise.type != "none"
            quality = "" if known else ", whose labels may be wrong too"
            origin = f"{len(test_index)} images held out of the data ({settings.holdout:.0%}){quality}"

    if config.noise.type != "none":
        true_labels = labels if true_labels is None else true_labels
        labels = corrupt(labels, len(classes), config.noise, config.seed, images)
    _check_classes(labels, classes, settings.min_class_size)
    return Prepared(
        TrainingSet(images, labels, names),
        Evaluation(test_images, test_labels, true_labels, origin),
        classes,
        raw.augment_hint,
        broken,
    )


def corrupt(labels: Labels, num_classes: int, noise: NoiseSettings, seed: int, images: Images | None) -> Labels:
    """The labels with simulated noise; `images` are looked at by instance-dependent noise alone."""
    features = matrix = None
    if noise.type == "instance":
        if images is None:
            raise InputError("instance-dependent noise needs the images, not labels alone")
        features = _thumbnails(images)
    if noise.type == "matrix":
        matrix = _read_matrix(noise.matrix)
    noisy = add_noise(
        labels,
        kind=noise.type,
        rate=noise.rate,
        num_classes=num_classes,
        seed=seed if noise.seed is None else noise.seed,
        include_own=noise.include_own,
        features=features,
        matrix=matrix,
    )
    return noisy.astype(np.int64)


def channel_statistics(images: Images, sample: int = 5000) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel in [0, 1], over evenly spaced images."""
    index = np.unique(np.linspace(0, len(images) - 1, min(sample, len(images))).astype(np.int64))
    pixels = images.batch(index).float().div_(255)
    mean, deviation = pixels.mean((0, 2, 3)), pixels.std((0, 2, 3)).clamp_min(1e-3)
    return tuple(round(float(m), 4) for m in mean), tuple(round(float(s), 4) for s in deviation)


def split_key(reference: str) -> tuple[Path, str | None]:
    """`FILE` or `FILE:KEY`, the key naming a column or an entry."""
    if Path(reference).exists():
        return Path(reference), None
    file, colon, key = reference.rpartition(":")
    return (Path(file), key) if colon and Path(file).exists() else (Path(reference), None)


def named_labels(labels: NDArray[Any], classes: tuple[str, ...] | None) -> NDArray[Any]:
    """Labels as the class names of their own data, if it has any, so that they meet the names of other data."""
    if classes is None:
        return labels
    (index,), names = encode_labels(labels, classes=classes)
    return np.asarray(names, dtype=object)[index]


def _test_split(config: Config, own: RawSplit | None) -> tuple[RawSplit | None, str]:
    settings = config.data
    if settings.test is None:
        return own, f"the test split of {settings.path}" if own else "none"
    raw = read_dataset(settings.test, image_column=settings.image_column, label_column=settings.label_column)
    chosen = raw.test or raw.train
    if chosen.labels is None:
        raise InputError(f"the test data {settings.test} has no labels")
    return replace(chosen, labels=named_labels(chosen.labels, raw.classes)), settings.test


def _labels_from(reference: str | None, split: RawSplit, column: str | None) -> NDArray[Any] | None:
    if reference is None:
        return split.labels
    file, key = split_key(reference)
    return read_labels(file, key=key, names=split.names, label_column=column)


def _own_names(own: NDArray[Any] | None, given: NDArray[Any]) -> tuple[str, ...] | None:
    """The class names of the data itself, where a file of labels numbers them."""
    if own is None or own is given or _are_numbers(own) or not _are_numbers(given):
        return None
    return encode_labels(own, classes=None)[1]


def _are_numbers(labels: NDArray[Any]) -> bool:
    return all(text.isdecimal() for text in np.unique(labels.astype(str)))


def _load(config: Config, raw: RawSplit, device: torch.device, progress: Progress) -> tuple[Loaded, NDArray[np.int64]]:
    """Decode the training images, the first `limit` of them; and which of all rows these are."""
    settings = config.data
    size = settings.img_size
    if size is None and isinstance(raw.pixels, np.ndarray):
        height, width = raw.pixels.shape[1:3]
        size = None if height == width else min(height, width)  # squares, as images in files become
    if settings.limit is not None and settings.limit < len(raw.names):
        raw = raw.subset(np.arange(settings.limit))
    loaded = load_images(
        raw,
        size=size,
        channels=settings.channels,
        memory_limit=settings.memory_limit_mb * 2**20,
        default_size=224 if device.type == "cuda" else 64,
        progress=progress,
    )
    return loaded, loaded.kept


def _check_classes(labels: Labels, classes: tuple[str, ...], least: int) -> None:
    counts = np.bincount(labels, minlength=len(classes))
    if (counts > 0).sum() < 2:
        only = classes[int(counts.argmax())]
        raise InputError(f"all training images have the same label ('{only}'); a classifier needs at least two classes")
    small = np.flatnonzero(counts < least)
    if len(small):
        listed = ", ".join(f"'{classes[k]}' ({counts[k]})" for k in small[:5])
        option = f", or pass --set data.min_class_size={counts.min()}" if counts.min() else ""
        raise InputError(
            f"too few training images in {len(small)} of {len(classes)} classes: {listed}; at least {least} are "
            f"needed, so add images, merge or remove these classes{option}"
        )


def _thumbnails(images: Images, side: int = 8) -> NDArray[np.float64]:
    """(N, C * side * side) small versions of all images, the features that instance-dependent noise looks at."""
    parts = []
    for start in range(0, len(images), 1024):
        pixels = images.batch(np.arange(start, min(start + 1024, len(images)))).float().div_(255)
        parts.append(torch.nn.functional.adaptive_avg_pool2d(pixels, side).flatten(1))
    return torch.cat(parts).double().numpy()


def _read_matrix(reference: str | None) -> NDArray[np.float64]:
    if reference is None:
        raise InputError("noise of type 'matrix' needs a file: --set noise.matrix=FILE.npy or FILE.csv")
    file = Path(reference)
    try:
        if file.suffix == ".npy":
            matrix = np.load(file, allow_pickle=False)
        else:
            matrix = np.loadtxt(file, delimiter=",", ndmin=2)
        return np.asarray(matrix, dtype=np.float64)
    except (OSError, ValueError) as error:
        raise InputError(f"the transition matrix {file} cannot be read: {error}") from None
