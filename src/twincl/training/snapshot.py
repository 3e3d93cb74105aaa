"""The network at rest: what it says of every image, un-augmented and in evaluation mode."""

from collections.abc import Iterable

import torch

from twincl.augment.views import Views
from twincl.data.batches import Batch
from twincl.methods.method import Snapshot
from twincl.nets.precision import precision
from twincl.nets.twin import TwinNet
from twincl.ranks import ALONE, Ranks


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
