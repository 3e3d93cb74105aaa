"""Targets that replace labels nobody trusts (paper, Section 3.3, Eq. 9), and the ensemble they are compared with."""

from torch import Tensor


def bootstrap_targets(one_hot: Tensor, clean: Tensor, predictions: Tensor) -> Tensor:
    """Eq. 9: t = w y + (1 - w) sg(g(x)), (B, K), from labels (B, K), w (B,) and predictions (B, K).

    The gradient through the predictions is stopped: otherwise a constant prediction would be optimal.
    """
    weight = clean[:, None]
    return weight * one_hot + (1 - weight) * predictions.detach()


def temporal_ensemble(ensemble: Tensor, predictions: Tensor, momentum: float) -> Tensor:
    """ELR's T <- beta T + (1 - beta) p, (B, K), from T so far and predictions; T is zero before the first.

    After n updates a row of T sums to 1 - beta^n: what stands for a prediction is T divided by that sum.
    """
    return momentum * ensemble + (1 - momentum) * predictions.detach()
