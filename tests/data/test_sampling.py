"""A balanced sample takes from every class alike, as far as classes go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twincl.data.sampling import balanced_sample


def draw(labels, size, seed=0):
    return balanced_sample(np.asarray(labels, dtype=np.int64), size, np.random.default_rng(seed))


def fair_shares(counts: list[int], size: int) -> list[int]:
    """How many of each class, in ascending order, by giving out one at a time to whoever has fewest and some left."""
    given_out = [0] * len(counts)
    for _ in range(min(size, sum(counts))):
        able = [k for k, count in enumerate(counts) if given_out[k] < count]
        given_out[min(able, key=lambda k: given_out[k])] += 1
    return sorted(given_out)


@settings(max_examples=150, deadline=None)
@given(labels=st.lists(st.sampled_from([0, 1, 2, 5, 9]), max_size=40), size=st.integers(0, 50), seed=st.integers(0, 99))
def test_shares_are_as_equal_as_the_classes_allow(labels, size, seed):
    sample = draw(labels, size, seed)
    assert len(sample) == min(size, len(labels))
    assert len(set(sample.tolist())) == len(sample)
    assert all(0 <= place < len(labels) for place in sample)
    assert np.array_equal(sample, draw(labels, size, seed))
    classes = sorted(set(labels))
    taken = sorted(sum(labels[place] == k for place in sample) for k in classes)
    assert taken == fair_shares([labels.count(k) for k in classes], size)


def test_every_sample_has_its_chance_and_every_class_the_odd_one():
    labels = np.repeat([0, 1, 2], [60, 10, 5])
    seen, odd = np.zeros(75), np.zeros(3)
    for seed in range(400):
        sample = draw(labels, 13, seed)
        seen[sample] += 1
        odd += np.bincount(labels[sample], minlength=3) == 5
    np.testing.assert_allclose(odd / 400, 1 / 3, atol=0.1)
    for k, count in enumerate((60, 10, 5)):
        np.testing.assert_allclose(seen[labels == k] / 400, 13 / 3 / count, atol=0.12)


def test_classes_come_mixed():
    labels = np.repeat(np.arange(4), 500)
    first_half = labels[draw(labels, 1000)][:500]
    assert np.bincount(first_half, minlength=4) == pytest.approx([125] * 4, abs=40)
