"""Plain cross-entropy on the given labels, crop and flip: what everybody does first, and the line to beat."""

import torch
from torch import Tensor
from torch.nn import functional as F

from twincl.core.detection import clean_probability
from twincl.core.mixture import given_label_posterior
from twincl.data.batches import Batch
from twincl.methods.method import Detection, LossTerms, Parts, Snapshot


class CrossEntropy:
    """Learns the given labels as they are."""

    update_every = 1

    def __init__(self, parts: Parts):
        self.parts = parts
        parts.net.projector.requires_grad_(False)  # nothing teaches it

    def expectation(self, snapshot: Snapshot, rows: Tensor | None = None) -> Detection:
        """Two components over the classifier's own probability of the given label."""
        given = given_label_posterior(snapshot.probabilities, self.parts.labels_of(rows))
        return Detection(given, torch.from_numpy(clean_probability(given.cpu().numpy()).probability).to(given))

    def losses(self, batch: Batch, epoch: int) -> LossTerms:
        """Cross-entropy of the weak view."""
        ranks = self.parts.ranks
        logits = self.parts.forward(self.parts.views.weak(batch.images, self.parts.generator, ranks)).logits
        return {"cross_entropy": F.cross_entropy(ranks.gather(logits), batch.labels)}

    def after_step(self) -> None:
        """Nothing follows the weights."""

    def state_dict(self) -> dict[str, Tensor]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Nothing."""
