import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twincl.core.spread import evenly_ranked, evenly_spaced


@given(st.integers(1, 10_000), st.integers(2, 10_000))
def test_places_are_distinct_even_and_reach_both_ends(count, most):
    places = evenly_spaced(count, most)
    assert len(places) == min(count, most)
    assert places[0] == 0
    assert places[-1] == count - 1
    gaps = np.diff(places)
    assert (gaps >= 1).all()
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


@given(st.lists(st.integers(0, 4), min_size=1, max_size=300), st.integers(1, 300))
def test_every_label_has_its_share(labels, most):
    labels = np.array(labels)
    places = evenly_ranked(labels, most)
    assert len(set(places.tolist())) == len(places) == min(len(labels), most)
    assert (np.diff(labels[places]) >= 0).all()
    if most > 1:
        share = np.bincount(labels) * len(places) / len(labels)
        assert (np.abs(np.bincount(labels[places], minlength=len(share)) - share) <= 2).all()


def test_labels_that_take_turns_are_all_there():
    assert np.bincount(np.arange(20_000)[evenly_ranked(np.arange(20_000) % 2, 10_000)] % 2).tolist() == [5000, 5000]


def test_all_few_and_one():
    assert evenly_spaced(4, 9).tolist() == [0, 1, 2, 3]
    assert evenly_spaced(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly_spaced(10, 1).tolist() == [0]
