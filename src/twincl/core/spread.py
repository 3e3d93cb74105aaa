"""Few of many: rows that stand for all where all would take too long."""

import numpy as np
from numpy.typing import NDArray


def evenly_spaced(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` of the places 0 ... count - 1 in ascending order, the first and the last among them.

    Where `most` is one, the first alone.
    """
    taken = min(count, most)
    return np.arange(taken, dtype=np.int64) * (count - 1) // max(taken - 1, 1)


def evenly_by_label(labels: NDArray[np.integer], most: int) -> NDArray[np.int64]:
    """At most `most` of the places of `labels` (N,), of every label its share, in the order of the labels.

    Evenly spaced ones alone could miss a label: where labels take turns, every tenth sample may have the same.
    """
    return np.asarray(np.argsort(labels, kind="stable")[evenly_spaced(len(labels), most)], dtype=np.int64)
