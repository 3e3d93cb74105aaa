"""A training so small that a step takes milliseconds."""

from dataclasses import dataclass

import pytest
import torch

from twincl.augment.images import NATURAL, ImageViews
from twincl.data.batches import Batches
from twincl.data.stores import MemoryImages
from twincl.methods.method import Parts
from twincl.methods.tcl import TCL, TCLSettings
from twincl.nets.preact import SmallNet
from twincl.nets.twin import TwinNet
from twincl.training.loop import Epoch, TrainState, fit


@dataclass
class Tiny:
    """Twelve images, three batches of four an epoch."""

    state: TrainState
    views: ImageViews
    batches: Batches
    sampled: bool  # whether E-steps look only at what is learned from next

    def train(self, epochs: int, **options) -> list[Epoch]:
        defaults = {"seed": 0, "amp": False, "schedule": lambda step: 0.01, "sampled": self.sampled}
        return list(fit(self.state, self.views, self.batches, epochs=epochs, **(defaults | options)))


@pytest.fixture
def tiny(pictures):
    def make(method=None, *, count=12, lr=0.01, sample=None) -> Tiny:
        """With TCL, or with `method`; of `sample` images an epoch, if given, which alone are looked at before it."""
        torch.manual_seed(0)
        pixels, labels = pictures(count, size=8)
        net = TwinNet(SmallNet(3, 8), 3, feat_dim=4, head_bn=True, dropout=0.25)
        views = ImageViews(NATURAL, (0.4, 0.4, 0.4), (0.3, 0.3, 0.3))
        batches = Batches(MemoryImages(pixels), labels, batch_size=4, device=torch.device("cpu"), epoch_size=sample)
        parts = Parts(net, views, torch.from_numpy(labels), 3, 4, torch.Generator().manual_seed(0))
        optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
        state = TrainState(net, optimizer, method or TCL(parts, TCLSettings()), parts.generator)
        return Tiny(state, views, batches, sampled=sample is not None)

    return make
