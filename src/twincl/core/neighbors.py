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
    own: Tensor | None = None,
    k: int = 200,
    temperature: float = 0.1,
    chunk: int = 1024,
) -> Tensor:
    """Share of each class among the k nearest keys, weighted by exp(cosine / temperature), (N, K).

    `labels` (M,) belong to the keys. `own` (N,) is the place of each query among them, whose vote does not count, -1
    where it has none; there must be another key. k is cut to the number of keys. Besides the answer, memory is
    chunk x M.
    """
    votes = queries.new_zeros(len(queries), num_classes)
    places = labels.new_full((len(queries),), -1) if own is None else own
    parts = zip(*(torch.split(tensor, chunk) for tensor in (queries, places, votes)), strict=True)
    for part, place, share in parts:
        cosine, index = nearest(part, keys, min(k + 1, len(keys)), chunk=chunk)
        cosine[index == place[:, None]] = float("-inf")
        cosine[:, k:][cosine[:, :k].isfinite().all(1)] = float(
            "-inf"
        )  # no place of its own among the k nearest: one too many
        share.scatter_add_(1, labels[index], torch.softmax(cosine / temperature, dim=1))
    return votes
