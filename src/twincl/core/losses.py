"""The loss terms of the paper (Eqs. 10, 11, 13 and 15); each a scalar, mean over the batch.

B samples, K classes, D dimensions. Predictions enter as logits: every logarithm is a log-softmax.
"""

import torch
from torch import Tensor
from torch.nn import functional as F


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The paper's l: -sum_k t_k log softmax(logits)_k for soft targets (B, K)."""
    return -(targets * F.log_softmax(logits, dim=1)).sum(1).mean()


def cross_supervision(logits1: Tensor, logits2: Tensor, targets1: Tensor, targets2: Tensor) -> Tensor:
    """Eq. 10: each view learns from the target of the other, l(g(x1), t2) + l(g(x2), t1)."""
    return cross_entropy(logits1, targets2) + cross_entropy(logits2, targets1)


def negative_marginal_entropy(logits: Tensor) -> Tensor:
    """Eq. 11, first term: -H(mean_B g); lowest, -log K, when all classes are predicted equally often."""
    marginal = torch.softmax(logits, dim=1).mean(0)
    return (marginal * marginal.clamp_min(1e-8).log()).sum()


def mean_entropy(logits: Tensor) -> Tensor:
    """Eq. 11, second term: mean_B H(g); lowest, zero, when every prediction is certain."""
    log_probabilities = F.log_softmax(logits, dim=1)
    return -(log_probabilities.exp() * log_probabilities).sum(1).mean()


def info_nce(anchors: Tensor, positives: Tensor, temperature: float) -> Tensor:
    """Eq. 13 from both sides: every one of the 2B views picks its twin among the 2B - 1 others.

    `anchors` and `positives` are (B, D) with unit rows; row i of one is the twin of row i of the other.
    """
    views = torch.cat([anchors, positives])
    similarity = views @ views.T / temperature
    similarity.fill_diagonal_(float("-inf"))  # a view is not its own negative
    twin = torch.arange(len(views), device=views.device).roll(len(anchors))
    return F.cross_entropy(similarity, twin)


def info_nce_queue(queries: Tensor, keys: Tensor, queue: Tensor, temperature: float) -> Tensor:
    """Eq. 13 as in MoCo: every query picks its own key among that and the keys of earlier batches.

    `queries` and `keys` are (B, D), row i of one belongs to row i of the other; `queue` is (Q, D), Q may be zero. All
    have unit rows; keys and queue are constants.
    """
    own = (queries * keys.detach()).sum(1, keepdim=True)
    similarity = torch.cat([own, queries @ queue.detach().T], dim=1) / temperature
    return F.cross_entropy(similarity, similarity.new_zeros(len(queries), dtype=torch.long))


def alignment(class_logits: Tensor, mixture_logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Eq. 15: classifier and mixture both predict the mixed target; the two terms of the sum, apart.

    `mixture_logits` are those of `core.mixture` with the class means held fixed.
    """
    return cross_entropy(class_logits, targets), cross_entropy(mixture_logits, targets)
