"""What is suspicious is said, and nothing else."""

import numpy as np
import pytest

from twincl.results.health import symptoms

CLASSES = ("cat", "dog")
GIVEN = np.arange(100) % 2
BOTH = np.where(GIVEN == 1, 0.9, 0.1)


def test_too_few_labels_to_judge():
    found = symptoms(GIVEN[:9], GIVEN[:9], BOTH[:9], CLASSES)
    assert found["too_few"] == "9 labels are too few to judge, at least 10 are needed: all are taken for right"
    assert "too_few" not in symptoms(GIVEN[:10], GIVEN[:10], BOTH[:10], CLASSES)


def test_nothing_to_say():
    assert symptoms(GIVEN, GIVEN, BOTH, CLASSES) == {}


@pytest.mark.parametrize(("dogs", "told"), [(100, True), (96, True), (95, False), (50, False)])
def test_collapse(dogs, told):
    found = symptoms((np.arange(100) < dogs).astype(int), GIVEN, BOTH, CLASSES)
    assert ("collapsed" in found) == told
    if told:
        assert found["collapsed"].startswith(f"{dogs}% of the training data are predicted to be 'dog'")


def test_a_class_that_most_labels_have_may_be_predicted_so_often():
    mostly = (np.arange(100) < 97).astype(int)
    assert symptoms(mostly, mostly, BOTH, CLASSES) == {}


def test_nothing_is_clean_or_everything():
    assert list(symptoms(GIVEN, GIVEN, np.full(100, 0.4), CLASSES)) == ["nothing_clean"]
    assert list(symptoms(GIVEN, GIVEN, np.ones(100), CLASSES)) == ["one_mode"]


def test_of_a_sample_only_the_classes_in_it_count():
    classes = tuple(f"class {number}" for number in range(1000))
    given = np.arange(512)
    assert symptoms(given, given, np.full(512, 0.9), classes) == {}
    assert list(symptoms(given, given, np.full(512, 0.4), classes)) == ["nothing_clean"]
