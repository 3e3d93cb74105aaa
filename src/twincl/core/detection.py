"""Wrong labels as out-of-distribution samples: the two-component mixture of Section 3.2 (Eq. 8).

Input is one score for each sample, the higher the more likely its label is right (Eq. 7, or any other).
Output is the probability that the label is clean. The mixture itself is scikit-learn's; what is ours are
the guards for input on which two components say nothing.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from twincl.core.spread import evenly_spaced

Floats = NDArray[np.float64]

MIN_SAMPLES = 10  # fewer scores than this say nothing about two components
FIT_SAMPLES = 100_000  # five parameters are fitted to so many quantiles as well as to all scores


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
    scores: NDArray[np.floating], *, monotone: bool = True, rescale: bool = True, limits: FitLimits = USUAL
) -> CleanFit:
    """Eq. 8: posterior of the component with the higher mean, for each of the N scores.

    Two unequal Gaussians give the far side of the narrow one to the broad one, so that the highest scores
    can come out as wrong. `monotone` evaluates the posterior with scores clipped to the interval between
    the two means, where it can only rise. `rescale` fits on scores brought to [0, 1]: an affine change that only
    the tolerance and the regularisation of the fit can see. More than 100,000 scores are fitted by as many of their
    quantiles; every one of them gets its posterior.

    No evidence against any label, probability one for all, is the answer for: fewer than ten scores, constant
    scores, scores that one Gaussian describes better (by BIC), a component that collapsed onto nothing.

    Raises:
        ValueError: a score is not finite.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite")
    trusted = CleanFit(np.ones(len(values)), None, None, None)
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
    if len(values) < MIN_SAMPLES or high - low < 1e-9:
        return trusted

    offset, scale = (low, high - low) if rescale else (0.0, 1.0)
    unit = ((values - offset) / scale)[:, None]
    fitted = unit if len(unit) <= FIT_SAMPLES else _quantiles(unit, FIT_SAMPLES)
    two, one = (_fit(components, fitted, limits) for components in (2, 1))
    wrong, clean = np.argsort(two.means_.ravel())
    means = two.means_.ravel()[[wrong, clean]]
    weights = two.weights_[[wrong, clean]]
    if two.bic(fitted) >= one.bic(fitted) or weights.min() * len(fitted) < 1 or means[1] - means[0] < 1e-6:
        return trusted

    evaluated = unit.clip(means[0], means[1]) if monotone else unit
    deviations = np.sqrt(two.covariances_.ravel()[[wrong, clean]])
    return CleanFit(
        two.predict_proba(evaluated)[:, clean],
        (float(offset + scale * means[0]), float(offset + scale * means[1])),
        (float(scale * deviations[0]), float(scale * deviations[1])),
        (float(weights[0]), float(weights[1])),
    )


def clean_probability_per_class(
    scores: NDArray[np.floating],
    labels: NDArray[np.integer],
    *,
    monotone: bool = True,
    rescale: bool = True,
    limits: FitLimits = USUAL,
) -> Floats:
    """Eq. 8 fitted to the samples of each given label apart, (N,).

    A class in which two modes cannot be told apart takes its samples' values from the fit to all samples.
    """
    probability = clean_probability(scores, monotone=monotone, rescale=rescale, limits=limits).probability
    by_label = np.argsort(labels, kind="stable")
    _, counts = np.unique(labels, return_counts=True)
    for members in np.split(by_label, np.cumsum(counts)[:-1]):
        fit = clean_probability(scores[members], monotone=monotone, rescale=rescale, limits=limits)
        if fit.means is not None:
            probability[members] = fit.probability
    return probability


def _fit(components: int, values: Floats, limits: FitLimits) -> GaussianMixture:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fit that was to end early need not have converged
        return GaussianMixture(components, random_state=0, **limits._asdict()).fit(values)


def _quantiles(values: Floats, count: int) -> Floats:
    """`count` of the rows (N, 1), evenly spaced in the order of their size, the smallest and the largest among them."""
    return np.sort(values, axis=0)[evenly_spaced(len(values), count)]
