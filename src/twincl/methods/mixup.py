"""Mixup training on the given labels (Zhang and others, ICLR 2018): the plainest way to learn less from a wrong one.

With `bootstrap` a part of the target is the network's own choice (Arazo and others, ICML 2019), as in the second stage
of Sel-CL and MOIT, and so of TCL+.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor
from torch.nn import functional as F

from twincl.core.losses import cross_entropy
from twincl.core.mixup import mix
from twincl.core.targets import bootstrap_targets
from twincl.data.batches import Batch
from twincl.methods.cross_entropy import CrossEntropy
from twincl.methods.method import LossTerms, Parts
from twincl.methods.mixing import mix_own_rows
from twincl.nets.precision import precision


@dataclass(frozen=True)
class MixupSettings:
    """The switches of the method."""

    alpha: Annotated[float, Gt(0)] = 1.0  # lambda ~ Beta(alpha, alpha), one a batch
    bootstrap: Annotated[float, Ge(0), Le(1)] = 0.0  # share of the target that is the class predicted before mixup
    label_epochs: Annotated[int, Ge(0)] | None = None  # first epochs without that; None: three sevenths of all


class Mixup(CrossEntropy):
    """Learns the given labels as they are, of two images at a time; judges labels as `CrossEntropy` does."""

    def __init__(self, parts: Parts, settings: MixupSettings):
        super().__init__(parts)
        self.settings = settings
        self.label_epochs = 3 * parts.epochs // 7 if settings.label_epochs is None else settings.label_epochs

    def losses(self, batch: Batch, epoch: int) -> LossTerms:
        """Cross-entropy of the mixed weak views with the labels, or what stands for them, mixed alike."""
        parts, share = self.parts, self.settings.bootstrap
        weak = parts.views.weak(batch.images, parts.generator, parts.ranks)
        plan, mixed = mix_own_rows(weak, parts, views=1, alpha=self.settings.alpha, per_sample=False, dominant=False)
        targets = F.one_hot(batch.labels, parts.num_classes).to(weak)
        if share > 0 and epoch >= self.label_epochs:
            targets = bootstrap_targets(targets, targets.new_full((len(targets),), 1 - share), self._chosen(weak))
        logits = parts.ranks.gather(parts.forward(mixed).logits)
        return {"cross_entropy": cross_entropy(logits, mix(targets, plan))}

    @torch.no_grad()
    def _chosen(self, images: Tensor) -> Tensor:
        """The class (B, K) that the network at rest predicts of every image, those of all ranks."""
        parts = self.parts
        parts.net.eval()
        with precision(images.device, parts.amp):
            logits = parts.net(images).logits
        parts.net.train()
        return F.one_hot(parts.ranks.gather(logits).argmax(1), parts.num_classes)
