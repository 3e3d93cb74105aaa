"""Label noise for experiments: true labels in, wrong labels out, the true ones untouched.

Labels are integers in [0, K), shape (N,). All randomness comes from the generator that is passed in.
`add_noise` is the entrance and checks what it is given.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from twincl.data.streams import stream
from twincl.errors import InputError, did_you_mean

Labels = NDArray[np.int64]

# truck -> automobile, bird -> airplane, deer -> horse, cat <-> dog
CIFAR10_MAP = {9: 1, 2: 0, 4: 7, 3: 5, 5: 3}

# superclass of each of the 100 fine classes, in the alphabetical order of the fine names
# fmt: off
CIFAR100_COARSE = (
     4,  1, 14,  8,  0,  6,  7,  7, 18,  3,
     3, 14,  9, 18,  7, 11,  3,  9,  7, 11,
     6, 11,  5, 10,  7,  6, 13, 15,  3, 15,
     0, 11,  1, 10, 12, 14, 16,  9, 11,  5,
     5, 19,  8,  8, 15, 13, 14, 17, 18, 10,
    16,  4, 17,  4,  2,  0, 17,  4, 18, 17,
    10,  3,  2, 12, 12, 16, 12,  1,  9, 19,
     2, 10,  0,  1, 16, 12,  9, 13, 15, 13,
    16, 19,  2,  4,  6, 19,  5,  5,  8, 19,
    18,  1,  2, 15,  6,  0, 17,  8, 14, 13,
)
# fmt: on


NOISES = ("symmetric", "asymmetric", "pair", "matrix", "instance")


def add_noise(
    labels: NDArray[Any],
    *,
    kind: str,
    rate: float,
    num_classes: int,
    seed: int,
    include_own: bool = True,
    features: NDArray[Any] | None = None,
    matrix: NDArray[Any] | None = None,
) -> Labels:
    """Noisy copy of `labels` (N,), the same for the same `seed`; `kind` is one of `NOISES`.

    `include_own` concerns "symmetric"; "instance" needs `features` (N,d); "matrix" needs `matrix` (K,K) and
    ignores `rate`. Raises InputError for anything that does not fit.
    """
    if kind not in NOISES:
        raise InputError(f"unknown noise '{kind}': {did_you_mean(kind, list(NOISES))}")
    if not 0 <= rate <= 1:
        raise InputError(f"the noise rate must lie between 0 and 1, not {rate}.")
    if num_classes < 2:
        raise InputError(f"label noise needs at least two classes, not {num_classes}.")
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(f"labels must be one row of integers, not {labels.dtype} of shape {labels.shape}.")
    if len(labels) and not 0 <= labels.min() <= labels.max() < num_classes:
        raise InputError(f"labels must lie between 0 and {num_classes - 1} for {num_classes} classes.")
    truth, rng = labels.astype(np.int64), stream(seed, "noise")
    if kind == "symmetric":
        return symmetric(truth, num_classes, rate, rng, include_own)
    if kind == "pair":
        return pair(truth, num_classes, rate, rng)
    if kind == "asymmetric":
        return _asymmetric(truth, num_classes, rate, rng)
    if kind == "matrix":
        if matrix is None or len(matrix) != num_classes:
            raise InputError(f"noise 'matrix' needs a transition matrix of {num_classes} rows.")
        return from_transition_matrix(truth, matrix, rng)
    if features is None or np.ndim(features) != 2 or len(features) != len(truth):
        raise InputError(f"noise 'instance' needs one row of features for each of the {len(truth)} labels.")
    return instance_dependent(truth, features, num_classes, rate, rng)


def _asymmetric(labels: Labels, num_classes: int, rate: float, rng: np.random.Generator) -> Labels:
    if num_classes == 10:
        return asymmetric_cifar10(labels, rate, rng)
    if num_classes == 100:
        return asymmetric_cifar100(labels, rate, rng)
    raise InputError(
        "noise 'asymmetric' is defined for CIFAR-10 and CIFAR-100 only: "
        f"use 'pair' or 'matrix' for {num_classes} classes."
    )


def symmetric(
    labels: Labels, num_classes: int, rate: float, rng: np.random.Generator, include_own: bool = True
) -> Labels:
    """Give exactly int(rate * N) random samples a uniform label.

    Over all K classes if `include_own`, so that only rate * (K-1) / K of the labels become wrong (the usual
    convention); otherwise over the K-1 others, so that all of them do.
    """
    noisy = labels.copy()
    chosen = _choose(len(labels), rate, rng)
    if include_own:
        noisy[chosen] = rng.integers(num_classes, size=len(chosen))
    else:
        noisy[chosen] = (labels[chosen] + rng.integers(1, num_classes, size=len(chosen))) % num_classes
    return noisy


def pair(labels: Labels, num_classes: int, rate: float, rng: np.random.Generator) -> Labels:
    """Move each label to the next class, circularly, with probability `rate`."""
    flips = rng.random(len(labels)) < rate
    return np.where(flips, (labels + 1) % num_classes, labels)


def asymmetric_cifar10(labels: Labels, rate: float, rng: np.random.Generator) -> Labels:
    """Map exactly int(rate * N) random samples by `CIFAR10_MAP`, as the authors' code does.

    Samples of the five other classes are chosen too and keep their label, so about rate / 2 become wrong.
    """
    target = np.arange(10)
    target[list(CIFAR10_MAP)] = list(CIFAR10_MAP.values())
    noisy = labels.copy()
    chosen = _choose(len(labels), rate, rng)
    noisy[chosen] = target[labels[chosen]]
    return noisy


def asymmetric_cifar100(labels: Labels, rate: float, rng: np.random.Generator) -> Labels:
    """Move each label to the next class of its superclass, circularly, with probability `rate`."""
    coarse = np.array(CIFAR100_COARSE)
    target = np.arange(100)
    for superclass in range(20):
        fine = np.flatnonzero(coarse == superclass)
        target[fine] = np.roll(fine, -1)
    flips = rng.random(len(labels)) < rate
    return np.where(flips, target[labels], labels)


def from_transition_matrix(labels: Labels, matrix: NDArray[Any], rng: np.random.Generator) -> Labels:
    """Redraw each label from its row of `matrix` (K,K): row = true class, column = noisy class.

    Raises InputError unless `matrix` is square, non-negative, with rows summing to one.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"the transition matrix must be square (classes x classes), not {matrix.shape}.")
    if not (matrix >= 0).all() or not np.allclose(matrix.sum(axis=1), 1, atol=1e-6):
        raise InputError("each row of the transition matrix must hold probabilities that sum to 1.")
    noisy = np.empty_like(labels)
    for label in np.unique(labels):  # class by class: (N,K) at once may not fit in memory
        members = np.flatnonzero(labels == label)
        noisy[members] = _draw(np.broadcast_to(matrix[label], (len(members), len(matrix))), rng)
    return noisy


def instance_dependent(
    labels: Labels, features: NDArray[Any], num_classes: int, rate: float, rng: np.random.Generator
) -> Labels:
    """Flip labels by what the sample looks like (part-dependent noise, Xia et al. 2020).

    Each sample i has its own flip rate q_i, normal around `rate` with deviation 0.1 cut to [0, 1]. Each class
    has a random projection (d,K); the projected `features` (N,d), softmaxed over the other classes, say where
    the label goes: P(j | i) = q_i softmax_j for j != y_i, and 1 - q_i for y_i itself.
    """
    flip = _cut_normal(rate, 0.1, len(labels), rng)
    noisy = np.empty_like(labels)
    for label in range(num_classes):
        projection = rng.standard_normal((features.shape[1], num_classes))
        members = np.flatnonzero(labels == label)
        scores = features[members] @ projection
        scores[:, label] = -np.inf
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances = flip[members, None] * odds / odds.sum(axis=1, keepdims=True)
        chances[:, label] = 1 - flip[members]
        noisy[members] = _draw(chances, rng)
    return noisy


def _draw(chances: NDArray[np.float64], rng: np.random.Generator) -> Labels:
    """One class per row of probabilities (N,K); a class of probability zero is never drawn."""
    upper = chances.cumsum(axis=1)
    upper /= upper[:, -1:]  # rounding must not leave a gap below 1
    passed: Labels = (rng.random((len(chances), 1)) >= upper).sum(axis=1)
    return passed


def _choose(count: int, rate: float, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.permutation(count)[: int(rate * count)]


def _cut_normal(mean: float, deviation: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Normal values conditioned on [0, 1], by redrawing those outside; mean in [0, 1]."""
    values = rng.normal(mean, deviation, count)
    while (outside := (values < 0) | (values > 1)).any():
        values[outside] = rng.normal(mean, deviation, int(outside.sum()))
    return values
