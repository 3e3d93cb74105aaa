"""The class of a sample by two witnesses: the classifier, and the given labels of the sample's neighbours.

Neither has seen the sample's own label at this moment: the classifier looks at the image, and the sample itself has no
vote. The classifier may have learned a wrong label by heart; that its neighbours were given the same one is unlikely.
N samples, K classes, D dimensions.
"""

from torch import Tensor

from twincl.core.neighbors import knn_votes

NEIGHBOURS = 200  # that vote, at most half the mean size of a class among the keys
FLOOR = 0.1  # of an even share: added to every share of votes, so that no class is impossible


def class_opinions(probabilities: Tensor, places: Tensor, keys: Tensor, labels: Tensor, own: Tensor) -> Tensor:
    """The product of the classifier's probabilities (N, K) and the shares of votes, normalised, (N, K).

    `places` (N, D) are where the samples lie, `keys` (M, D) where those lie who may vote, both unit rows; `labels` (M,)
    is what the latter were given. `own` (N,) is each sample's own place among the keys, which has no vote; -1: none.
    """
    classes = probabilities.shape[1]
    k = max(1, min(NEIGHBOURS, len(keys) // (2 * classes)))
    joint = probabilities * (knn_votes(places, keys, labels, classes, own=own, k=k) + FLOOR / classes)
    return joint / joint.sum(1, keepdim=True)
