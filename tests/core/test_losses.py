"""Eqs. 9 to 15: naive twins, closed forms, gradients that must not flow."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from twincl.core.losses import (
    alignment,
    cross_entropy,
    cross_supervision,
    info_nce,
    info_nce_queue,
    mean_entropy,
    negative_marginal_entropy,
)
from twincl.core.targets import bootstrap_targets, temporal_ensemble

sizes = st.tuples(st.integers(1, 9), st.integers(2, 6), st.integers(0, 2**31))


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def naive_softmax(row: torch.Tensor) -> list[float]:
    powers = [math.exp(float(x)) for x in row]
    return [power / sum(powers) for power in powers]


def naive_cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> float:
    total = 0.0
    for row, target in zip(logits, targets, strict=True):
        total -= sum(float(t) * math.log(p) for t, p in zip(target, naive_softmax(row), strict=True))
    return total / len(logits)


def naive_info_nce(one: torch.Tensor, two: torch.Tensor, tau: float) -> float:
    """Eq. 13 for every view in turn: its twin against all others but itself."""
    views, b, total = [*one, *two], len(one), 0.0
    for i, anchor in enumerate(views):
        twin = (i + b) % (2 * b)
        denominator = sum(math.exp(float(anchor @ views[j]) / tau) for j in range(2 * b) if j != i)
        total -= math.log(math.exp(float(anchor @ views[twin]) / tau) / denominator)
    return total / (2 * b)


def naive_info_nce_queue(queries: torch.Tensor, keys: torch.Tensor, queue: torch.Tensor, tau: float) -> float:
    total = 0.0
    for query, key in zip(queries, keys, strict=True):
        own = math.exp(float(query @ key) / tau)
        total -= math.log(own / (own + sum(math.exp(float(query @ other) / tau) for other in queue)))
    return total / len(queries)


@given(sizes)
@settings(max_examples=40, deadline=None)
def test_losses_match_their_naive_twins(size: tuple[int, int, int]) -> None:
    b, k, seed = size
    logits1, logits2 = draw(b, k, seed=seed), draw(b, k, seed=seed + 1)
    targets1, targets2 = draw(b, k, seed=seed + 2).softmax(1), draw(b, k, seed=seed + 3).softmax(1)
    expected = naive_cross_entropy(logits1, targets2) + naive_cross_entropy(logits2, targets1)
    assert float(cross_supervision(logits1, logits2, targets1, targets2)) == pytest.approx(expected)

    predictions = [naive_softmax(row) for row in logits1]
    entropies = [-sum(p * math.log(p) for p in row) for row in predictions]
    assert float(mean_entropy(logits1)) == pytest.approx(sum(entropies) / b)
    marginal = [sum(row[c] for row in predictions) / b for c in range(k)]
    assert float(negative_marginal_entropy(logits1)) == pytest.approx(sum(p * math.log(p) for p in marginal))

    one, two = F.normalize(draw(b, 5, seed=seed), dim=1), F.normalize(draw(b, 5, seed=seed + 9), dim=1)
    assert float(info_nce(one, two, 0.25)) == pytest.approx(naive_info_nce(one, two, 0.25))

    queue = F.normalize(draw(k, 5, seed=seed + 10), dim=1)
    assert float(info_nce_queue(one, two, queue, 0.25)) == pytest.approx(naive_info_nce_queue(one, two, queue, 0.25))

    by_class, by_mixture = alignment(logits1, logits2, targets1)
    assert float(by_class) == pytest.approx(naive_cross_entropy(logits1, targets1))
    assert float(by_mixture) == pytest.approx(naive_cross_entropy(logits2, targets1))


def test_soft_cross_entropy_of_hard_targets_is_the_usual_one() -> None:
    logits, labels = draw(20, 7), torch.arange(20) % 7
    expected = F.cross_entropy(logits, labels)
    torch.testing.assert_close(cross_entropy(logits, F.one_hot(labels, 7).double()), expected)


def test_entropies_at_their_extremes() -> None:
    k = 8
    certain = torch.eye(k) * 1000  # every prediction certain, every class once
    assert float(mean_entropy(certain)) == pytest.approx(0, abs=1e-6)
    assert float(negative_marginal_entropy(certain)) == pytest.approx(-math.log(k), abs=1e-6)
    undecided = torch.zeros(5, k)
    assert float(mean_entropy(undecided)) == pytest.approx(math.log(k))
    collapsed = torch.zeros(5, k)
    collapsed[:, 0] = 1000  # one class only: the marginal's other entries underflow to zero
    collapsed.requires_grad_()
    loss = negative_marginal_entropy(collapsed)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-5)
    assert torch.isfinite(collapsed.grad).all()


def test_info_nce_closed_forms() -> None:
    same = F.normalize(torch.ones(4, 3), dim=1)
    assert float(info_nce(same, same, 0.5)) == pytest.approx(math.log(7)), "all alike: one in 2B - 1"
    axes = torch.eye(4)
    b, tau = 4, 0.25
    expected = math.log(1 + (2 * b - 2) * math.exp(-1 / tau))
    assert float(info_nce(axes, axes, tau)) == pytest.approx(expected, rel=1e-5)


def test_info_nce_does_not_care_for_the_order_of_samples_or_views() -> None:
    one, two = F.normalize(draw(6, 4), dim=1), F.normalize(draw(6, 4, seed=1), dim=1)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    value = info_nce(one, two, 0.25)
    torch.testing.assert_close(info_nce(one[order], two[order], 0.25), value)
    torch.testing.assert_close(info_nce(two, one, 0.25), value)


def test_info_nce_falls_under_gradient_descent() -> None:
    raw = draw(8, 4).requires_grad_()
    values = []
    for _ in range(30):
        one, two = F.normalize(raw, dim=1), F.normalize(raw + 0.3 * draw(8, 4, seed=5), dim=1)
        loss = info_nce(one, two, 0.25)
        values.append(loss.item())
        (gradient,) = torch.autograd.grad(loss, raw)
        raw = (raw - gradient).detach().requires_grad_()
    assert values[-1] < values[0] - 0.2


def test_info_nce_with_a_queue_closed_forms() -> None:
    same = F.normalize(torch.ones(4, 3), dim=1)
    assert float(info_nce_queue(same, same, same[:0], 0.5)) == 0, "nothing to choose from"
    assert float(info_nce_queue(same, same, same, 0.5)) == pytest.approx(math.log(5)), "all alike: one in 1 + Q"
    axes, tau = torch.eye(8), 0.25
    expected = math.log(1 + 4 * math.exp(-1 / tau))
    assert float(info_nce_queue(axes[:4], axes[:4], axes[4:], tau)) == pytest.approx(expected, rel=1e-5)
    opposite = math.log(1 + 4 * math.exp(1 / tau))
    assert float(info_nce_queue(axes[:4], -axes[:4], axes[4:], tau)) == pytest.approx(opposite, rel=1e-5)


def test_keys_get_no_gradient_and_a_query_moves_to_its_key() -> None:
    query, key, queue = (draw(3, 4, seed=seed).requires_grad_() for seed in range(3))
    loss = info_nce_queue(F.normalize(query, dim=1), F.normalize(key, dim=1), F.normalize(queue, dim=1), 0.25)
    loss.backward()
    assert key.grad is None
    assert queue.grad is None
    before, after = (F.cosine_similarity(where, key).detach() for where in (query, query - 0.1 * query.grad))
    assert (after > before).all()


def test_the_temporal_ensemble_is_a_weighted_mean_of_all_predictions() -> None:
    said = [draw(4, 3, seed=seed).softmax(1).requires_grad_() for seed in range(5)]
    ensemble = torch.zeros(4, 3, dtype=torch.float64)
    for predictions in said:
        ensemble = temporal_ensemble(ensemble, predictions, 0.7)
    weights = [0.3 * 0.7 ** (4 - n) for n in range(5)]
    expected = sum(weight * predictions.detach() for weight, predictions in zip(weights, said, strict=True))
    torch.testing.assert_close(ensemble, expected)
    assert not ensemble.requires_grad
    torch.testing.assert_close(ensemble.sum(1), torch.full((4,), 1 - 0.7**5, dtype=torch.float64))


@given(sizes)
@settings(max_examples=30, deadline=None)
def test_targets_are_distributions_between_label_and_prediction(size: tuple[int, int, int]) -> None:
    b, k, seed = size
    predictions = draw(b, k, seed=seed).softmax(1)
    one_hot = F.one_hot(torch.arange(b) % k, k).double()
    clean = torch.rand(b, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    targets = bootstrap_targets(one_hot, clean, predictions)
    for i in range(b):
        for c in range(k):
            expected = float(clean[i]) * float(one_hot[i, c]) + (1 - float(clean[i])) * float(predictions[i, c])
            assert float(targets[i, c]) == pytest.approx(expected)
    torch.testing.assert_close(targets.sum(1), torch.ones(b, dtype=torch.float64))
    torch.testing.assert_close(bootstrap_targets(one_hot, torch.ones(b).double(), predictions), one_hot)
    torch.testing.assert_close(bootstrap_targets(one_hot, torch.zeros(b).double(), predictions), predictions)


def test_no_gradient_flows_through_targets() -> None:
    logits = draw(4, 3).requires_grad_()
    targets = bootstrap_targets(
        F.one_hot(torch.zeros(4, dtype=torch.long), 3).double(), torch.rand(4), logits.softmax(1)
    )
    assert not targets.requires_grad
