import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from twincl.core.spread import evenly_spaced


@given(st.integers(1, 10_000), st.integers(2, 10_000))
def test_places_are_distinct_even_and_reach_both_ends(count, most):
    places = evenly_spaced(count, most)
    assert len(places) == min(count, most)
    assert places[0] == 0
    assert places[-1] == count - 1
    gaps = np.diff(places)
    assert (gaps >= 1).all()
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


def test_all_few_and_one():
    assert evenly_spaced(4, 9).tolist() == [0, 1, 2, 3]
    assert evenly_spaced(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly_spaced(10, 1).tolist() == [0]
