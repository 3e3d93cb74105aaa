"""Mixup training on the given labels (Zhang and others, ICLR 2018): the plainest way to learn less from a wrong one."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt
from torch.nn import functional as F

from twincl.core.losses import cross_entropy
from twincl.core.mixup import mix
from twincl.data.batches import Batch
from twincl.methods.cross_entropy import CrossEntropy
from twincl.methods.method import LossTerms, Parts
from twincl.methods.mixing import mix_own_rows


@dataclass(frozen=True)
class MixupSettings:
    """The switches of the method."""

    alpha: Annotated[float, Gt(0)] = 1.0  # lambda ~ Beta(alpha, alpha), one a batch


class Mixup(CrossEntropy):
    """Learns the given labels as they are, of two images at a time; judges labels as `CrossEntropy` does."""

    def __init__(self, parts: Parts, settings: MixupSettings):
        super().__init__(parts)
        self.settings = settings

    def losses(self, batch: Batch, epoch: int) -> LossTerms:
        """Cross-entropy of the mixed weak views with the labels mixed alike."""
        parts = self.parts
        weak = parts.views.weak(batch.images, parts.generator, parts.ranks)
        plan, mixed = mix_own_rows(weak, parts, alpha=self.settings.alpha)
        logits = parts.ranks.gather(parts.forward(mixed).logits)
        targets = mix(F.one_hot(batch.labels, parts.num_classes).to(logits), plan)
        return {"cross_entropy": cross_entropy(logits, targets)}
