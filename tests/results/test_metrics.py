import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from twincl.methods.method import Snapshot, Verdict
from twincl.results.issues import corrected_labels
from twincl.results.metrics import accuracy, detection, knn_accuracy, last_epochs, noise_rate_estimate


def verdict_of(rng: np.random.Generator, count: int, classes: int) -> Verdict:
    said = torch.from_numpy(rng.dirichlet(np.ones(classes), count))
    return Verdict(torch.from_numpy(rng.random(count)), torch.from_numpy(rng.random(count)), said)


@given(count=st.integers(2, 60), classes=st.integers(2, 6), seed=st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_detection_agrees_with_scikit_learn(count, classes, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=count)
    labels = np.where(rng.random(count) < 0.5, rng.integers(classes, size=count), truth)
    verdict = verdict_of(rng, count, classes)
    found = detection(verdict, labels, truth)
    wrong = labels != truth
    assert found["noise_rate_actual"] == pytest.approx(1 - accuracy_score(truth, labels))
    assert found["corrected_label_accuracy"] == pytest.approx(accuracy_score(truth, corrected_labels(verdict, labels)))
    if len(set(wrong)) == 2:
        quality, clean = verdict.label_quality.numpy(), verdict.clean_probability.numpy()
        assert found["detection_auroc"] == pytest.approx(roc_auc_score(~wrong, quality))
        assert found["detection_auroc_w"] == pytest.approx(roc_auc_score(~wrong, clean))
        assert found["detection_average_precision"] == pytest.approx(average_precision_score(wrong, 1 - quality))
    said = verdict.class_probabilities
    assert accuracy(said, truth) == pytest.approx(accuracy_score(truth, said.numpy().argmax(1)))


@pytest.mark.parametrize("shift", [0, 1])
def test_ranks_are_unknown_where_all_labels_are_right_or_all_wrong(shift):
    truth = np.arange(6) % 3
    verdict = Verdict(torch.ones(6), torch.ones(6), torch.eye(3)[torch.arange(6) % 3])
    assert detection(verdict, (truth + shift) % 3, truth) == {
        "noise_rate_actual": float(shift),
        "detection_auroc": None,
        "detection_auroc_w": None,
        "detection_average_precision": None,
        "corrected_label_accuracy": float(1 - shift),
    }


def test_perfect_detection_in_closed_form():
    truth, labels = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])
    quality = torch.tensor([0.9, 0.1, 0.8, 0.2])
    found = detection(Verdict(quality, quality, torch.eye(2)[truth]), labels, truth)
    assert found == {
        "noise_rate_actual": 0.5,
        "detection_auroc": 1.0,
        "detection_auroc_w": 1.0,
        "detection_average_precision": 1.0,
        "corrected_label_accuracy": 1.0,
    }
    assert noise_rate_estimate(Verdict(quality, quality, torch.eye(2)[truth]), labels) == 0.5


def test_clean_at_exactly_one_half_is_not_counted_as_wrong():
    half = torch.tensor([0.5, 0.4999])
    verdict = Verdict(half, half, torch.eye(2))
    assert noise_rate_estimate(verdict, np.array([1, 0])) == 0.5
    assert noise_rate_estimate(verdict, np.array([0, 1])) == 0, "a label that the classifier agrees with is no issue"


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
