import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from twincl.report.classes import most_confused, noise_by_class, top_confusions, transitions

pairs = st.integers(1, 6).flatmap(
    lambda k: st.tuples(
        st.just(k), st.lists(st.tuples(st.integers(0, k - 1), st.integers(0, k - 1)), min_size=1, max_size=40)
    )
)


@given(pairs)
@settings(max_examples=50, deadline=None)
def test_counts_match_loops(case):
    k, labels = case
    was, should = (np.array(column) for column in zip(*labels, strict=True))
    classes = tuple("abcdef"[:k])
    matrix = transitions(was, should, k)
    assert matrix.tolist() == [[sum(pair == (i, j) for pair in labels) for j in range(k)] for i in range(k)]

    found = noise_by_class(was, was != should, classes)
    for one in found:
        of_class = [pair for pair in labels if classes[pair[0]] == one.name]
        assert one.images == len(of_class) > 0
        assert one.flagged == sum(i != j for i, j in of_class)
    assert sum(one.images for one in found) == len(labels)
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)

    confusions = top_confusions(matrix, classes, k * k)
    assert sum(one.images for one in confusions) == sum(i != j for i, j in labels)
    assert all(one.given != one.suggested for one in confusions)
    assert [one.images for one in confusions] == sorted((one.images for one in confusions), reverse=True)


def test_confusions_tell_their_share_of_the_given_class():
    matrix = np.array([[6, 2, 0], [0, 4, 1], [0, 0, 3]])
    first, second = top_confusions(matrix, ("a", "b", "c"), 5)
    assert (first.given, first.suggested, first.images, first.share) == ("a", "b", 2, 0.25)
    assert (second.given, second.suggested, second.share) == ("b", "c", 0.2)
    assert len(top_confusions(matrix, ("a", "b", "c"), 1)) == 1


def test_the_most_confused_classes_stay_in_their_order():
    matrix = np.array([[9, 0, 0, 1], [0, 9, 0, 0], [0, 0, 9, 0], [5, 0, 0, 9]])
    assert most_confused(matrix, 2).tolist() == [0, 3]
    assert most_confused(matrix, 10).tolist() == [0, 1, 2, 3]
