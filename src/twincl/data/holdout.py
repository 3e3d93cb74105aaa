"""Set aside a share of the images of each class, to measure on images that were never trained on."""

import numpy as np

from twincl.data.streams import stream
from twincl.errors import InputError


def hold_out(labels: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split the indices of `labels` (N,) into sorted training and test indices, each class alike.

    The test part has round(share * N) images, or fewer where small classes cannot give: every class keeps two
    training images, or the one it has. The choice is a function of the arguments alone.

    Raises:
        InputError: `share` is not in [0, 1).
    """
    if not 0 <= share < 1:
        raise InputError(f"the share of images to hold out is {share:g}; give a number from 0 up to, not including, 1.")
    _, group, counts = np.unique(labels, return_inverse=True, return_counts=True)
    take = _quota(counts, share)
    order = stream(seed, "hold-out").permutation(len(labels))
    order = order[np.argsort(group[order], kind="stable")]  # class after class, shuffled within each
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    held = rank < np.repeat(take, counts)
    return np.sort(order[~held]), np.sort(order[held])


def _quota(counts: np.ndarray, share: float) -> np.ndarray:
    """How many to hold out of each class, (K,): the share rounded down, then one more by largest remainder."""
    limit = np.where(counts >= 2, counts - 2, 0)
    wanted = share * counts
    take = np.minimum(np.floor(wanted + 1e-9).astype(np.int64), limit)
    missing = round(share * int(counts.sum())) - int(take.sum())
    by_remainder = np.argsort(take - wanted, kind="stable")
    able = by_remainder[(take < limit)[by_remainder]]
    take[able[: max(missing, 0)]] += 1
    return take
