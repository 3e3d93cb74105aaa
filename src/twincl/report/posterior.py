"""Label quality over all images: its log-odds, the two groups in them, and where the line was drawn."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twincl.core.detection import CleanFit, clean_probability

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

EPSILON = 1e-6  # qualities are kept with six decimals


class Posterior(NamedTuple):
    """What the histogram shows."""

    log_odds: Floats  # (N,)
    flagged: Flags  # (N,)
    fit: CleanFit  # two components over the log-odds; its means are None where there is one group only
    cut: float | None  # log-odds below which every label and above which none is flagged, if there is such a line


def posterior(quality: Floats, flagged: Flags) -> Posterior:
    """From label quality and verdict, (N,) each."""
    log_odds = to_log_odds(quality)
    return Posterior(log_odds, flagged, clean_probability(log_odds), decision_cut(log_odds, flagged))


def to_log_odds(quality: Floats) -> Floats:
    """log(p / (1 - p)), finite also at 0 and 1."""
    clipped = np.clip(quality, EPSILON, 1 - EPSILON)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


def decision_cut(log_odds: Floats, flagged: Flags) -> float | None:
    """The middle between the best label that is flagged and the worst that is not.

    None where there is no such line: all labels fall on one side, or the verdict is not by quality alone.
    """
    if flagged.all() or not flagged.any():
        return None
    low, high = log_odds[flagged].max(), log_odds[~flagged].min()
    return float((low + high) / 2) if low <= high else None
