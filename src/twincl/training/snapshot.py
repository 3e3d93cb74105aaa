"""The network at rest: what it says of every image, un-augmented and in evaluation mode."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from twincl.augment.views import Views
from twincl.data.batches import Batch
from twincl.methods.method import Snapshot
from twincl.nets.twin import TwinNet
from twincl.ranks import ALONE, Ranks
from twincl.training.device import precision


@torch.no_grad()
def take_snapshot(net: TwinNet, views: Views, batches: Iterable[Batch], *, amp: bool, ranks: Ranks = ALONE) -> Snapshot:
    """One pass over `batches` in their order, of each rank over its own; all ranks get the whole.

    The network is left in the mode it was in.
    """
    was_training = net.training
    net.eval()
    embeddings, probabilities = [], []
    for batch in batches:
        with precision(batch.images.device, amp):
            out = net(views.plain(batch.images))
        embeddings.append(out.embeddings)
        probabilities.append(out.logits.softmax(1))
    net.train(was_training)
    return Snapshot(ranks.gather_uneven(torch.cat(embeddings)), ranks.gather_uneven(torch.cat(probabilities)))


@dataclass
class RunningSnapshot:
    """What was said last of every image, where most expectation steps look at some images only."""

    whole: Snapshot | None = None  # None until all have been looked at

    def update(self, part: Snapshot, rows: np.ndarray | None) -> Snapshot:
        """Put `part` in the place of `rows`, or of everything if None; what was handed out before stays as it was."""
        if rows is None or self.whole is None:
            self.whole = part
        else:
            index = torch.from_numpy(rows).to(part.embeddings.device)
            pairs = zip(self.whole, part, strict=True)
            self.whole = Snapshot(*(before.index_copy(0, index, now) for before, now in pairs))
        return self.whole
