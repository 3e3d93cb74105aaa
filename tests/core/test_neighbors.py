"""Exact nearest neighbours and their vote."""

import math

import pytest
import torch
from torch.nn import functional as F

from twincl.core.neighbors import knn_votes, nearest


def unit(n: int, d: int, seed: int) -> torch.Tensor:
    return F.normalize(torch.randn(n, d, generator=torch.Generator().manual_seed(seed)), dim=1)


def test_chunks_do_not_change_the_answer() -> None:
    queries, keys = unit(37, 8, 0), unit(50, 8, 1)
    whole, parts = nearest(queries, keys, 5, chunk=1000), nearest(queries, keys, 5, chunk=7)
    torch.testing.assert_close(whole[0], parts[0])
    assert torch.equal(whole[1], parts[1])
    assert torch.equal(whole[1], (queries @ keys.T).argsort(1, descending=True)[:, :5])


@pytest.mark.parametrize("k", [1, 4, 500])
def test_votes_match_their_naive_twin(k: int) -> None:
    queries, keys, labels = unit(6, 4, 0), unit(20, 4, 1), torch.arange(20) % 3
    votes = knn_votes(queries, keys, labels, 3, k=k, temperature=0.1)
    for i, query in enumerate(queries):
        pairs = zip(keys @ query, labels, strict=True)
        ranked = sorted(((float(cosine), int(label)) for cosine, label in pairs), reverse=True)
        weights = [(math.exp(cosine / 0.1), label) for cosine, label in ranked[: min(k, 20)]]
        total = sum(weight for weight, _ in weights)
        for c in range(3):
            expected = sum(weight for weight, label in weights if label == c) / total
            assert float(votes[i, c]) == pytest.approx(expected, abs=1e-5)


def test_chunks_do_not_change_the_votes() -> None:
    queries, keys, labels = unit(37, 8, 0), unit(50, 8, 1), torch.arange(50) % 4
    torch.testing.assert_close(
        knn_votes(queries, keys, labels, 4, k=9, chunk=5), knn_votes(queries, keys, labels, 4, k=9)
    )


def test_an_exact_copy_decides_with_one_neighbour() -> None:
    keys, labels = unit(30, 6, 2), torch.arange(30) % 5
    assert torch.equal(knn_votes(keys, keys, labels, 5, k=1).argmax(1), labels)


@pytest.mark.parametrize("k", [1, 4, 500])
def test_a_query_has_no_vote_of_its_own(k: int) -> None:
    keys, labels = unit(12, 4, 3), torch.arange(12) % 3
    keys[5], labels[5] = keys[4], labels[4]  # a copy may vote
    votes = knn_votes(keys, keys, labels, 3, own=torch.arange(12), k=k)
    for i in range(12):
        others = torch.arange(12) != i
        expected = knn_votes(keys[i : i + 1], keys[others], labels[others], 3, k=k)
        torch.testing.assert_close(votes[i : i + 1], expected)
    stranger = torch.full((12,), -1)
    torch.testing.assert_close(
        knn_votes(keys, keys, labels, 3, own=stranger, k=k), knn_votes(keys, keys, labels, 3, k=k)
    )
