"""The list of labels that are probably wrong, with what they should be."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from twincl.methods.method import Verdict

Labels = NDArray[np.int64]


def is_issue(verdict: Verdict, given: Labels) -> NDArray[np.bool_]:
    """(N,) whether the label is judged wrong: unlikely to be clean, and the classifier says something else."""
    predicted = verdict.class_probabilities.argmax(1).numpy()
    return np.asarray((verdict.clean_probability.numpy() < 0.5) & (predicted != given), dtype=np.bool_)


def corrected_labels(verdict: Verdict, given: Labels) -> Labels:
    """(N,) the given label, replaced by the prediction where it is an issue."""
    return np.where(is_issue(verdict, given), verdict.class_probabilities.argmax(1).numpy(), given)


def issue_table(
    verdict: Verdict, given: Labels, names: list[str], rows: Labels, classes: tuple[str, ...]
) -> pd.DataFrame:
    """One row for each training image, the most suspect first; cleanlab's column names and direction.

    `index` is `rows`, the image's place in the user's data; `label_quality` ranks, low is suspect; `clean_probability`
    decides; `suggested_label` is the given label where that is not an issue; `suggestion_confidence` is the
    classifier's probability of the suggested label.
    """
    class_names = np.asarray(classes, dtype=object)
    probabilities = verdict.class_probabilities.numpy()
    suggested = corrected_labels(verdict, given)
    table = pd.DataFrame(
        {
            "index": rows,
            "file_name": pd.Series(names, dtype=object),  # names need not be valid Unicode
            "given_label": class_names[given],
            "predicted_label": class_names[probabilities.argmax(1)],
            "is_label_issue": is_issue(verdict, given),
            "label_quality": verdict.label_quality.numpy(),
            "clean_probability": verdict.clean_probability.numpy(),
            "suggested_label": class_names[suggested],
            "suggestion_confidence": probabilities[np.arange(len(given)), suggested],
        }
    )
    return table.sort_values(["label_quality", "index"], ignore_index=True).round(6)
