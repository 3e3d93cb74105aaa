"""Numbers about a run. True labels enter here and in no other computation."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from twincl.core.neighbors import knn_votes
from twincl.methods.method import Snapshot, Verdict
from twincl.results.issues import corrected_labels, is_issue

Labels = NDArray[np.int64]


def accuracy(probabilities: torch.Tensor, labels: Labels) -> float:
    """Share of rows (N, K) whose highest column is the label."""
    return float((probabilities.argmax(1).cpu().numpy() == labels).mean())


def knn_accuracy(train: Snapshot, train_labels: Labels, test: Snapshot, test_labels: Labels, *, k: int = 200) -> float:
    """Test accuracy of the vote of the k nearest training representations (paper, appendix A).

    The paper gives the neighbours their true labels; so does the caller where truth is known.
    """
    device = train.embeddings.device
    neighbours = torch.from_numpy(train_labels).to(device)
    votes = knn_votes(test.embeddings, train.embeddings, neighbours, train.probabilities.shape[1], k=k)
    return accuracy(votes, test_labels)


def noise_rate_estimate(verdict: Verdict, given: Labels) -> float:
    """Estimated share of wrong labels: those that the issue table calls issues."""
    return float(is_issue(verdict, given).mean())


def detection(verdict: Verdict, given: Labels, truth: Labels) -> dict[str, float | None]:
    """How well the verdict finds the labels that are really wrong.

    AUROC and average precision (of wrong labels) of the ranking, AUROC of the clean probability, share of wrong
    labels and accuracy of the labels after correction. Ranks are undefined (None) when all labels are right or all
    are wrong.
    """
    wrong = given != truth
    quality, clean = verdict.label_quality.numpy(), verdict.clean_probability.numpy()
    mixed = wrong.any() and not wrong.all()
    return {
        "noise_rate_actual": float(wrong.mean()),
        "detection_auroc": float(roc_auc_score(wrong, -quality)) if mixed else None,
        "detection_auroc_w": float(roc_auc_score(wrong, -clean)) if mixed else None,
        "detection_average_precision": float(average_precision_score(wrong, -quality)) if mixed else None,
        "corrected_label_accuracy": float((corrected_labels(verdict, given) == truth).mean()),
    }


def last_epochs(history: list[dict[str, Any]], key: str, count: int = 5) -> tuple[float | None, float | None]:
    """Mean and standard deviation of a metric over the last epochs; the best would peek at the test set."""
    values = [record[key] for record in history[-count:] if record.get(key) is not None]
    return (float(np.mean(values)), float(np.std(values))) if values else (None, None)
