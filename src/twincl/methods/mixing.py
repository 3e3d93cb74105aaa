"""Mixup of a batch that several ranks share: the plan is for all rows, each rank mixes its own."""

import torch
from torch import Tensor

from twincl.core.mixup import Mix, draw_mix, mix
from twincl.methods.method import Parts


def mix_own_rows(
    pool: Tensor,
    parts: Parts,
    *,
    views: int,
    alpha: float,
    per_sample: bool,
    dominant: bool,
) -> tuple[Mix, Tensor]:
    """Eq. 14 on this rank's rows of so many views (views * b, ...): the plan for the rows of all ranks, own rows mixed.

    Partners may be rows of any rank and view. The other options are those of `core.mixup.draw_mix`.
    """
    ranks = parts.ranks
    count = len(pool) * ranks.world
    plan = draw_mix(count, parts.generator, alpha=alpha, per_sample=per_sample, dominant=dominant)
    everything = torch.arange(count, device=plan.partner.device).view(views, -1)
    own = everything[:, ranks.rows(everything.shape[1])].flatten()
    return plan, mix(pool, plan.of(own), ranks.gather_views(pool, views))
