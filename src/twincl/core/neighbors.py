"""Exact nearest neighbours by cosine, in chunks, and the weighted vote over them (paper, appendix A)."""

import torch
from torch import Tensor


def nearest(
    queries: Tensor, keys: Tensor, k: int, *, own: Tensor | None = None, chunk: int = 1024
) -> tuple[Tensor, Tensor]:
    """Cosine and index of the k nearest of M keys for each of N queries: two (N, k), nearest first.

    Rows have unit length. `own` (N,) is the place of each query itself among the keys, -1 where it has none: its cosine
    is minus infinity, so that it comes after all others. Besides the answer, memory is chunk x M.
    """
    places = torch.full((len(queries),), -1, device=keys.device) if own is None else own
    found = []
    for part, place in zip(torch.split(queries, chunk), torch.split(places, chunk), strict=True):
        cosine = part @ keys.T
        present = torch.nonzero(place >= 0).squeeze(1)
        cosine[present, place[present]] = float("-inf")
        found.append(torch.topk(cosine, k, dim=1))
    return torch.cat([top.values for top in found]), torch.cat([top.indices for top in found])


def knn_votes(
    queries: Tensor,
    keys: Tensor,
    labels: Tensor,
    num_classes: int,
    *,
    own: Tensor | None = None,
    k: int = 200,
    temperature: float = 0.1,
    chunk: int = 1024,
) -> Tensor:
    """Share of each class among the k nearest keys, weighted by exp(cosine / temperature), (N, K).

    `labels` (M,) belong to the keys. A query's own place, as `nearest` takes it, does not vote; there must be another
    key. k is cut to the number of keys. Besides the answer, memory is chunk x M.
    """
    votes = queries.new_zeros(len(queries), num_classes)
    places = labels.new_full((len(queries),), -1) if own is None else own
    parts = zip(*(torch.split(tensor, chunk) for tensor in (queries, places, votes)), strict=True)
    for part, place, share in parts:
        cosine, index = nearest(part, keys, min(k, len(keys)), own=place, chunk=chunk)
        share.scatter_add_(1, labels[index], torch.softmax(cosine / temperature, dim=1))
    return votes
