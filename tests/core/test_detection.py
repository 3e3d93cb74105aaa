"""Eq. 8: what the two-component mixture says, and what it says of input on which it can say nothing."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.mixture import GaussianMixture

from twincl.core import detection
from twincl.core.detection import (
    DIVIDEMIX,
    MIN_SAMPLES,
    FitLimits,
    clean_probability,
    clean_probability_per_class,
)


def two_modes(wrong: int, clean: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.1, 0.03, wrong), rng.normal(0.8, 0.05, clean)])


def test_two_modes_are_told_apart_and_the_higher_is_clean() -> None:
    fit = clean_probability(two_modes(300, 700))
    assert (fit.probability[:300] < 0.01).all()
    assert (fit.probability[300:] > 0.99).all()
    assert fit.means == pytest.approx((0.1, 0.8), abs=0.02)
    assert fit.deviations == pytest.approx((0.03, 0.05), abs=0.01)
    assert fit.weights == pytest.approx((0.3, 0.7), abs=0.01)


def test_probability_is_bayes_rule_on_the_fitted_components() -> None:
    rng = np.random.default_rng(1)
    scores = np.concatenate([rng.normal(0.3, 0.1, 400), rng.normal(0.6, 0.1, 600)])
    fit = clean_probability(scores, monotone=False)
    assert fit.means is not None
    for score, probability in zip(scores[::97], fit.probability[::97], strict=True):
        density = [
            w / s * math.exp(-((score - m) ** 2) / (2 * s * s))
            for m, s, w in zip(fit.means, fit.deviations, fit.weights, strict=True)
        ]
        assert probability == pytest.approx(density[1] / sum(density), abs=1e-6)


@given(st.integers(0, 2**31), st.floats(0.02, 0.3), st.floats(0.02, 0.3), st.floats(0.1, 0.9))
@settings(max_examples=30, deadline=None)
def test_monotone_means_a_higher_score_is_never_less_clean(seed: int, s0: float, s1: float, share: float) -> None:
    rng = np.random.default_rng(seed)
    count = int(400 * share)
    scores = np.concatenate([rng.normal(0.2, s0, count), rng.normal(0.8, s1, 400 - count)])
    probability = clean_probability(scores).probability
    ordered = probability[np.argsort(scores)]
    assert (np.diff(ordered) >= -1e-12).all()
    assert ((probability >= 0) & (probability <= 1)).all()


def test_without_monotone_the_broad_component_takes_the_best_scores() -> None:
    """The defect that `monotone` mends, shown: a narrow clean mode inside a broad wrong one."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(0.4, 0.25, 500), rng.normal(0.7, 0.01, 500)])
    best = scores.argmax()
    assert clean_probability(scores, monotone=False).probability[best] < 0.1
    assert clean_probability(scores, monotone=True).probability[best] > 0.9


def test_rescaling_is_affine() -> None:
    scores = two_modes(200, 200)
    one, other = clean_probability(scores), clean_probability(scores * 7 - 3)
    np.testing.assert_allclose(one.probability, other.probability, atol=1e-6)
    raw = clean_probability(scores, rescale=False)
    np.testing.assert_allclose(one.probability > 0.5, raw.probability > 0.5)


def test_the_limits_of_the_fit_are_those_asked_for() -> None:
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.normal(0.3, 0.12, 400), rng.normal(0.6, 0.1, 600)])
    limits = {"max_iter": 10, "tol": 1e-2, "reg_covar": 5e-4}
    assert DIVIDEMIX._asdict() == limits
    unit = ((scores - scores.min()) / (scores.max() - scores.min()))[:, None]
    mixture = GaussianMixture(2, random_state=0, **limits).fit(unit)
    expected = mixture.predict_proba(unit)[:, mixture.means_.argmax()]
    found = clean_probability(scores, monotone=False, limits=DIVIDEMIX).probability
    np.testing.assert_allclose(found, expected)
    assert not np.allclose(found, clean_probability(scores, monotone=False).probability)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clean_probability(scores, limits=DIVIDEMIX._replace(max_iter=1))


@pytest.mark.parametrize(
    "scores",
    [
        np.array([]),
        np.array([0.5]),
        np.linspace(0, 1, MIN_SAMPLES - 1),
        np.full(1000, 0.3),
        np.full(1000, 0.3) + 1e-12 * np.arange(1000),
        np.random.default_rng(0).normal(0.5, 0.1, 1000),
    ],
    ids=["empty", "one", "tiny", "constant", "almost constant", "one mode"],
)
def test_no_evidence_means_every_label_is_trusted(scores: np.ndarray) -> None:
    fit = clean_probability(scores)
    assert fit.means is None
    assert len(fit.probability) == len(scores)
    assert (fit.probability == 1).all()


def test_a_score_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        clean_probability(np.array([0.1, np.nan] * 20))


def test_per_class_uses_each_class_own_modes_and_falls_back_to_all() -> None:
    # Class 0 separates at 0.3, class 1 at 0.7; class 2 has one sample, class 3 is constant.
    rng = np.random.default_rng(0)
    first = np.concatenate([rng.normal(0.1, 0.02, 200), rng.normal(0.5, 0.02, 200)])
    second = np.concatenate([rng.normal(0.5, 0.02, 200), rng.normal(0.9, 0.02, 200)])
    scores = np.concatenate([first, second, [0.95], np.full(20, 0.1)])
    labels = np.repeat([0, 1, 2, 3], [400, 400, 1, 20])
    probability = clean_probability_per_class(scores, labels)
    assert (probability[200:400] > 0.9).all(), "0.5 is clean in class 0"
    assert (probability[400:600] < 0.1).all(), "0.5 is wrong in class 1"
    overall = clean_probability(scores).probability
    np.testing.assert_array_equal(probability[800:], overall[800:])


def test_per_class_matches_its_naive_twin() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 900) * 2  # some labels do not occur
    scores = np.where(rng.random(900) < 0.3, rng.normal(0.1, 0.05, 900), rng.normal(0.4 + labels / 30, 0.05, 900))
    expected = clean_probability(scores).probability
    for label in set(labels.tolist()):
        rows = [row for row in range(900) if labels[row] == label]
        fit = clean_probability(scores[rows])
        if fit.means is not None:
            expected[rows] = fit.probability
    np.testing.assert_array_equal(clean_probability_per_class(scores, labels), expected)


def test_many_scores_are_fitted_by_their_quantiles_whatever_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(0.3, 0.08, 4000), rng.normal(0.6, 0.08, 6000)])
    exact = clean_probability(scores)
    monkeypatch.setattr(detection, "FIT_SAMPLES", 1000)
    fit = clean_probability(scores)
    assert fit.means == pytest.approx(exact.means, abs=0.01)
    assert fit.weights == pytest.approx(exact.weights, abs=0.02)
    np.testing.assert_allclose(fit.probability, exact.probability, atol=0.05)
    shuffled = rng.permutation(len(scores))
    np.testing.assert_array_equal(clean_probability(scores[shuffled]).probability, fit.probability[shuffled])


def test_a_prior_of_each_label_matches_its_naive_twin() -> None:
    """EM in plain loops, from the same start to the same end."""
    rng = np.random.default_rng(4)
    clean = rng.random(300) < 0.6
    scores = np.where(clean, rng.normal(0.65, 0.12, 300), rng.normal(0.3, 0.1, 300))
    prior = np.where(clean, 0.8, 0.5) - 0.2 * rng.random(300)
    limits = FitLimits(max_iter=12, tol=-1, reg_covar=1e-6)
    fit = clean_probability(scores, prior, monotone=False, rescale=False, limits=limits)

    share, n = prior.mean(), len(scores)
    means = [float(np.quantile(scores, (1 - share) / 2)), float(np.quantile(scores, 1 - share / 2))]
    deviations = [float(scores.std() / 2)] * 2
    for _ in range(limits.max_iter):
        belongs = [posteriors(scores[i], prior[i], means, deviations) for i in range(n)]
        for c in range(2):
            mass = sum(one[c] for one in belongs)
            means[c] = sum(one[c] * x for one, x in zip(belongs, scores, strict=True)) / mass
            spread = sum(one[c] * (x - means[c]) ** 2 for one, x in zip(belongs, scores, strict=True)) / mass
            deviations[c] = math.sqrt(spread + limits.reg_covar)
    assert fit.means == pytest.approx(means, rel=1e-6)
    assert fit.deviations == pytest.approx(deviations, rel=1e-6)
    assert fit.weights == pytest.approx((1 - share, share))
    expected = [posteriors(scores[i], prior[i], means, deviations)[1] for i in range(n)]
    np.testing.assert_allclose(fit.probability, expected, rtol=1e-5)


def posteriors(score: float, prior: float, means: list[float], deviations: list[float]) -> list[float]:
    density = [
        share / s * math.exp(-((score - m) ** 2) / (2 * s * s))
        for share, m, s in zip((1 - prior, prior), means, deviations, strict=True)
    ]
    return [one / sum(density) for one in density]


def test_the_same_prior_for_all_finds_the_modes_that_a_free_share_finds() -> None:
    scores = two_modes(300, 700)
    free, told = clean_probability(scores), clean_probability(scores, np.full(1000, 0.7))
    assert told.means == pytest.approx(free.means, abs=1e-3)
    assert told.deviations == pytest.approx(free.deviations, abs=1e-3)
    np.testing.assert_allclose(told.probability, free.probability, atol=1e-3)


@given(st.integers(0, 2**31), st.floats(0.05, 0.95), st.floats(0.1, 3))
@settings(max_examples=30, deadline=None)
def test_with_a_prior_more_of_either_is_never_less_clean(seed: int, share: float, distance: float) -> None:
    rng = np.random.default_rng(seed)
    clean = rng.random(200) < share
    scores, prior = rng.normal(distance * clean, 0.5), np.where(clean, 0.7, 0.3) + 0.2 * rng.random(200)
    probability = clean_probability(scores, prior).probability
    assert ((probability >= 0) & (probability <= 1)).all()
    lower = (scores[:, None] <= scores) & (prior[:, None] <= prior)
    assert (probability[:, None] <= probability + 1e-9)[lower].all()


@pytest.mark.parametrize(
    "scores",
    [np.array([]), np.linspace(0, 1, MIN_SAMPLES - 1), np.full(50, 0.3), np.random.default_rng(0).normal(size=50)],
    ids=["empty", "tiny", "constant", "one mode"],
)
def test_without_evidence_the_prior_is_the_answer(scores: np.ndarray) -> None:
    prior = np.linspace(0.1, 0.9, len(scores))[::-1]
    fit = clean_probability(scores, prior)
    assert fit.means is None
    np.testing.assert_array_equal(fit.probability, prior)


def test_scores_against_the_prior_are_no_evidence() -> None:
    """Labels that are likely right score low here: the components would change places."""
    scores, prior = two_modes(300, 700), np.repeat([0.95, 0.05], [300, 700])
    np.testing.assert_array_equal(clean_probability(scores, prior).probability, prior)


@pytest.mark.parametrize("certain", [0.0, 1.0])
def test_a_prior_without_doubt_leaves_no_second_component(certain: float) -> None:
    fit = clean_probability(two_modes(300, 700), np.full(1000, certain))
    np.testing.assert_allclose(fit.probability, certain, atol=1e-5)


def test_per_class_each_class_has_its_own_prior() -> None:
    scores, labels = np.concatenate([two_modes(60, 140), two_modes(90, 110, seed=1) + 0.5]), np.repeat([0, 1], 200)
    prior = np.random.default_rng(0).uniform(0.4, 0.9, 400)
    found = clean_probability_per_class(scores, labels, prior)
    for label in (0, 1):
        rows = labels == label
        np.testing.assert_array_equal(found[rows], clean_probability(scores[rows], prior[rows]).probability)


def test_many_scores_keep_their_own_priors(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    clean = rng.random(10_000) < 0.6
    scores, prior = rng.normal(np.where(clean, 0.6, 0.3), 0.08), np.where(clean, 0.8, 0.4)
    exact = clean_probability(scores, prior)
    monkeypatch.setattr(detection, "FIT_SAMPLES", 1000)
    fit = clean_probability(scores, prior)
    assert fit.means == pytest.approx(exact.means, abs=0.01)
    assert fit.deviations == pytest.approx(exact.deviations, abs=0.01)
    np.testing.assert_allclose(fit.probability, exact.probability, atol=0.05)
