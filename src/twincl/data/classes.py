"""Labels of any kind -> class numbers 0..K-1 under one list of class names that all label arrays share."""

import re
from collections.abc import Iterable

import numpy as np

from twincl.data.label_values import brief
from twincl.errors import InputError

_WHOLE = re.compile(r"[+-]?\d{1,18}")  # longer ones are names
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def encode_labels(
    *labels: np.ndarray | None, classes: tuple[str, ...] | None
) -> tuple[list[np.ndarray | None], tuple[str, ...]]:
    """Encode several label arrays (train, test, truth) alike.

    Args:
        labels: arrays (N_i,) of int or str, each of its own length; None stays None.
        classes: the names of classes 0..K-1 if the data set carries them.

    Returns:
        int64 arrays (N_i,) in 0..K-1, and the class names. Without `classes` these are the sorted distinct
        labels, in numeric order if all are numbers; an array of whole numbers beside arrays of names indexes
        the names. Integers index `classes`, whatever their names; text is a name if it can be.

    Raises:
        InputError: a label is missing, out of range, not the name of a class, or not Unicode.
    """
    texts = [None if array is None else [_text(label) for label in array.tolist()] for array in labels]
    kinds = [None if text is None else sorted(set(text)) for text in texts]
    names = _distinct(kinds) if classes is None else classes
    _refuse_undecodable(names)
    encoded: list[np.ndarray | None] = []
    for array, text, distinct in zip(labels, texts, kinds, strict=True):
        if array is None or text is None or distinct is None:
            encoded.append(None)
        else:
            number = _indices(distinct, names) if classes and array.dtype.kind in "iu" else _numbers(distinct, names)
            encoded.append(np.array([number[label] for label in text], dtype=np.int64))
    return encoded, names


def _refuse_undecodable(names: Iterable[str]) -> None:
    """Files may be named in any bytes; a class is named in JSON, in reports and in models, which are Unicode."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InputError(f"the name of the class {name!a} is not Unicode; rename it.") from None


def _text(label: object) -> str:
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    text = "" if label is None else str(label)
    if text in ("", "nan"):
        raise InputError("a label is missing (empty or NaN); fill it in or remove the image.")
    return text


def _is_index(distinct: Iterable[str]) -> bool:
    return all(_WHOLE.fullmatch(label) for label in distinct)


def _distinct(kinds: list[list[str] | None]) -> tuple[str, ...]:
    """The class names that the labels themselves give: names if any array has names, else all the numbers."""
    present = [distinct for distinct in kinds if distinct]
    named = [distinct for distinct in present if not _is_index(distinct)]
    union = {label for distinct in named or present for label in distinct}
    if all(_NUMBER.fullmatch(label) for label in union):
        return tuple(sorted(union, key=lambda label: (float(label), label)))
    return tuple(sorted(union))


def _numbers(distinct: list[str], names: tuple[str, ...]) -> dict[str, int]:
    """The class number of each distinct label: by name if all are names, by index if all are numbers."""
    place = {name: number for number, name in reversed(list(enumerate(names)))}
    unknown = [label for label in distinct if label not in place]
    if not unknown:
        return {label: place[label] for label in distinct}
    if not _is_index(distinct) or len(unknown) < len(distinct):
        raise InputError(f"the labels {brief(unknown)} are not among the {len(names)} classes ({brief(names)}).")
    return _indices(distinct, names)


def _indices(distinct: list[str], names: tuple[str, ...]) -> dict[str, int]:
    """The class number of each distinct label, which is that number."""
    outside = [label for label in distinct if not 0 <= int(label) < len(names)]
    if outside:
        raise InputError(
            f"the labels {brief(outside)} are outside 0..{len(names) - 1}, the numbers of the {len(names)} "
            f"classes ({brief(names)}); correct them."
        )
    return {label: int(label) for label in distinct}
