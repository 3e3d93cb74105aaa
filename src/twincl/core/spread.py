"""Few of many: rows that stand for all where all would take too long."""

import numpy as np
from numpy.typing import NDArray


def evenly_spaced(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` of the places 0 ... count - 1 in ascending order, the first and the last among them.

    Where `most` is one, the first alone.
    """
    taken = min(count, most)
    return np.arange(taken, dtype=np.int64) * (count - 1) // max(taken - 1, 1)


def evenly_ranked(values: NDArray[np.number], most: int) -> NDArray[np.int64]:
    """Where at most `most` of the values (N,) are that lie evenly spaced in the order of size, both ends among them.

    Of scores these are quantiles; of labels each has its share, where evenly spaced places alone could miss one: if
    labels take turns, every tenth sample may have the same.
    """
    return np.asarray(np.argsort(values, kind="stable")[evenly_spaced(len(values), most)], dtype=np.int64)
