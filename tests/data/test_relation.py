"""Whether two sets of labels have anything to do with each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from twincl.data.relation import are_unrelated


def noisy(labels: np.ndarray, rate: float, classes: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(labels)) < rate, rng.integers(classes, size=len(labels)), labels)


@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("rate", [0.0, 0.4, 0.8])
def test_noise_does_not_hide_the_relation_and_shuffling_does(classes, rate):
    labels = np.random.default_rng(0).integers(classes, size=5000)
    given_labels = noisy(labels, rate, classes, seed=1)
    assert not are_unrelated(given_labels, labels)
    assert are_unrelated(np.random.default_rng(2).permutation(given_labels), labels)


def test_classes_may_have_other_names():
    labels = np.random.default_rng(0).integers(3, size=300)
    names = np.array(["cat", "dog", "emu"], dtype=object)
    assert not are_unrelated(names[(labels + 1) % 3], labels)


@pytest.mark.parametrize(("count", "classes"), [(49, 3), (500, 1)])
def test_too_little_to_tell(count, classes):
    rng = np.random.default_rng(0)
    assert not are_unrelated(rng.integers(classes, size=count), rng.integers(3, size=count))


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 6), st.floats(0, 0.3))
def test_as_pearsons_chi_squared(seed, rows, columns, share):
    rng = np.random.default_rng(seed)
    one = rng.integers(rows, size=400)
    other = np.where(rng.random(400) < share, one % columns, rng.integers(columns, size=400))
    table = np.array([[((one == i) & (other == j)).sum() for j in range(columns)] for i in range(rows)])
    result = chi2_contingency(table, correction=False)
    assert are_unrelated(one, other) == (result.statistic < result.dof + 3 * np.sqrt(2 * result.dof))
