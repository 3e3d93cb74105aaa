"""Targets that replace labels nobody trusts (paper, Section 3.3, Eq. 9)."""

from torch import Tensor


def bootstrap_targets(one_hot: Tensor, clean: Tensor, predictions: Tensor) -> Tensor:
    """Eq. 9: t = w y + (1 - w) sg(g(x)), (B, K), from labels (B, K), w (B,) and predictions (B, K).

    The gradient through the predictions is stopped: otherwise a constant prediction would be optimal.
    """
    weight = clean[:, None]
    return weight * one_hot + (1 - weight) * predictions.detach()
