"""Classifier and neighbours as two witnesses."""

import pytest
import torch
from torch.nn import functional as F

from twincl.core.neighbors import knn_votes
from twincl.core.opinions import FLOOR, class_opinions

K = 3


def sample(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(count)
    embeddings = F.normalize(torch.randn(count, 4, generator=generator), dim=1)
    return torch.randn(count, K, generator=generator).softmax(1), embeddings, torch.arange(count) % K


@pytest.mark.parametrize("count", [2, 5, 40])
def test_the_product_of_both(count: int) -> None:
    probabilities, embeddings, labels = sample(count)
    found = class_opinions(probabilities, embeddings, embeddings, labels, torch.arange(count))
    k = max(1, count // (2 * K))
    votes = knn_votes(embeddings, embeddings, labels, K, own=torch.arange(count), k=k)
    for i in range(count):
        weights = [float(probabilities[i, c]) * (float(votes[i, c]) + FLOOR / K) for c in range(K)]
        assert found[i].tolist() == pytest.approx([weight / sum(weights) for weight in weights], rel=1e-4)


def test_a_label_learned_by_heart_is_given_away_by_the_neighbours() -> None:
    """The classifier repeats every given label; the fifth of them is not that of those around it."""
    embeddings = torch.eye(2).repeat_interleave(20, 0)
    labels = torch.arange(2).repeat_interleave(20)
    labels[4] = 1
    by_heart = 0.3 + 0.4 * F.one_hot(labels, 2)
    found = class_opinions(by_heart, embeddings, embeddings, labels, torch.arange(40))
    assert found.argmax(1).tolist() == [0] * 20 + [1] * 20


def test_others_than_the_voters_may_ask() -> None:
    probabilities, embeddings, labels = sample(40)
    voters = torch.arange(0, 40, 2)
    own = torch.full((40,), -1)
    own[voters] = torch.arange(20)
    found = class_opinions(probabilities, embeddings, embeddings[voters], labels[voters], own)
    alone = class_opinions(
        probabilities[1::2], embeddings[1::2], embeddings[voters], labels[voters], torch.full((20,), -1)
    )
    torch.testing.assert_close(found[1::2], alone)
    torch.testing.assert_close(found.sum(1), torch.ones(40))
