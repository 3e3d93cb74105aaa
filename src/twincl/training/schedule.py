"""Learning rate over the steps of a training."""

import math
from typing import Literal

CosineSpan = Literal["total", "remaining"]


def learning_rate(
    step: int,
    steps_per_epoch: int,
    *,
    peak: float,
    epochs: int,
    warmup_epochs: int,
    span: CosineSpan,
    floor: float,
) -> float:
    """Rate of step number `step`, from zero: linear warm-up to `peak`, then half a cosine down to floor x peak.

    `span` says how long the cosine is: the epochs that remain after warm-up, so that it reaches its floor, or the
    total, as in the released code, so that it stops short of it.
    """
    epoch = (step + 1) / steps_per_epoch
    if epoch < warmup_epochs:
        return peak * epoch / warmup_epochs
    length = epochs if span == "total" else max(epochs - warmup_epochs, 1)
    lowest = floor * peak
    return lowest + 0.5 * (peak - lowest) * (1 + math.cos(math.pi * (epoch - warmup_epochs) / length))
