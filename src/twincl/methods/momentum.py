"""MoCo (He and others, CVPR 2020) in the place of Eq. 13: a slow copy of the network, and a queue of what it said.

MoCo shuffles rows between devices, so that a query and its key are not normalised among the same few rows; here batch
norm sees the whole batch, on all ranks, in the copy as in the network.
"""

import copy

import torch
from torch import Tensor, nn

from twincl.core.losses import info_nce_queue
from twincl.methods.method import Parts
from twincl.nets.precision import precision


class MomentumContrast:
    """Contrasts embeddings with the keys of a moving average of encoder and projector.

    State that survives a step: the copy, the queue (Q, D) with the newest keys first, and how far it is filled. The
    queue starts empty and is used as far as it goes: random keys, as MoCo has them at first, would be learned from.
    """

    def __init__(self, parts: Parts, *, momentum: float, length: int, temperature: float):
        self.momentum, self.temperature, self.ranks, self.amp = momentum, temperature, parts.ranks, parts.amp
        followed = nn.Sequential(parts.net.encoder, parts.net.projector)
        self._followed = list(followed.parameters())
        self._copy = copy.deepcopy(followed).requires_grad_(False).train()
        self._keys = self._queue = torch.zeros(length, parts.net.feat_dim, device=parts.labels.device)
        self._filled = 0

    def loss(self, images1: Tensor, images2: Tensor, queries1: Tensor, queries2: Tensor) -> Tensor:
        """Mean over both sides: the embedding of one view picks the key of the other view of the same image.

        Images (b, ...) are this rank's, queries (B, D) of all ranks.
        """
        with torch.no_grad(), precision(images1.device, self.amp):
            self._keys = self.ranks.gather_views(self._copy(torch.cat([images1, images2])), 2)
        keys1, keys2 = self._keys.chunk(2)
        queue = self._queue[: self._filled]
        sides = (queries1, keys2), (queries2, keys1)
        return torch.stack([info_nce_queue(*side, queue, self.temperature) for side in sides]).mean()

    @torch.no_grad()
    def after_step(self) -> None:
        """The copy moves towards the network by 1 - momentum, and the keys of the step take the place of the oldest."""
        for slow, fast in zip(self._copy.parameters(), self._followed, strict=True):
            slow.lerp_(fast, 1 - self.momentum)
        length = len(self._queue)
        self._queue = torch.cat([self._keys, self._queue])[:length]
        self._filled = min(self._filled + len(self._keys), length)

    def state_dict(self) -> dict[str, Tensor]:
        """The copy, the queue and how far it is filled."""
        network = {f"moco.network.{name}": value for name, value in self._copy.state_dict().items()}
        return {"moco.queue": self._queue, "moco.filled": torch.tensor(self._filled), **network}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore them."""
        self._queue = state["moco.queue"].to(self._queue)
        self._filled = int(state["moco.filled"])
        self._copy.load_state_dict({name: state[f"moco.network.{name}"] for name in self._copy.state_dict()})
