"""What the training loop asks of a method, and what passes between them. No field here holds a true label."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from twincl.augment.views import Views
from twincl.data.batches import Batch
from twincl.nets.precision import precision
from twincl.nets.twin import Outputs, TwinNet
from twincl.ranks import ALONE, Ranks

LossTerms = dict[str, Tensor]  # named scalars; the loop descends on their sum


class Parts(NamedTuple):
    """What every method is built from."""

    net: TwinNet
    views: Views
    labels: Tensor  # (N,) the given labels in data order, on the training device
    num_classes: int
    epochs: int  # length of the whole training
    generator: torch.Generator  # source of all randomness of views and mixup, in the same state on all ranks
    ranks: Ranks = ALONE
    amp: bool = False  # forward passes in bfloat16
    replica: Callable[[Tensor], Outputs] | None = None  # `net` as DDP has wrapped it, where there are more ranks

    def labels_of(self, rows: Tensor | None) -> Tensor:
        """The given labels of some samples, or of all if None."""
        return self.labels if rows is None else self.labels[rows.to(self.labels.device)]

    def forward(self, images: Tensor) -> Outputs:
        """This rank's own rows through the network, in a step."""
        with precision(images.device, self.amp):
            return (self.replica or self.net)(images)


class Snapshot(NamedTuple):
    """Samples seen by the network at rest: un-augmented images, evaluation mode."""

    embeddings: Tensor  # (N, D) unit rows
    probabilities: Tensor  # (N, K) the classifier's


class Detection(NamedTuple):
    """What an expectation step says of the N given labels that it looked at: in either, low is suspect."""

    score: Tensor  # (N,) how well the label fits its sample
    clean: Tensor  # (N,) w, the probability that it is right, by two components over the score


class Method(Protocol):
    """A way to learn: built from `Parts`, driven by `training.loop`."""

    update_every: int  # epochs from one expectation step to the next

    def expectation(self, snapshot: Snapshot, rows: Tensor | None = None) -> Detection:
        """Refresh what is derived from the training samples; returns what that says of their labels.

        Called once before the first epoch, then after every `update_every` epochs and after the last. The snapshot is
        of all samples, or of `rows`: then no other is learned from until the next call.
        """

    def losses(self, batch: Batch, epoch: int) -> LossTerms:
        """Loss terms of one batch, ready for backward; `epoch` counts from zero.

        With more ranks than one, all of them compute the same terms, those of the whole batch, from gathered outputs.
        """

    def after_step(self) -> None:
        """After the optimiser moved the weights: queues and moving averages follow here, nowhere else."""

    def state_dict(self) -> dict[str, Tensor]:
        """All that survives a step, as tensors."""

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on where `state_dict` was taken."""
