import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twincl.data.classes import encode_labels
from twincl.errors import InputError


def objects(*items):
    return np.array(items, dtype=object)


def test_numbers_sort_as_numbers():
    (encoded, nothing), classes = encode_labels(objects("10", "9", "2"), None, classes=None)
    assert classes == ("2", "9", "10")
    assert encoded.tolist() == [2, 1, 0]
    assert encoded.dtype == np.int64
    assert nothing is None


def test_one_list_for_all_arrays():
    (train, test), classes = encode_labels(objects("b", "a"), objects("c", "a"), classes=None)
    assert classes == ("a", "b", "c")
    assert (train.tolist(), test.tolist()) == ([1, 0], [2, 0])


def test_numbers_and_their_text_are_one_class():
    (train, truth, real), classes = encode_labels(objects("3", "7"), np.array([7, 3]), np.array([3.0]), classes=None)
    assert classes == ("3", "7")
    assert (train.tolist(), truth.tolist(), real.tolist()) == ([0, 1], [1, 0], [0])


def test_numbers_beside_names_index_them():
    (train, truth), classes = encode_labels(objects("dog", "cat"), np.array([0, 1]), classes=None)
    assert classes == ("cat", "dog")
    assert (train.tolist(), truth.tolist()) == ([1, 0], [0, 1])
    with pytest.raises(InputError, match=r"outside 0\.\.1"):
        encode_labels(objects("dog", "cat"), np.array([0, 2]), classes=None)


def test_given_classes():
    names = ("cat", "dog", "cow")
    (by_number, by_text, by_name), classes = encode_labels(
        np.array([2, 0]), objects("2", "1"), objects("cow", "cat"), classes=names
    )
    assert classes == names
    assert (by_number.tolist(), by_text.tolist(), by_name.tolist()) == ([2, 0], [2, 1], [2, 0])
    with pytest.raises(InputError, match=r"-1, 3 .*outside 0\.\.2"):
        encode_labels(np.array([3, -1, 0]), classes=names)
    with pytest.raises(InputError, match="horse"):
        encode_labels(objects("cat", "horse"), classes=names)


def test_names_that_are_numbers_come_before_indices():
    (encoded,), _ = encode_labels(objects("20", "10"), classes=("10", "20"))
    assert encoded.tolist() == [1, 0]


@pytest.mark.parametrize("missing", ["", None, float("nan")])
def test_missing_labels(missing):
    with pytest.raises(InputError, match="missing"):
        encode_labels(objects("a", missing), classes=None)


LABELS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=3).filter(lambda t: t != "nan"))


@settings(max_examples=60, deadline=None)
@given(train=LABELS, test=LABELS, prefix=st.sampled_from(["", "c "]))
def test_round_trip_of_names(train, test, prefix):
    train, test = ([prefix + label for label in labels] + ["a name"] for labels in (train, test))
    encoded, classes = encode_labels(objects(*train), objects(*test), classes=None)
    assert sorted(set(train) | set(test)) == list(classes)
    for labels, numbers in zip((train, test), encoded, strict=True):
        assert [classes[number] for number in numbers] == labels
    again, same = encode_labels(objects(*train), classes=classes)
    assert same == classes
    assert np.array_equal(again[0], encoded[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_round_trip_of_numbers(numbers):
    (encoded,), classes = encode_labels(np.array(numbers), classes=None)
    assert [int(name) for name in classes] == sorted(set(numbers))
    assert [int(classes[number]) for number in encoded] == numbers


def test_integers_number_the_given_classes_whatever_their_names():
    (some,), _ = encode_labels(np.array([1, 2]), classes=("1", "2", "3"))
    assert some.tolist() == [1, 2]


def test_labels_of_which_some_are_names_and_some_are_not_are_refused():
    with pytest.raises(InputError, match="the labels 0 are not among the 4 classes"):
        encode_labels(objects("1", "2", "3", "unknown"), objects("0", "1"), classes=None)
