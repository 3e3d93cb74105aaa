"""Whether two sets of labels for the same images have anything to do with each other."""

import numpy as np

_FEWEST = 50  # images of which anything can be said
_DEVIATIONS = 3.0  # above what chance gives


def are_unrelated(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether labels (N,) tell no more of the others (N,) than chance would, as when one of them is shuffled.

    Pearson's chi-squared of the two, whatever their classes are called: N (sum_ij n_ij^2 / (n_i n_j) - 1), against its
    mean (I - 1)(J - 1) under independence. False where there are too few images or classes to tell.
    """
    rows, row_of = np.unique(one.astype(str), return_inverse=True)
    columns, column_of = np.unique(other.astype(str), return_inverse=True)
    freedom = (len(rows) - 1) * (len(columns) - 1)
    if len(one) < _FEWEST or not freedom:
        return False
    cells, counts = np.unique(row_of * len(columns) + column_of, return_counts=True)
    expected = np.bincount(row_of)[cells // len(columns)] * np.bincount(column_of)[cells % len(columns)] / len(one)
    statistic = float((counts**2 / expected).sum()) - len(one)
    return statistic < freedom + _DEVIATIONS * float(np.sqrt(2 * freedom))
