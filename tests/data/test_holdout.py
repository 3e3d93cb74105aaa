import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twincl.data.holdout import hold_out
from twincl.errors import InputError


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    share=st.floats(0, 0.99),
    seed=st.integers(0, 2**32),
)
def test_division(counts, share, seed):
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(counts)), counts))
    train, test = hold_out(labels, share, seed)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(labels)))
    assert np.array_equal(train, np.sort(train))
    assert np.array_equal(test, np.sort(test))
    kept = np.bincount(labels[train], minlength=len(counts))
    assert all(left >= (2 if count >= 3 else 1) for left, count in zip(kept, counts, strict=True))
    held = np.bincount(labels[test], minlength=len(counts))
    assert all(abs(taken - share * count) < 2 + 1e-6 for taken, count in zip(held, counts, strict=True))
    assert len(test) <= round(share * len(labels))
    again = hold_out(labels, share, seed)
    assert np.array_equal(again[1], test)


def test_exact_share_and_seeds():
    labels = np.repeat(np.arange(10), 100)
    train, test = hold_out(labels, 0.2, 0)
    assert np.bincount(labels[test]).tolist() == [20] * 10
    assert len(train) == 800
    assert not np.array_equal(test, hold_out(labels, 0.2, 1)[1])


def test_rounding_by_largest_remainder():
    labels = np.repeat(np.arange(4), [15, 15, 15, 15])
    assert len(hold_out(labels, 0.1, 0)[1]) == 6


def test_nothing_held_out():
    train, test = hold_out(np.array(["a", "b", "a"]), 0.0, 0)
    assert train.tolist() == [0, 1, 2]
    assert test.tolist() == []


@pytest.mark.parametrize("share", [-0.1, 1.0, 20, float("nan")])
def test_impossible_shares(share):
    with pytest.raises(InputError, match="share"):
        hold_out(np.zeros(4), share, 0)
