"""The three faces of a feature vector: plain, weak (a little noise) and strong (more noise, features left out).

Features arrive as float32 (B,D) and leave standardised, in units of each feature's deviation over the training set.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from twincl.augment.constants import Constants
from twincl.errors import InputError
from twincl.ranks import ALONE, Ranks

_RESOLUTION = 1e-6  # a deviation below this share of the mean is rounding: the feature is constant
_SMALLEST = 1e-30  # likewise below this: its reciprocal would overflow


@dataclass(frozen=True)
class FeaturePolicy:
    """How strong the views are; noise is normal, its deviation given in deviations of the feature."""

    noise: float  # of the strong view
    dropout: float  # probability per feature of the strong view to be left out
    weak_noise: float


FEATURES = FeaturePolicy(noise=0.6, dropout=0.3, weak_noise=0.1)


class FeatureViews:
    """Makes views of batches under one policy and one mean and deviation per feature.

    A feature that is constant over the training set says nothing: it is zero in every view.
    """

    def __init__(self, policy: FeaturePolicy, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        if len(mean) != len(std) or min(std, default=0) < 0:
            raise InputError("mean and std must have one value per feature, and std not be negative.")
        self.policy = policy
        self.mean, self.std = torch.tensor(mean), torch.tensor(std)
        self.varies = self.std > _RESOLUTION * self.mean.abs() + _SMALLEST  # (D,) bool
        self.scale = torch.where(self.varies, 1 / self.std, 0)
        self._constants = Constants(self.mean, self.scale, self.varies.float())

    @torch.no_grad()
    def plain(self, features: Tensor) -> Tensor:
        """(x - mean) / std, zero where a feature is constant."""
        if features.shape[1] != len(self.mean):
            raise InputError(f"mean and std have {len(self.mean)} values but there are {features.shape[1]} features.")
        mean, scale, _ = self._constants.on(features.device)
        return (features - mean).mul_(scale)

    @torch.no_grad()
    def weak(self, features: Tensor, generator: torch.Generator, ranks: Ranks = ALONE) -> Tensor:
        """The features with a little noise."""
        return self._noisy(features, self.policy.weak_noise, generator, ranks)

    @torch.no_grad()
    def strong(self, features: Tensor, generator: torch.Generator, ranks: Ranks = ALONE) -> Tensor:
        """The features with noise; some are left out, which is to say replaced by their mean, not rescaled."""
        noisy = self._noisy(features, self.policy.noise, generator, ranks)
        chance = _draw(torch.rand, features, generator, ranks)
        return noisy.masked_fill_(chance < self.policy.dropout, 0)

    def _noisy(self, features: Tensor, deviation: float, generator: torch.Generator, ranks: Ranks) -> Tensor:
        noise = _draw(torch.randn, features, generator, ranks)
        _, _, varies = self._constants.on(features.device)
        return self.plain(features).addcmul_(noise, deviation * varies)


def _draw(draw: Callable[..., Tensor], features: Tensor, generator: torch.Generator, ranks: Ranks) -> Tensor:
    """A number for each of `features`, this rank's rows of a batch, drawn for the whole batch."""
    count = len(features) * ranks.world
    drawn = draw(count, features.shape[1], generator=generator, device=generator.device)
    return drawn[ranks.rows(count)].to(features.device)
