"""Exact nearest neighbours by cosine, in chunks, and the weighted vote over them (paper, appendix A)."""

import torch
from torch import Tensor


def nearest(queries: Tensor, keys: Tensor, k: int, *, chunk: int = 1024) -> tuple[Tensor, Tensor]:
    """Cosine and index of the k nearest of M keys for each of N queries: two (N, k), nearest first.

    Rows have unit length. Memory is chunk x M at any moment, whatever N is.
    """
    found = [torch.topk(part @ keys.T, k, dim=1) for part in torch.split(queries, chunk)]
    return torch.cat([top.values for top in found]), torch.cat([top.indices for top in found])


def knn_votes(
    queries: Tensor,
    keys: Tensor,
    labels: Tensor,
    num_classes: int,
    *,
    k: int = 200,
    temperature: float = 0.1,
    chunk: int = 1024,
) -> Tensor:
    """Share of each class among the k nearest keys, weighted by exp(cosine / temperature), (N, K).

    `labels` (M,) belong to the keys. k is cut to the number of keys. Besides the answer, memory is chunk x M.
    """
    votes = queries.new_zeros(len(queries), num_classes)
    for part, share in zip(torch.split(queries, chunk), torch.split(votes, chunk), strict=True):
        cosine, index = nearest(part, keys, min(k, len(keys)), chunk=chunk)
        share.scatter_add_(1, labels[index], torch.softmax(cosine / temperature, dim=1))
    return votes
