"""From a configuration to images and labels in hand, checked; nothing is written here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from twincl.config import Config
from twincl.data.dataset import RawDataset, RawSplit
from twincl.data.holdout import hold_out
from twincl.data.images import Images, Loaded, load_images, load_like
from twincl.data.synsets import match_synsets
from twincl.errors import InputError
from twincl.results.skipped import Skipped
from twincl.runs.labels import all_labels, named_labels
from twincl.runs.noise import corrupt, require_rate
from twincl.runs.read import read_configured
from twincl.runs.workers import number_of_workers

Labels = NDArray[np.int64]
Progress = Callable[..., Any] | None


@dataclass(frozen=True)
class LabelledSet:
    """Images and the labels they came with: what may be learned from and judged. There is no field for the truth."""

    images: Images
    labels: Labels
    names: list[str]
    rows: Labels  # (N,) where each image stands in the training split of the data

    def take(self, index: Labels) -> "LabelledSet":
        """The images at `index` as a set of their own."""
        return LabelledSet(
            self.images.subset(index), self.labels[index], [self.names[i] for i in index], self.rows[index]
        )


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

    train: LabelledSet
    held_out: LabelledSet | None  # what was split off for testing: judged at the end, never learned from
    evaluation: Evaluation
    classes: tuple[str, ...]
    augment_hint: str
    skipped: list[Skipped]  # images that could not be decoded
    ignored: int = 0  # files of the data that are no images of it
    remarks: tuple[str, ...] = ()  # what of the data is not used or looks odd, in sentences
    workers: int = 0  # that decode images, those to be learned from and all others


def prepare(config: Config, device: torch.device, progress: Progress = None) -> Prepared:
    """Read, decode, split and, where asked, corrupt the labels.

    Raises:
        InputError: anything about the data that makes a training impossible.
    """
    settings, noise = config.data, config.noise
    if noise.type == "none" and noise.rate:
        raise InputError(f"a noise rate of {noise.rate:g} needs a type of noise, such as --noise symmetric")
    require_rate(noise)
    raw = read_configured(settings)
    raw_test, origin = _test_split(config, raw)
    labels = all_labels(settings, raw, raw_test)

    workers = number_of_workers(settings.workers)
    loaded = _load(config, raw.train, device, workers, progress)
    names = [raw.train.names[row] for row in loaded.kept]
    train = LabelledSet(loaded.images, labels.given[loaded.kept], names, loaded.kept)
    truth = None if labels.truth is None else labels.truth[loaded.kept]
    skipped = _skipped(loaded, labels.given, labels.classes, "train")
    if raw_test is not None and labels.test is not None:
        limit = settings.memory_limit_mb * 2**20
        loaded = load_like(raw_test, train.images.shape, memory_limit=limit, workers=workers, progress=progress)
        evaluation = Evaluation(loaded.images, labels.test[loaded.kept], truth, origin)
        skipped += _skipped(loaded, labels.test, labels.classes, "test")
        held_out = None
    else:
        train, held_out, evaluation = _hold_out(
            train, truth, settings.holdout, config.seed, simulated=noise.type != "none"
        )

    if noise.type != "none":
        evaluation = replace(evaluation, truth=train.labels if evaluation.truth is None else evaluation.truth)
        noisy = corrupt(train.labels, len(labels.classes), noise, config.seed, train.images)
        train = replace(train, labels=noisy)
    _check_classes(train.labels, labels.classes, settings.min_class_size)
    remarks = labels.remarks + _remarks(raw, untested=raw_test is not None and labels.test is None)
    return Prepared(
        train, held_out, evaluation, labels.classes, raw.augment_hint, skipped, raw.ignored, remarks, workers
    )


def prepare_all(
    split: RawSplit,
    labels: Labels,
    classes: tuple[str, ...],
    config: Config,
    device: torch.device,
    *,
    augment_hint: str,
) -> Prepared:
    """A split and its labels (N,), numbers of `classes`, as a training of which nothing is held out."""
    workers = number_of_workers(config.data.workers)
    loaded = _load(config, split, device, workers, None)
    names = [split.names[row] for row in loaded.kept]
    train = LabelledSet(loaded.images, labels[loaded.kept], names, loaded.kept)
    nothing = Evaluation(None, None, None, "none")
    skipped = _skipped(loaded, labels, classes, "train")
    return Prepared(train, None, nothing, classes, augment_hint, skipped, workers=workers)


def _hold_out(
    train: LabelledSet, truth: Labels | None, share: float, seed: int, *, simulated: bool
) -> tuple[LabelledSet, LabelledSet | None, Evaluation]:
    """Split a share off for testing; the test is as good as its labels: the truth where it is known."""
    rest, held = hold_out(train.labels, share, seed)
    if not len(held):
        return train, None, Evaluation(None, None, truth, "none")
    caution = "" if simulated or truth is not None else ", whose labels may be wrong too"
    origin = f"{len(held)} samples held out of the data ({share:.0%}){caution}"
    split_off = train.take(held)
    labels = split_off.labels if truth is None else truth[held]
    evaluation = Evaluation(split_off.images, labels, None if truth is None else truth[rest], origin)
    return train.take(rest), split_off, evaluation


def _skipped(loaded: Loaded, labels: Labels, classes: tuple[str, ...], split: str) -> list[Skipped]:
    """The images of a split that did not decode, with the labels (N,) that they have there."""
    rows = np.setdiff1d(np.arange(len(loaded.kept) + len(loaded.broken)), loaded.kept)
    return [
        Skipped(name, reason, classes[labels[row]], split)
        for row, (name, reason) in zip(rows, loaded.broken, strict=True)
    ]


def _remarks(raw: RawDataset, *, untested: bool) -> tuple[str, ...]:
    """What of the data is not used although it might seem so."""
    remarks = [f"the split '{name}' is neither learned from nor tested on, and not judged" for name in raw.unused]
    if untested:
        remarks.append(
            "the test images have no labels, so nothing is tested on them (one folder alone that is no class of the "
            "training data does not count as a label)"
        )
    return tuple(remarks)


def _test_split(config: Config, own: RawDataset) -> tuple[RawSplit | None, str]:
    settings = config.data
    if settings.test is None:
        return own.test, f"the test split of {settings.path}" if own.test else "none"
    no_columns = settings.model_copy(update={"image_column": None, "label_column": None})
    raw = read_configured(settings if Path(settings.test).is_file() else no_columns, settings.test)
    chosen = raw.test or raw.train
    if chosen.labels is None:
        raise InputError(f"the test data {settings.test} has no labels")
    named = replace(chosen, labels=named_labels(chosen.labels, raw.classes))
    return match_synsets(named, own.classes), settings.test


def _load(config: Config, raw: RawSplit, device: torch.device, workers: int, progress: Progress) -> Loaded:
    """Decode the training images, the first `limit` of them."""
    settings = config.data
    size = settings.img_size
    if size is None and isinstance(raw.pixels, np.ndarray) and not raw.is_features:
        height, width = raw.pixels.shape[1:3]
        size = None if height == width else min(height, width)  # squares, as images in files become
    if settings.limit is not None and settings.limit < len(raw.names):
        raw = raw.subset(np.arange(settings.limit))
    return load_images(
        raw,
        size=size,
        channels=settings.channels,
        memory_limit=settings.memory_limit_mb * 2**20,
        default_size=224 if device.type == "cuda" else 64,
        workers=workers,
        progress=progress,
    )


def _check_classes(labels: Labels, classes: tuple[str, ...], least: int) -> None:
    counts = np.bincount(labels, minlength=len(classes))
    if (counts > 0).sum() < 2:
        only = classes[int(counts.argmax())]
        raise InputError(
            f"all training samples have the same label ('{only}'); a classifier needs at least two classes"
        )
    small = np.flatnonzero(counts < least)
    if len(small):
        listed = ", ".join(f"'{classes[k]}' ({counts[k]})" for k in small[:5])
        if fewest := counts.min():
            option = f", or pass --set data.min_class_size={fewest}"
        else:
            option = " (a class with 0 is named by the test data, the true labels or the format)"
        raise InputError(
            f"too few training samples in {len(small)} of {len(classes)} classes: {listed}; at least {least} are "
            f"needed, so add samples, merge or remove these classes{option}"
        )
