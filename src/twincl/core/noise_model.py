"""From class probabilities and given labels to calibrated answers: is the label right, and what should it be.

A label y is taken as drawn from the unseen true class z: y ~ T[z, .], z ~ p_t(. | x), where p_t are the class
probabilities at a temperature t. T (K, K) and t are fitted to the given labels; no true label is needed. Bayes' rule
then weighs what is known of the sample against how the labels at hand tend to err: q(z | x, y) ~ p_t(z | x) T[z, y].

t stays close to one unless the labels speak clearly against it. Uniform noise looks much like timid predictions, so
where labels are few or mostly wrong the likelihood hardly tells the two apart.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from twincl.core.spread import evenly_ranked

Floats = NDArray[np.float64]
Labels = NDArray[np.integer]

TEMPERATURE_SPREAD = 0.05  # standard deviation of the prior of log t
TEMPERATURES = np.geomspace(0.1, 5, 9)  # where the search begins
SEARCH_ENTRIES, FIT_ENTRIES = 2**17, 2**25  # samples x classes that are looked at to find t, and then T
LEAST_SAMPLES = 10  # fewer cannot tell how labels err
LEAST_ROWS = 1000  # samples at least, however many classes
BLOCK = 2**22  # entries that are worked on at a time
SEARCH_STEPS, FIT_STEPS = 15, 10  # EM steps for T: at each temperature tried, and in the end


class ClassProbabilities(Protocol):
    """An array (N, K), or what stands for one and computes the rows that it is asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """N and K."""

    def __getitem__(self, rows: Any, /) -> NDArray[np.floating]:
        """Some of the rows, by a slice or their numbers."""


class NoiseModel(NamedTuple):
    """How the given labels come about."""

    transition: Floats  # (K, K): row z is the distribution of the labels given to class z
    temperature: float  # below one where the class probabilities are too timid

    def calibrated(self, probabilities: NDArray[np.floating]) -> NDArray[np.float32]:
        """p_t(z | x), (N, K), from class probabilities: the class when all but its own label is known."""
        answer = np.empty(probabilities.shape, np.float32)
        for rows in _blocks(probabilities.shape):
            answer[rows] = _tempered(_log(probabilities[rows]), self.temperature)
        return answer

    def posterior(self, calibrated: NDArray[np.floating], given: Labels) -> NDArray[np.float32]:
        """q(z | x, y), (N, K), from p_t: the class when its label is known, too."""
        answer = np.empty(calibrated.shape, np.float32)
        for rows in _blocks(calibrated.shape):
            joint = calibrated[rows] * self.transition.T[given[rows]]
            answer[rows] = joint / joint.sum(1, keepdims=True)
        return answer

    def clean_probability(self, probabilities: ClassProbabilities, given: Labels) -> NDArray[np.float32]:
        """q(y | x, y), (N,), from class probabilities: that the given label is right."""
        answer = np.empty(len(given), np.float32)
        for rows in _blocks(probabilities.shape):
            labels = given[rows]
            joint = _tempered(_log(probabilities[rows]), self.temperature)
            joint *= self.transition.T[labels]
            answer[rows] = joint[np.arange(len(labels)), labels] / joint.sum(1)
        return answer


def fit_noise_model(probabilities: ClassProbabilities, given: Labels) -> NoiseModel:
    """The most likely T and t, a priori and by class probabilities (N, K) and given labels (N,).

    The likelihood of t, at the best T for it, can have several peaks, so the search begins with a grid. It looks at
    some samples of each label where there are many, the fit of T that follows at more of them. T has a prior worth one
    sample a class: the overall share of right labels on the diagonal and the rest spread evenly, so that a class
    without samples gets the average row, and no entry is zero. Its diagonal is never below the rest of a row: it is by
    their own label that classes are known, and of few samples the likelihood alone could swap two of them. Fewer than
    ten say nothing of how labels err, and every label is taken for right.
    """
    classes = probabilities.shape[1]
    if len(given) < LEAST_SAMPLES:
        return NoiseModel(np.eye(classes), 1.0)
    rows, ends = _by_label(given, classes, SEARCH_ENTRIES)
    logs = _log(probabilities[rows])

    def loss(log_temperature: float) -> float:
        calibrated = _tempered(logs, np.exp(log_temperature))
        likelihood = _counts(calibrated, ends, _fit_transition(calibrated, ends, SEARCH_STEPS)).log_likelihood
        return -likelihood + (log_temperature / TEMPERATURE_SPREAD) ** 2 / 2

    grid = np.log(TEMPERATURES)
    best = int(np.argmin([loss(place) for place in grid]))
    bounds = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    temperature = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.03}).x))

    rows, ends = _by_label(given, classes, FIT_ENTRIES)
    calibrated = _tempered(_log(probabilities[rows]), temperature)
    return NoiseModel(_fit_transition(calibrated, ends, FIT_STEPS), temperature)


def _by_label(given: Labels, classes: int, entries: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Samples for so many entries of a matrix (N, K), in the order of their labels; where those of each end, (K,)."""
    sample = evenly_ranked(given, max(LEAST_ROWS, entries // classes))
    return sample, np.cumsum(np.bincount(given[sample], minlength=classes))


def _fit_transition(calibrated: Floats, ends: NDArray[np.int64], steps: int) -> Floats:
    """T by so many steps of EM, from class probabilities in the order of labels."""
    classes = calibrated.shape[1]
    transition: Floats = 0.8 * np.eye(classes) + 0.2 / classes
    for _ in range(steps):
        transition = _updated(_counts(calibrated, ends, transition).of_class_with_label)
    return transition


class _Counts(NamedTuple):
    of_class_with_label: Floats  # (K, K): expected number of samples of class z with label y
    log_likelihood: float  # of all labels


def _counts(calibrated: Floats, ends: NDArray[np.int64], transition: Floats) -> _Counts:
    """The E-step. Rows come by label, so that two products of matrix and vector a label take the posterior's place."""
    by_label = np.ascontiguousarray(transition.T)
    counts, log_likelihood = np.empty_like(by_label), 0.0
    for label, (rows, given_class) in enumerate(zip(np.split(calibrated, ends[:-1]), by_label, strict=True)):
        likelihood = rows @ given_class
        np.multiply(given_class, (1 / likelihood) @ rows, out=counts[label])
        log_likelihood += float(np.log(likelihood).sum())
    return _Counts(counts.T, log_likelihood)


def _updated(counts: Floats) -> Floats:
    """The M-step of T, with the prior."""
    classes = len(counts)
    right = min(max(float(np.trace(counts) / counts.sum()), 1e-6), 1 - 1e-6)
    wrong = (1 - right) / max(1, classes - 1)
    joint = counts + wrong
    diagonal = np.diag_indices(classes)
    joint[diagonal] += right - wrong
    joint[diagonal] = joint.max(1)
    joint /= joint.sum(1, keepdims=True)
    return joint


def _tempered(logs: Floats, temperature: float) -> Floats:
    powers = logs - logs.max(1, keepdims=True)
    powers /= temperature
    np.exp(powers, out=powers)
    powers /= powers.sum(1, keepdims=True)
    return np.asarray(powers)


def _log(probabilities: NDArray[np.floating]) -> Floats:
    values = probabilities.astype(np.float64)
    np.maximum(values, 1e-12, out=values)
    return np.log(values, out=values)


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    rows = max(1, BLOCK // shape[1])
    return (slice(start, start + rows) for start in range(0, shape[0], rows))
