"""Signs that a training went wrong although nothing failed, in plain words."""

import numpy as np
from numpy.typing import NDArray

from twincl.core.noise_model import LEAST_SAMPLES

COLLAPSED = 0.95  # share of all predictions in one class that is suspicious ...
USUAL = 0.8  # ... unless so many of the given labels are of that class
CERTAIN = 1 - 1e-5  # no label is doubted beyond what keeps logarithms finite


def symptoms(
    predicted: NDArray[np.integer],
    given: NDArray[np.integer],
    clean: NDArray[np.floating],
    classes: tuple[str, ...],
) -> dict[str, str]:
    """What is suspicious about predictions (N,), given labels (N,) and the clean probability w (N,) of these.

    Returns:
        Kind of symptom -> a sentence: what it is and what to try. Kinds: `too_few`, `collapsed`, `nothing_clean`,
        `one_mode`.
    """
    found: dict[str, str] = {}
    if len(given) < LEAST_SAMPLES:
        found["too_few"] = (
            f"{len(given)} labels are too few to judge, at least {LEAST_SAMPLES} are needed: all are taken for right"
        )
    counts = np.bincount(predicted, minlength=len(classes))
    top = int(counts.argmax())
    if counts[top] > COLLAPSED * len(given) and (given == top).mean() < USUAL:
        found["collapsed"] = (
            f"{counts[top] / len(given):.0%} of the training data are predicted to be '{classes[top]}': the model has "
            "collapsed; try a lower learning rate, more epochs or, with the method tcl, a larger "
            "tcl.weight_marginal_entropy"
        )
    if (clean > 0.5).sum() < len(np.unique(given)):
        found["nothing_clean"] = (
            "hardly any label is judged clean, so there is nothing to learn the classes from; check that labels and "
            "data belong together, or try more epochs, with the method tcl also of those on the given labels "
            "(tcl.label_epochs)"
        )
    if (clean >= CERTAIN).all():
        found["one_mode"] = (
            "right and wrong labels could not be told apart, so none of them was doubted in training; if you know that "
            "many are wrong, try more epochs"
        )
    return found
