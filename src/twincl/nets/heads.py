"""The two heads on an encoder's features h of width d.

Both are perceptrons with one hidden layer of width d. The authors' code ends each with BatchNorm, which the
paper does not mention; `head_bn` switches that last one. On the logits it bounds their scale and balances the
classes, so it is more than a detail.
"""

import torch.nn.functional as F
from torch import Tensor, nn


class Projector(nn.Module):
    """Embedding head f: (B,d) -> (B,feat_dim) of unit length, float32 whatever the autocast."""

    def __init__(self, dim: int, feat_dim: int, *, head_bn: bool = True) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(dim, dim), nn.BatchNorm1d(dim), nn.ReLU(inplace=True), nn.Linear(dim, feat_dim)
        )
        if head_bn:
            self.layers.append(nn.BatchNorm1d(feat_dim))

    def forward(self, features: Tensor) -> Tensor:
        """A zero vector stays zero instead of becoming NaN."""
        return F.normalize(self.layers(features).float(), dim=1, eps=1e-8)


class Classifier(nn.Module):
    """Classification head g: (B,d) -> logits (B,K), float32 whatever the autocast."""

    def __init__(self, dim: int, num_classes: int, *, head_bn: bool = True, dropout: float = 0.25) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(dim, dim),
            nn.BatchNorm1d(dim),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(dim, num_classes),
        )
        if head_bn:
            self.layers.append(nn.BatchNorm1d(num_classes))

    def forward(self, features: Tensor) -> Tensor:
        """Logits, not probabilities."""
        logits: Tensor = self.layers(features)
        return logits.float()
