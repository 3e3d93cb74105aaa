"""Mixup (paper, Section 3.4, Eq. 14): draw who is mixed with whom first, then mix images and targets alike."""

from typing import NamedTuple

import torch
from torch import Tensor


class Mix(NamedTuple):
    """Row i is mixed with row `partner[i]`, keeping the share `share[i]` of itself."""

    partner: Tensor  # (M,) permutation
    share: Tensor  # (M,) in [0, 1]

    def of(self, rows: Tensor) -> "Mix":
        """The plan of some of the rows, given by number; their partners may be any."""
        return Mix(self.partner[rows], self.share[rows])


def draw_mix(
    count: int,
    generator: torch.Generator,
    *,
    alpha: float = 1.0,
    per_sample: bool = False,
    dominant: bool = True,
) -> Mix:
    """Draw partners and shares, lambda ~ Beta(alpha, alpha), for `count` rows on the generator's device.

    `per_sample` draws one lambda a row instead of one a batch; `dominant` takes max(lambda, 1 - lambda), so that
    a row is always mostly itself.
    """
    draws = count if per_sample else 1
    gammas = torch._standard_gamma(
        torch.full((2, draws), alpha, device=generator.device), generator=generator
    )  # Beta(a, a) = X / (X + Y) for X, Y ~ Gamma(a)
    share = gammas[0] / gammas.sum(0).clamp_min(1e-30)
    if dominant:
        share = torch.maximum(share, 1 - share)
    partner = torch.randperm(count, generator=generator, device=generator.device)
    return Mix(partner, share.expand(count))


def mix(rows: Tensor, plan: Mix, partners: Tensor | None = None) -> Tensor:
    """Eq. 14: lambda x_i + (1 - lambda) x_j for rows (M, ...), images or targets; x_j among `partners`, else `rows`."""
    share = plan.share.view(-1, *[1] * (rows.dim() - 1)).to(rows)
    return share * rows + (1 - share) * (rows if partners is None else partners)[plan.partner]
