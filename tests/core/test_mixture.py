"""Eqs. 2 to 7: naive twins, closed forms, properties."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from twincl.core import mixture
from twincl.core.mixture import (
    VARIANCE_FLOOR,
    class_means,
    class_variances,
    given_label_posterior,
    mixture_logits,
    mixture_logits_simplified,
    posterior,
    row_blocks,
)


def sample(n: int, k: int, d: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    embeddings = F.normalize(torch.randn(n, d, generator=generator, dtype=torch.float64), dim=1)
    probabilities = torch.randn(n, k, generator=generator, dtype=torch.float64).mul(2).softmax(1)
    return embeddings, probabilities


sizes = st.tuples(st.integers(1, 12), st.integers(2, 6), st.integers(2, 7), st.integers(0, 2**31))


def naive_means(v: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    rows = []
    for k in range(p.shape[1]):
        weighted, weight = torch.zeros(v.shape[1], dtype=v.dtype), 0.0
        for i in range(len(v)):
            weighted += p[i, k] * v[i]
            weight += float(p[i, k])
        mean = weighted / weight
        rows.append(mean / math.sqrt(float((mean**2).sum())))
    return torch.stack(rows)


def naive_variances(v: torch.Tensor, p: torch.Tensor, mu: torch.Tensor) -> torch.Tensor:
    out = []
    for k in range(p.shape[1]):
        total, weight = 0.0, 0.0
        for i in range(len(v)):
            total += float(p[i, k] * ((v[i] - mu[k]) ** 2).sum())
            weight += float(p[i, k])
        out.append(max(total / weight, VARIANCE_FLOOR))
    return torch.tensor(out, dtype=v.dtype)


def naive_posterior(v: torch.Tensor, mu: torch.Tensor, sigma: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(len(v), len(mu), dtype=v.dtype)
    for i in range(len(v)):
        densities = [math.exp(-float(((v[i] - mu[k]) ** 2).sum()) / (2 * float(sigma[k]))) for k in range(len(mu))]
        for k in range(len(mu)):
            out[i, k] = densities[k] / sum(densities)
    return out


@given(sizes)
@settings(max_examples=40, deadline=None)
def test_equations_match_their_naive_twins(size: tuple[int, int, int, int]) -> None:
    v, p = sample(*size)
    mu = class_means(v, p)
    sigma = class_variances(v, p, mu)
    torch.testing.assert_close(mu, naive_means(v, p))
    torch.testing.assert_close(sigma, naive_variances(v, p, mu))
    torch.testing.assert_close(posterior(mixture_logits(v, mu, sigma)), naive_posterior(v, mu, sigma))


@given(sizes)
@settings(max_examples=20, deadline=None)
def test_eq6_equals_eq5_for_equal_variances_only(size: tuple[int, int, int, int]) -> None:
    v, p = sample(*size)
    mu = class_means(v, p)
    torch.testing.assert_close(
        posterior(mixture_logits(v, mu, 0.25)), posterior(mixture_logits_simplified(v, mu, 0.25))
    )
    unequal = torch.linspace(0.1, 0.9, len(mu), dtype=v.dtype)
    difference = posterior(mixture_logits(v, mu, unequal)) - posterior(mixture_logits_simplified(v, mu, unequal))
    assert difference.abs().max() > 1e-3


def test_hard_predictions_give_class_averages() -> None:
    v = F.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), dim=1)
    p = F.one_hot(torch.tensor([0, 0, 1, 1]), 2).float()
    mu = class_means(v, p)
    torch.testing.assert_close(mu[0], torch.tensor([1.0, 0.0]))
    torch.testing.assert_close(mu[1], F.normalize(v[2] + v[3], dim=0))
    assert class_variances(v, p, mu)[0] == pytest.approx(VARIANCE_FLOOR)


@pytest.mark.parametrize(("k", "peak"), [(10, 0.904), (14, 0.851), (50, 0.547), (100, 0.365), (1000, 0.052)])
def test_highest_posterior_of_simplex_means(k: int, peak: float) -> None:
    """With sigma = 0.25 and means as far apart as can be, the best posterior falls with the number of classes."""
    corners = torch.eye(k, dtype=torch.float64) - 1 / k
    mu = F.normalize(corners, dim=1)
    assert float(posterior(mixture_logits(mu, mu, 0.25)).max()) == pytest.approx(peak, abs=1e-3)


def test_posterior_is_a_distribution_and_permutes_with_the_classes() -> None:
    v, p = sample(30, 5, 8, 0)
    order = torch.tensor([3, 1, 4, 0, 2])
    mu = class_means(v, p)
    gamma = posterior(mixture_logits(v, mu, class_variances(v, p, mu)))
    torch.testing.assert_close(gamma.sum(1), torch.ones(30, dtype=v.dtype))
    mu2 = class_means(v, p[:, order])
    gamma2 = posterior(mixture_logits(v, mu2, class_variances(v, p[:, order], mu2)))
    torch.testing.assert_close(gamma2, gamma[:, order])


def test_a_class_that_nobody_is_predicted_to_be_stays_finite() -> None:
    v, _ = sample(6, 3, 4, 1)
    p = torch.tensor([[1.0, 0.0, 0.0]] * 6, dtype=v.dtype)
    mu = class_means(v, p)
    assert (mu[1:] == 0).all()
    assert torch.isfinite(posterior(mixture_logits(v, mu, class_variances(v, p, mu)))).all()


def test_given_label_posterior_picks_the_label() -> None:
    gamma = torch.tensor([[0.7, 0.3], [0.2, 0.8]])
    torch.testing.assert_close(given_label_posterior(gamma, torch.tensor([1, 1])), torch.tensor([0.3, 0.8]))


@pytest.mark.parametrize("width", [1, 3, 7, 100])
def test_blocks_are_small_and_together_the_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "BLOCK", 20)
    matrix, labels = torch.arange(22).view(11, 2), torch.arange(11)
    blocks = list(row_blocks(width, matrix, labels))
    assert all(len(rows) == len(y) and (len(y) == 1 or len(y) * width <= 20) for rows, y in blocks)
    assert torch.equal(torch.cat([rows for rows, _ in blocks]), matrix)
    assert torch.equal(torch.cat([y for _, y in blocks]), labels)


def test_variances_in_blocks_match_their_naive_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "BLOCK", 13)
    v, p = sample(10, 3, 5, 0)
    mu = class_means(v, p)
    torch.testing.assert_close(class_variances(v, p, mu), naive_variances(v, p, mu))


@pytest.mark.parametrize("simplified", [False, True])
def test_a_mixture_answers_in_blocks_what_the_equations_say(simplified: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixture, "BLOCK", 13)
    v, p = sample(10, 3, 5, 0)
    mu, labels = class_means(v, p), torch.arange(10) % 3
    variances = class_variances(v, p, mu)
    gamma = posterior((mixture_logits_simplified if simplified else mixture_logits)(v, mu, variances))
    found = mixture.Mixture(mu, variances, simplified)
    torch.testing.assert_close(found.posterior_of(labels, v), gamma[torch.arange(10), labels])
    component, probability = found.likeliest(v)
    assert torch.equal(component, gamma.argmax(1))
    torch.testing.assert_close(probability, gamma.amax(1))
