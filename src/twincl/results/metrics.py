"""Numbers about a run. True labels enter here, and above in `runs`, but nothing that learns or judges."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from twincl.core.neighbors import knn_votes
from twincl.methods.method import Snapshot
from twincl.results.judgement import Judgement

Labels = NDArray[np.int64]

FEW_CLASSES = 10  # up to so many, being right among five says little


def accuracy(probabilities: torch.Tensor, labels: Labels) -> float:
    """Share of rows (N, K) whose highest column is the label."""
    return float((probabilities.argmax(1).cpu().numpy() == labels).mean())


def top_accuracy(probabilities: torch.Tensor, labels: Labels, k: int) -> float:
    """Share of rows (N, K) whose label is among their k highest columns."""
    highest = probabilities.topk(min(k, probabilities.shape[1]), dim=1).indices.cpu().numpy()
    return float((highest == labels[:, None]).any(1).mean())


def knn_accuracy(train: Snapshot, train_labels: Labels, test: Snapshot, test_labels: Labels, *, k: int = 200) -> float:
    """Test accuracy of the vote of the k nearest training representations (paper, appendix A).

    The paper gives the neighbours their true labels; so does the caller where truth is known.
    """
    device = train.embeddings.device
    neighbours = torch.from_numpy(train_labels).to(device)
    votes = knn_votes(test.embeddings, train.embeddings, neighbours, train.probabilities.shape[1], k=k)
    return accuracy(votes, test_labels)


def detection(judgement: Judgement, truth: Labels) -> dict[str, float | None]:
    """How well the judgement finds the labels that are really wrong.

    AUROC and average precision (of wrong labels) of the ranking; precision and recall of what is called an issue;
    accuracy of the labels after taking every suggestion; expected calibration error of the suggestions' confidence.
    Ranks are undefined (None) when all labels are right or all are wrong, precision without issues, recall without
    wrong labels.
    """
    wrong = judgement.given != truth
    issue, right = judgement.is_issue, judgement.suggested == truth
    found = float((wrong & issue).sum())
    return {
        "noise_rate_actual": float(wrong.mean()),
        "detection_auroc": auroc(judgement.label_quality, wrong),
        "detection_average_precision": average_precision(judgement.label_quality, wrong),
        "issue_precision": found / float(issue.sum()) if issue.any() else None,
        "issue_recall": found / float(wrong.sum()) if wrong.any() else None,
        "corrected_label_accuracy": float(right.mean()),
        "suggestion_calibration_error": calibration_error(judgement.confidence, right),
    }


def auroc(quality: NDArray[np.floating], wrong: NDArray[np.bool_]) -> float | None:
    """Probability that a wrong label has a lower quality than a right one; None where one kind is missing."""
    return float(roc_auc_score(wrong, -quality)) if wrong.any() and not wrong.all() else None


def average_precision(quality: NDArray[np.floating], wrong: NDArray[np.bool_]) -> float | None:
    """Mean precision over the ranking of wrong labels; None where one kind is missing."""
    return float(average_precision_score(wrong, -quality)) if wrong.any() and not wrong.all() else None


def calibration_error(confidence: NDArray[np.floating], right: NDArray[np.bool_], bins: int = 15) -> float:
    """Expected calibration error: |mean confidence - share right| in bins of equal width, averaged by their size."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    sizes = np.bincount(place, minlength=bins)
    gap = np.bincount(place, confidence - right, minlength=bins)
    return float(np.abs(gap).sum() / max(1, sizes.sum()))


def last_epochs(history: list[dict[str, Any]], key: str, count: int = 5) -> tuple[float | None, float | None]:
    """Mean and standard deviation of a metric over the last epochs; the best would peek at the test set."""
    values = [record[key] for record in history[-count:] if record.get(key) is not None]
    return (float(np.mean(values)), float(np.std(values))) if values else (None, None)


def imbalance_ratio(labels: Labels, mask: NDArray[np.bool_] | None = None) -> float:
    """Size of the largest class over the smallest (paper, appendix B), among all labels (N,) or those in `mask`.

    Every class that any label has counts; infinite where one of them has no label in `mask`.
    """
    classes = np.unique(labels)
    sizes = np.bincount(labels if mask is None else labels[mask], minlength=int(classes.max()) + 1)[classes]
    return float(sizes.max() / sizes.min()) if sizes.min() else float("inf")
