"""Data with wrong labels for the estimator."""

from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs


class Noisy(NamedTuple):
    X: np.ndarray
    given: np.ndarray
    true: np.ndarray


def corrupted(true: np.ndarray, rate: float, classes: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    shift = np.where(rng.random(len(true)) < rate, rng.integers(1, classes, len(true)), 0)
    return (true + shift) % classes


@pytest.fixture(scope="session")
def blobs() -> Noisy:
    """90 vectors in three clear groups, a fifth of the labels wrong."""
    X, true = make_blobs(90, n_features=4, centers=3, cluster_std=0.5, random_state=0)
    return Noisy(X, corrupted(true, 0.2, 3), true)


@pytest.fixture(scope="session")
def digits() -> Noisy:
    """300 digits as images (N, 8, 8) in 0..1, 40 % of the labels wrong."""
    whole = load_digits()
    rows = np.random.default_rng(0).permutation(len(whole.target))[:300]
    true = whole.target[rows]
    return Noisy(whole.images[rows] / 16, corrupted(true, 0.4, 10), true)
