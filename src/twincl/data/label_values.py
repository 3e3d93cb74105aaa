"""Labels as any file stores them -> one array of a known kind, with every missing label reported by its row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from twincl.errors import InputError

_SHOWN_LENGTH = 80  # characters of each
_LONGEST = 1000  # characters of a label; it becomes the name of a class


def brief(items: Sequence[Any], most: int = 5) -> str:
    """The first few items, for a message; of long ones the beginning and the end."""
    texts = [str(item) for item in items[:most]]
    short = [text if len(text) <= _SHOWN_LENGTH else f"{text[:20]}...{text[23 - _SHOWN_LENGTH :]}" for text in texts]
    return ", ".join(short) + (", ..." if len(items) > most else "")


def tidy_labels(values: Sequence[Any] | np.ndarray, *, where: str, rows: Sequence[int] | None = None) -> np.ndarray:
    """One label per image, (N,): int64 if every value is a whole number, otherwise an object array of str.

    Args:
        values: N labels of any kind, or an (N, 1) array of them; numbers written as text stay text.
        where: the file, for messages.
        rows: the number the user knows each row by; 0-based positions if left out.

    Raises:
        InputError: a label is empty, NaN or too long, or there is more than one per image.
    """
    if not isinstance(values, np.ndarray | list | tuple):
        raise InputError(f"{where} holds a {type(values).__name__} where a list of labels was expected.")
    array = values if isinstance(values, np.ndarray) else _object_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"the labels in {where} have shape {array.shape}; give exactly one label per image, a list of N values."
        )
    if array.dtype.kind in "iu" and (array.dtype != np.uint64 or not (array > np.iinfo(np.int64).max).any()):
        return array.astype(np.int64)
    items = [_plain(item) for item in array.tolist()]
    missing = [place for place, item in enumerate(items) if item is None]
    if missing:
        numbers = [rows[place] if rows is not None else place for place in missing]
        plural = "s are" if len(missing) > 1 else " is"
        raise InputError(
            f"{len(missing)} label{plural} missing in {where} (row {brief(numbers)}); fill them in or remove the rows."
        )
    if any(isinstance(item, list | tuple | dict) for item in items):
        raise InputError(f"{where} holds several labels for one image; give exactly one label per image.")
    long = [place for place, item in enumerate(items) if isinstance(item, str) and len(item) > _LONGEST]
    if long:
        number = rows[long[0]] if rows is not None else long[0]
        raise InputError(
            f"the label in row {number} of {where} has {len(items[long[0]])} characters, more than {_LONGEST}; name "
            "classes shorter, or pass another label column."
        )
    if items and all(isinstance(item, int) for item in items):
        return np.array(items, dtype=np.int64)
    return _object_array([str(item) for item in items])


def _object_array(items: Sequence[Any]) -> np.ndarray:
    return np.fromiter(items, dtype=object, count=len(items))  # a list among the items stays one item


def _plain(item: Any) -> Any:
    """The value with whole floats as int, bool as text and surrounding space removed; None if it is missing."""
    if isinstance(item, bytes):
        item = item.decode("utf-8", "replace")
    if isinstance(item, str):
        item = item.strip()
        return None if item.lower() in ("", "nan") else item
    if isinstance(item, bool | np.bool_):
        return str(bool(item))
    if isinstance(item, float | np.floating):
        if np.isnan(item):
            return None
        item = int(item) if float(item).is_integer() else float(item)
    if isinstance(item, int | np.integer):
        number = int(item)
        return number if number.bit_length() < 64 else f"{number}" if number.bit_length() < 4096 else f"{number:x}"
    return item
