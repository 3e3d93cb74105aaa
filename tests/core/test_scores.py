"""Scores of given labels besides Eq. 7: naive twins, closed forms, what small data do to them."""

import math

import pytest
import torch
from torch.nn import functional as F

from twincl.core.scores import classifier_score, nearest_others, neighbour_score


def unit(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return F.normalize(torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), dim=1)


def naive_neighbour_score(embeddings: torch.Tensor, labels: list[int], classes: int, k: int) -> list[float]:
    """One sample after the other, both passes written out."""
    n = len(labels)
    k = max(1, min(k, n // (2 * classes)))
    near = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        near.append(sorted(others, key=lambda j: -float(embeddings[i] @ embeddings[j]))[:k])
    corrected = []
    for i in range(n):
        votes = [sum(labels[j] == c for j in near[i]) for c in range(classes)]
        corrected.append(votes.index(max(votes)))
    shares = [sum(corrected[j] == labels[i] for j in near[i]) / k for i in range(n)]
    return [math.log(min(max(share, 0.01), 0.99)) for share in shares]


def test_the_classifier_score_is_minus_the_usual_cross_entropy() -> None:
    logits = torch.randn(20, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(20) % 5
    torch.testing.assert_close(
        classifier_score(logits.softmax(1), labels), -F.cross_entropy(logits, labels, reduction="none")
    )
    extremes = classifier_score(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]]), torch.tensor([0, 1, 1]))
    assert extremes.tolist() == pytest.approx([0, math.log(1e-12), math.log(0.5)])


@pytest.mark.parametrize(("count", "k"), [(60, 3), (60, 9), (60, 250), (7, 250), (2, 250)])
@pytest.mark.parametrize("chunk", [1, 7, 1024])
def test_the_neighbour_score_matches_its_naive_twin(count: int, k: int, chunk: int) -> None:
    embeddings = unit(count, 4)
    labels = torch.randint(0, 3, (count,), generator=torch.Generator().manual_seed(1))
    expected = naive_neighbour_score(embeddings, labels.tolist(), 3, k)
    assert neighbour_score(embeddings, labels, 3, k=k, chunk=chunk).tolist() == pytest.approx(expected, rel=1e-5)


def test_a_wrong_label_among_its_true_class_is_the_most_suspect() -> None:
    clusters = torch.arange(90) % 3
    embeddings = F.normalize(F.one_hot(clusters, 4).double() + 0.1 * unit(90, 4), dim=1)
    given = clusters.clone()
    given[::10] = (given[::10] + 1) % 3
    score = neighbour_score(embeddings, given, 3)
    wrong = given != clusters
    assert score[wrong].tolist() == pytest.approx([math.log(0.01)] * int(wrong.sum()))
    assert score[~wrong].tolist() == pytest.approx([math.log(0.99)] * int((~wrong).sum()))


def test_the_second_pass_counts_what_the_first_corrected() -> None:
    """On a line, one wrong label costs its neighbours nothing: it was corrected before they count."""
    angles = torch.linspace(0, 1, 12, dtype=torch.float64)
    embeddings = torch.stack([angles.cos(), angles.sin()], dim=1)
    labels = torch.zeros(12, dtype=torch.long)
    labels[6] = 1
    score = neighbour_score(embeddings, labels, 2, k=3)
    assert score.exp().tolist() == pytest.approx([0.01 if i == 6 else 0.99 for i in range(12)])


def test_nobody_is_its_own_neighbour_even_among_copies() -> None:
    copies = unit(1, 5).repeat(9, 1)
    for chunk in (2, 4, 100):
        near = nearest_others(copies, 8, chunk=chunk)
        for i, row in enumerate(near.tolist()):
            assert sorted(row) == [j for j in range(9) if j != i]
    whole, parts = nearest_others(unit(50, 6), 5), nearest_others(unit(50, 6), 5, chunk=7)
    assert torch.equal(whole, parts)


def test_one_sample_has_no_neighbour_and_does_not_crash() -> None:
    assert neighbour_score(unit(1, 3), torch.zeros(1, dtype=torch.long), 2).isfinite().all()
