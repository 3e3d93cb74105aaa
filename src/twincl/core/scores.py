"""Other answers to how well a given label fits its sample, for the ablation of Eq. 7 (paper, Table 4, ii).

A score is the logarithm of a probability of the given label, so that, as everywhere, low is suspect. N samples, K
classes, D dimensions; what is computed for all samples is computed a block at a time.
"""

import torch
from torch import Tensor

from twincl.core.neighbors import nearest

SMALLEST = 1e-12  # probability at which a logarithm ends
SHARES = 0.01, 0.99  # of votes, between which their logarithm says something


def classifier_score(probabilities: Tensor, labels: Tensor) -> Tensor:
    """Minus the cross-entropy loss of each given label, log p(y), (N,), from the classifier's (N, K): DivideMix."""
    return probabilities.gather(1, labels[:, None]).squeeze(1).clamp_min(SMALLEST).log()


def neighbour_score(embeddings: Tensor, labels: Tensor, num_classes: int, *, k: int = 250, chunk: int = 1024) -> Tensor:
    """Logarithm of the share of the k nearest others that vote for the given label, (N,): MOIT.

    Two passes with one vote a neighbour: in the first the neighbours vote with their given labels and every sample
    takes the class with most votes, of equals the first; in the second they vote with what they took. Shares are
    clipped to [0.01, 0.99].

    k is cut to half the mean size of a class, so that a sample's own class can outvote the others: none of MOIT's data
    sets is small enough to notice.
    """
    k = max(1, min(k, len(labels) // (2 * num_classes)))
    neighbours = nearest_others(embeddings, k, chunk=chunk)
    voted = []
    for rows in torch.split(neighbours, chunk):
        votes = torch.zeros(len(rows), num_classes, device=rows.device)
        votes.scatter_add_(1, labels[rows.long()], torch.ones(rows.shape, device=rows.device))
        voted.append(votes.argmax(1))
    taken = torch.cat(voted)
    parts = zip(torch.split(neighbours, chunk), torch.split(labels, chunk), strict=True)
    share = torch.cat([(taken[rows.long()] == given[:, None]).float().mean(1) for rows, given in parts])
    return share.clamp(*SHARES).log()


def nearest_others(embeddings: Tensor, k: int, *, chunk: int = 1024) -> Tensor:
    """Places of the k nearest by cosine, never the sample itself, nearest first: (N, k) in int32.

    Rows have unit length. Besides the answer, memory is chunk x N.
    """
    places = torch.arange(len(embeddings), device=embeddings.device)
    parts = zip(torch.split(embeddings, chunk), torch.split(places, chunk), strict=True)
    found = [nearest(part, embeddings, k, own=place)[1].int() for part, place in parts]  # half the memory, at once
    return torch.cat(found)
