import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, precision_score, recall_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from twincl.methods.method import Snapshot
from twincl.results.judgement import Judgement
from twincl.results.metrics import (
    accuracy,
    calibration_error,
    detection,
    imbalance_ratio,
    knn_accuracy,
    last_epochs,
    top_accuracy,
)


def judgement_of(rng: np.random.Generator, given: np.ndarray, classes: int) -> Judgement:
    count = len(given)
    quality, clean, confidence = rng.random((3, count)).astype(np.float32)
    suggested = np.where(rng.random(count) < 0.5, given, rng.integers(classes, size=count))
    return Judgement(given, quality, clean, suggested, confidence, np.zeros((classes, classes)))


@given(count=st.integers(2, 60), classes=st.integers(2, 6), seed=st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_detection_agrees_with_scikit_learn(count, classes, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=count)
    labels = np.where(rng.random(count) < 0.5, rng.integers(classes, size=count), truth)
    judgement = judgement_of(rng, labels, classes)
    found = detection(judgement, truth)
    wrong, issue = labels != truth, judgement.suggested != labels
    assert found["noise_rate_actual"] == pytest.approx(1 - accuracy_score(truth, labels))
    assert found["corrected_label_accuracy"] == pytest.approx(accuracy_score(truth, judgement.suggested))
    if len(set(wrong)) == 2:
        quality = judgement.label_quality
        assert found["detection_auroc"] == pytest.approx(roc_auc_score(~wrong, quality))
        assert found["detection_average_precision"] == pytest.approx(average_precision_score(wrong, 1 - quality))
    if issue.any():
        assert found["issue_precision"] == pytest.approx(precision_score(wrong, issue))
    if wrong.any():
        assert found["issue_recall"] == pytest.approx(recall_score(wrong, issue))
    said = torch.from_numpy(rng.dirichlet(np.ones(classes), count))
    assert accuracy(said, truth) == pytest.approx(accuracy_score(truth, said.numpy().argmax(1)))


@pytest.mark.parametrize("shift", [0, 1])
def test_what_is_unknown_where_all_labels_are_right_or_all_wrong(shift):
    truth = np.arange(6) % 3
    ones = np.ones(6, np.float32)
    found = detection(Judgement((truth + shift) % 3, ones, ones, truth, ones, np.eye(3)), truth)
    assert found == {
        "noise_rate_actual": float(shift),
        "detection_auroc": None,
        "detection_average_precision": None,
        "issue_precision": 1.0 if shift else None,
        "issue_recall": 1.0 if shift else None,
        "corrected_label_accuracy": 1.0,
        "suggestion_calibration_error": 0.0,
    }


def test_perfect_detection_in_closed_form():
    truth, labels = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])
    quality = np.array([0.9, 0.1, 0.8, 0.2], np.float32)
    found = detection(Judgement(labels, quality, quality, truth, np.ones(4, np.float32), np.eye(2)), truth)
    assert found == {
        "noise_rate_actual": 0.5,
        "detection_auroc": 1.0,
        "detection_average_precision": 1.0,
        "issue_precision": 1.0,
        "issue_recall": 1.0,
        "corrected_label_accuracy": 1.0,
        "suggestion_calibration_error": 0.0,
    }


def test_calibration_error_by_hand():
    confidence = np.array([0.51, 0.51, 0.95, 0.95, 1.0])
    right = np.array([True, False, True, True, False])
    # bins of 1/15: {0.51, 0.51}, {0.95, 0.95, 1.0}
    expected = (2 * abs(0.51 - 0.5) + 3 * abs(2.9 / 3 - 2 / 3)) / 5
    assert calibration_error(confidence, right) == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 5, 200])
def test_nearest_neighbours_agree_with_scikit_learn(k):
    generator = torch.Generator().manual_seed(0)
    train, test = (torch.nn.functional.normalize(torch.randn(n, 4, generator=generator), dim=1) for n in (40, 25))
    labels, test_labels = np.arange(40) % 3, np.arange(25) % 3
    ours = knn_accuracy(Snapshot(train, torch.ones(40, 3)), labels, Snapshot(test, torch.ones(25, 3)), test_labels, k=k)
    theirs = KNeighborsClassifier(min(k, 40), metric="cosine", weights=lambda distance: np.exp((1 - distance) / 0.1))
    assert ours == pytest.approx(theirs.fit(train.numpy(), labels).score(test.numpy(), test_labels))


def test_last_five_epochs():
    history = [{"test_accuracy": value} for value in (0.99, 0.1, 0.2, 0.3, 0.4, 0.5)]
    mean, deviation = last_epochs(history, "test_accuracy")
    assert mean == pytest.approx(0.3)
    assert deviation == pytest.approx(np.std([0.1, 0.2, 0.3, 0.4, 0.5]))
    assert last_epochs(history[:1], "test_accuracy") == (0.99, 0.0)
    assert last_epochs([{"loss": 1}, {"test_accuracy": None}], "test_accuracy") == (None, None)


@given(classes=st.integers(1, 12), k=st.integers(1, 6), seed=st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_top_accuracy_counts_labels_with_fewer_than_k_above_them(classes, k, seed):
    rng = np.random.default_rng(seed)
    said, labels = rng.dirichlet(np.ones(classes), 30), rng.integers(classes, size=30)
    above = (said > said[np.arange(30), labels][:, None]).sum(1)
    assert top_accuracy(torch.from_numpy(said), labels, k) == pytest.approx((above < k).mean())
    assert top_accuracy(torch.from_numpy(said), labels, 1) == accuracy(torch.from_numpy(said), labels)


def test_imbalance_is_the_largest_class_over_the_smallest():
    labels = np.array([0, 0, 0, 0, 2, 2, 5])
    assert imbalance_ratio(labels) == 4  # classes 1, 3 and 4 do not exist here
    assert imbalance_ratio(labels, np.array([1, 1, 0, 0, 1, 0, 1], dtype=bool)) == 2
    assert imbalance_ratio(labels, labels != 5) == np.inf
    assert imbalance_ratio(np.arange(3)) == 1


def test_imbalance_of_asymmetric_noise_is_that_of_the_paper():
    from twincl.data.noise import add_noise

    labels = add_noise(np.arange(50_000) % 10, kind="asymmetric", rate=0.4, num_classes=10, seed=0)
    assert imbalance_ratio(labels) == pytest.approx(2.40, abs=0.1)
