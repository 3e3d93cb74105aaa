"""Which labels count: those of the data or of a file, under one list of class names."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from twincl.config import DataSettings
from twincl.data.classes import encode_labels
from twincl.data.dataset import RawDataset, RawSplit
from twincl.data.labels import read_labels
from twincl.data.relation import are_unrelated
from twincl.errors import InputError

Labels = NDArray[np.int64]


class AllLabels(NamedTuple):
    """Every label of a training as class numbers."""

    given: Labels  # of the training split, all its rows
    truth: Labels | None  # likewise, for evaluation
    test: Labels | None  # of the test split
    classes: tuple[str, ...]
    remarks: tuple[str, ...]  # what is odd about them, in sentences


def all_labels(settings: DataSettings, raw: RawDataset, test: RawSplit | None) -> AllLabels:
    """Read and encode the labels that `settings` name, in place of those that the data carry or beside them."""
    given = labels_from(settings.labels, raw.train, settings.label_column)
    truth = labels_from(settings.true_labels, raw.train, None) if settings.true_labels else None
    if given is None:
        raise InputError(
            f"{settings.path} has no labels; give a file with --labels, name the column with --label-column, or put "
            "the images in one folder per class"
        )
    names = raw.classes or _own_names(raw.train.labels, given)
    encoded, classes = encode_labels(given, truth, test.labels if test else None, classes=names)
    assert encoded[0] is not None
    remarks = _unrelated(settings.labels, given, raw.train.labels, "of the data") + _unrelated(
        settings.true_labels, truth, given, "to be learned from"
    )
    return AllLabels(encoded[0], encoded[1], encoded[2], classes, remarks)


def labels_from(reference: str | None, split: RawSplit, column: str | None) -> NDArray[Any] | None:
    """The labels in the file that `reference` names, or the split's own."""
    if reference is None:
        return split.labels
    file, key = split_key(reference)
    return read_labels(file, key=key, names=split.names, label_column=column)


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


def _unrelated(
    file: str | None, labels: NDArray[Any] | None, others: NDArray[Any] | None, which: str
) -> tuple[str, ...]:
    """What is to be said of a file of labels that fit no better than any others would."""
    if file is None or labels is None or others is None or not are_unrelated(labels, others):
        return ()
    return (f"the labels in {file} have nothing to do with those {which}: are they of these images, in this order?",)


def _own_names(own: NDArray[Any] | None, given: NDArray[Any]) -> tuple[str, ...] | None:
    """The class names of the data itself, where a file of labels numbers them."""
    if own is None or own is given or _are_numbers(own) or not _are_numbers(given):
        return None
    return encode_labels(own, classes=None)[1]


def _are_numbers(labels: NDArray[Any]) -> bool:
    return all(text.isdecimal() for text in {str(label) for label in labels.tolist()})
