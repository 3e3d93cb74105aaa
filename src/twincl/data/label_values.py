"""Labels as any file stores them -> one array of a known kind, with every missing label reported by its row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from twincl.errors import InputError

_SHOWN = 5  # rows named in a message


def shown(items: Sequence[Any]) -> str:
    """The first few items, for a message."""
    return ", ".join(str(item) for item in items[:_SHOWN]) + (", ..." if len(items) > _SHOWN else "")


def tidy_labels(values: Sequence[Any] | np.ndarray, *, where: str, rows: Sequence[int] | None = None) -> np.ndarray:
    """One label per image, (N,): int64 if every value is a whole number, otherwise an object array of str.

    Args:
        values: N labels of any kind, or an (N, 1) array of them; numbers written as text stay text.
        where: the file, for messages.
        rows: the number the user knows each row by; 0-based positions if left out.

    Raises:
        InputError: a label is empty or NaN, or there is more than one per image.
    """
    array = values if isinstance(values, np.ndarray) else _object_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"the labels in {where} have shape {array.shape}; give exactly one label per image, a list of N values."
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    items = [_plain(item) for item in array.tolist()]
    missing = [place for place, item in enumerate(items) if item is None]
    if missing:
        numbers = [rows[place] if rows is not None else place for place in missing]
        plural = "s are" if len(missing) > 1 else " is"
        raise InputError(
            f"{len(missing)} label{plural} missing in {where} (row {shown(numbers)}); fill them in or remove the rows."
        )
    if any(isinstance(item, list | tuple | dict) for item in items):
        raise InputError(f"{where} holds several labels for one image; give exactly one label per image.")
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
        return int(item) if float(item).is_integer() else float(item)
    return int(item) if isinstance(item, np.integer) else item
