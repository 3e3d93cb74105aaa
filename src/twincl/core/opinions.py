"""The class of a sample by two witnesses: the classifier, and the given labels of the sample's neighbours.

Neither has seen the sample's own label at this moment: the classifier looks at the image, and the sample itself has no
vote. The classifier may have learned a wrong label by heart; that its neighbours were given the same one is unlikely.
N samples, K classes, D dimensions.
"""

import torch
from torch import Tensor

from twincl.core.mixture import row_blocks
from twincl.core.neighbors import knn_votes

NEIGHBOURS = 200  # that vote, at most half the mean size of a class among the keys
FLOOR = 0.1  # of an even share: added to every share of votes, so that no class is impossible


def class_opinions(probabilities: Tensor, embeddings: Tensor, keys: Tensor, labels: Tensor, own: Tensor) -> Tensor:
    """The product of the classifier's probabilities (N, K) and the shares of votes, normalised, (N, K).

    `keys` (M, D) are the embeddings of those who may vote, `labels` (M,) what they were given, `own` (N,) the place
    of each sample among them or -1. Embeddings have unit rows.
    """
    classes = probabilities.shape[1]
    k = max(1, min(NEIGHBOURS, len(keys) // (2 * classes)))
    answer = torch.empty_like(probabilities)
    for rows, p, v, place in row_blocks(classes, answer, probabilities, embeddings, own):
        joint = p * (knn_votes(v, keys, labels, classes, own=place, k=k) + FLOOR / classes)
        torch.div(joint, joint.sum(1, keepdim=True), out=rows)
    return answer
