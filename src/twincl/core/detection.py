"""Wrong labels as out-of-distribution samples: the two-component mixture of Section 3.2 (Eq. 8).

Input is one score for each sample, the higher the more likely its label is right (Eq. 7, or any other).
Output is the probability that the label is clean. The mixture itself is scikit-learn's; what is ours are the guards for
input on which two components say nothing, and the fit where something is known of each label beforehand.
"""

import warnings
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from twincl.core.spread import evenly_ranked

Floats = NDArray[np.float64]

MIN_SAMPLES = 10  # fewer scores than this say nothing about two components
FIT_SAMPLES = 100_000  # so many quantiles stand for all scores: five parameters are fitted as accurately


class FitLimits(NamedTuple):
    """Where the fit of the two components ends."""

    max_iter: int
    tol: float
    reg_covar: float  # added to each variance


USUAL = FitLimits(max_iter=100, tol=1e-3, reg_covar=1e-6)  # scikit-learn's
DIVIDEMIX = FitLimits(max_iter=10, tol=1e-2, reg_covar=5e-4)  # of losses brought to [0, 1]


class CleanFit(NamedTuple):
    """Clean probability of each sample and, where there were two modes, the components behind it."""

    probability: Floats  # (N,) in [0, 1]
    means: tuple[float, float] | None  # wrong, clean; in units of the score; None: one mode only
    deviations: tuple[float, float] | None
    weights: tuple[float, float] | None


def clean_probability(
    scores: NDArray[np.floating],
    prior: NDArray[np.floating] | None = None,
    *,
    monotone: bool = True,
    rescale: bool = True,
    limits: FitLimits = USUAL,
) -> CleanFit:
    """Eq. 8: posterior of the component with the higher mean, for each of the N scores.

    `prior` (N,) is the share of clean labels among those like each of them; None, as in the paper: one for all, fitted
    with the components. A prior that was found by looking at the same scores counts their evidence twice; the answer is
    then a weight to learn by, not a probability to believe.

    Two unequal Gaussians give the far side of the narrow one to the broad one, so that the highest scores
    can come out as wrong. `monotone` evaluates the posterior with scores clipped to the interval between
    the two means, where it can only rise. `rescale` fits on scores brought to [0, 1]: an affine change that only
    the tolerance and the regularisation of the fit can see. More than 100,000 scores are fitted by as many of their
    quantiles; every one of them gets its posterior.

    No evidence, and so the prior, or without one probability one for all, is the answer for: fewer than ten scores,
    constant scores, scores that one Gaussian describes better (by BIC), a component that collapsed onto nothing.

    Raises:
        ValueError: a score is not finite.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite")
    before = None if prior is None else np.asarray(prior, dtype=np.float64).clip(1e-6, 1 - 1e-6)
    no_evidence = CleanFit(np.ones(len(values)) if before is None else before, None, None, None)
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    if len(values) < MIN_SAMPLES or high - low < 1e-9:
        return no_evidence

    offset, scale = (low, high - low) if rescale else (0.0, 1.0)
    unit = (values - offset) / scale
    rows = slice(None) if len(unit) <= FIT_SAMPLES else evenly_ranked(unit, FIT_SAMPLES)
    fitted = unit[rows]
    if before is None:
        found, parameters = _fit(fitted, limits), 5
    else:
        found, parameters = _fit_with_prior(fitted, before[rows], limits), 4
    one = _log_density(fitted, fitted.mean(), np.sqrt(fitted.var() + limits.reg_covar)).sum()
    gained = 2 * (found.log_likelihood - one) - (parameters - 2) * np.log(len(fitted))  # in BIC, by two instead of one
    means, deviations = found.means, found.deviations
    if gained <= 0 or min(found.share, 1 - found.share) * len(fitted) < 1 or means[1] - means[0] < 1e-6:
        return no_evidence

    evaluated = unit.clip(means[0], means[1]) if monotone else unit
    evidence = _log_density(evaluated, means[1], deviations[1]) - _log_density(evaluated, means[0], deviations[0])
    return CleanFit(
        expit(logit(found.share if before is None else before) + evidence),
        (float(offset + scale * means[0]), float(offset + scale * means[1])),
        (float(scale * deviations[0]), float(scale * deviations[1])),
        (1 - found.share, found.share),
    )


def clean_probability_per_class(
    scores: NDArray[np.floating],
    labels: NDArray[np.integer],
    prior: NDArray[np.floating] | None = None,
    *,
    monotone: bool = True,
    rescale: bool = True,
    limits: FitLimits = USUAL,
) -> Floats:
    """Eq. 8 fitted to the samples of each given label apart, (N,).

    A class in which two modes cannot be told apart takes its samples' values from the fit to all samples.
    """
    options: _Options = {"monotone": monotone, "rescale": rescale, "limits": limits}
    probability = clean_probability(scores, prior, **options).probability
    by_label = np.argsort(labels, kind="stable")
    _, counts = np.unique(labels, return_counts=True)
    for members in np.split(by_label, np.cumsum(counts)[:-1]):
        fit = clean_probability(scores[members], None if prior is None else prior[members], **options)
        if fit.means is not None:
            probability[members] = fit.probability
    return probability


class _Options(TypedDict):
    monotone: bool
    rescale: bool
    limits: FitLimits


class _Components(NamedTuple):
    """Of wrong labels, then of clean ones."""

    means: Floats  # (2,)
    deviations: Floats  # (2,)
    share: float  # of clean ones
    log_likelihood: float


def _fit(values: Floats, limits: FitLimits) -> _Components:
    """Everything is fitted, by scikit-learn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fit that was to end early need not have converged
        fitted = GaussianMixture(2, random_state=0, **limits._asdict()).fit(values[:, None])
    order = np.argsort(fitted.means_.ravel())
    means, deviations = fitted.means_.ravel()[order], np.sqrt(fitted.covariances_.ravel()[order])
    return _Components(
        means, deviations, float(fitted.weights_[order[1]]), float(fitted.score_samples(values[:, None]).sum())
    )


def _fit_with_prior(values: Floats, prior: Floats, limits: FitLimits) -> _Components:
    """EM for both components under a share of each sample's own, which scikit-learn has not."""
    share, before = float(prior.mean()), np.log(np.stack([1 - prior, prior]))
    means = np.quantile(values, [(1 - share) / 2, 1 - share / 2])
    deviations = np.full(2, values.std() / 2)
    reached = -np.inf
    for _ in range(limits.max_iter):
        joint = before + np.stack([_log_density(values, *of) for of in zip(means, deviations, strict=True)])
        either = np.logaddexp(*joint)
        if either.mean() - reached < limits.tol:
            break
        reached = either.mean()
        belongs = np.exp(joint - either)  # (2, N)
        mass = belongs.sum(1).clip(1e-12)
        means = belongs @ values / mass
        deviations = np.sqrt((belongs * (values - means[:, None]) ** 2).sum(1) / mass + limits.reg_covar)
    return _Components(means, deviations, share, float(either.sum()))


def _log_density(values: Floats, mean: float, deviation: float) -> Floats:
    return np.asarray(-0.5 * ((values - mean) / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2 * np.pi))
