"""Which samples an epoch learns from where it does not learn from all of them."""

import numpy as np
from numpy.typing import NDArray


def balanced_sample(labels: NDArray[np.int64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places of `size` random samples, or of all if there are fewer, in random order and each at most once.

    Every class of `labels` (N,) gives the same number, to within one; a class that has fewer gives all it has, and
    the others make up for it. DivideMix draws the epochs of Clothing1M like this.
    """
    drawn = rng.permutation(len(labels))
    by_class = drawn[np.argsort(labels[drawn], kind="stable")]
    counts = np.unique(labels, return_counts=True)[1]
    turn = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)  # drawn before it in its class
    first = np.lexsort((rng.random(len(labels)), turn))[
        :size
    ]  # one of each class in every round, until there are enough
    return rng.permutation(by_class[first])
