"""What is thought of each given label: is it right, what should it be, how sure is that."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twincl.core.noise_model import NoiseModel

Labels = NDArray[np.int64]


class Judgement(NamedTuple):
    """Answers for N labels; all probabilities are calibrated without a true label."""

    given: Labels  # (N,)
    label_quality: NDArray[np.float32]  # (N,) probability of the given label by all but itself: ranks, low is suspect
    clean_probability: NDArray[np.float32]  # (N,) that the given label is right, knowing it and how these labels err
    suggested: Labels  # (N,) the most likely class, knowing both
    confidence: NDArray[np.float32]  # (N,) that the suggested label is right
    by_class: NDArray[np.float64]  # (K, K) expected number of images given label i whose class is j

    @property
    def is_issue(self) -> NDArray[np.bool_]:
        """(N,) whether another label is suggested."""
        return np.asarray(self.suggested != self.given)

    @property
    def noise_rate(self) -> float:
        """Estimated share of wrong labels."""
        return noise_rate(self.clean_probability, self.is_issue)

    @property
    def transition_matrix(self) -> NDArray[np.float64]:
        """(K, K) row: given label; column: share of it that is of a class."""
        return np.asarray(self.by_class / self.by_class.sum(1, keepdims=True).clip(1e-12))


def noise_rate(clean_probability: NDArray[np.floating], is_issue: NDArray[np.bool_]) -> float:
    """Estimated share of wrong labels among N: what is expected, or what is called wrong if that is more.

    Probabilities that are too timid make the expectation too small.
    """
    expected = float(1 - clean_probability.mean(dtype=np.float64))
    return max(expected, float(is_issue.mean()))


def judge_labels(calibrated: NDArray[np.float32], given: Labels, model: NoiseModel) -> Judgement:
    """Judge N labels by calibrated class probabilities (N, K) that know nothing of them."""
    rows, classes = np.arange(len(given)), calibrated.shape[1]
    posterior = model.posterior(calibrated, given)
    suggested = posterior.argmax(1)
    by_class = np.stack(
        [np.bincount(given, column, minlength=classes) for column in posterior.T], axis=1, dtype=np.float64
    )
    return Judgement(
        given,
        calibrated[rows, given],
        posterior[rows, given],
        suggested,
        posterior[rows, suggested],
        by_class,
    )
