"""Random numbers by the seed of a run: a stream of its own for every purpose.

Two choices from one stream would follow each other: were the samples whose labels are disturbed and the order in which
samples are learned drawn alike, the first epoch would begin with the wrong labels and end with the right ones.
"""

from typing import Literal

import numpy as np

_KEYS = {"noise": (), "hold-out": (1,), "order": (2,)}  # noise: the seed's own, so that its labels stay what they were


def stream(seed: int, purpose: Literal["noise", "hold-out", "order"], *numbers: int) -> np.random.Generator:
    """A generator for the purpose, and for each of the `numbers` (an epoch) another one."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*_KEYS[purpose], *numbers)))
