"""The network at rest: what it says of every image, un-augmented and in evaluation mode."""

from collections.abc import Iterable

import torch

from twincl.augment.views import Views
from twincl.data.batches import Batch
from twincl.methods.method import Snapshot
from twincl.nets.twin import TwinNet
from twincl.training.device import precision


@torch.no_grad()
def take_snapshot(net: TwinNet, views: Views, batches: Iterable[Batch], *, amp: bool) -> Snapshot:
    """One pass over `batches` in their order; the network is left in the mode it was in."""
    was_training = net.training
    net.eval()
    embeddings, probabilities = [], []
    for batch in batches:
        with precision(batch.images.device, amp):
            out = net(views.plain(batch.images))
        embeddings.append(out.embeddings)
        probabilities.append(out.logits.softmax(1))
    net.train(was_training)
    return Snapshot(torch.cat(embeddings), torch.cat(probabilities))
