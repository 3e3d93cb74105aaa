"""Feature vectors: what an array must be to serve as such, and how its columns are spread."""

from collections.abc import Sequence

import numpy as np
import torch

from twincl.data.stores import Images
from twincl.errors import InputError

_CHUNK = 4096  # rows looked at together, to bound what is held beside the features themselves
_LARGEST = 1e37  # of a feature: differences and deviations must still be numbers

Statistics = tuple[tuple[float, ...], tuple[float, ...]]


def check_features(values: np.ndarray, *, where: str, rows: Sequence[int] | None = None) -> np.ndarray:
    """Numbers (N, D) as float32, without a copy where they are that already.

    Args:
        values: one row a sample.
        where: the file, for messages.
        rows: the number the user knows each row by; 0-based positions if left out.

    Raises:
        InputError: they are not numbers, there are no columns, or one is NaN, infinite or so large that float32
            cannot calculate with it.
    """
    if values.dtype.kind not in "biuf":
        raise InputError(f"{where} has the type {values.dtype}; save features as float32.")
    if values.shape[1] == 0:
        raise InputError(f"{where} has shape {values.shape}, so no features; give at least one value a row.")
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(values, dtype=np.float32)
    for start in range(0, len(features), _CHUNK):
        good = (np.abs(features[start : start + _CHUNK]) <= _LARGEST).all(axis=1)  # false of NaN, too
        if not good.all():
            place = start + int(good.argmin())
            row = rows[place] if rows is not None else place
            raise InputError(
                f"row {row} of {where} has a feature that is missing, NaN, infinite or beyond float32 (more "
                f"than {_LARGEST:g}); fill it in, scale the features, or remove the row."
            )
    return features


def feature_statistics(features: Images) -> Statistics:
    """Mean and standard deviation of each of the D features over all N rows."""
    count = len(features)

    def total(of: torch.Tensor | None) -> torch.Tensor:
        """The sum of the features, or of their squared distances from `of`; in float64, a block at a time."""
        parts = (features.batch(np.arange(start, min(start + _CHUNK, count))) for start in range(0, count, _CHUNK))
        return torch.stack([(p.double() if of is None else (p.double() - of).square()).sum(0) for p in parts]).sum(0)

    mean = total(None) / count
    deviation = (total(mean) / max(count - 1, 1)).sqrt()
    return tuple(mean.float().tolist()), tuple(deviation.float().tolist())
