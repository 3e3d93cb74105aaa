"""The list of labels that are probably wrong, with what they should be."""

import numpy as np
import pandas as pd

from twincl.results.judgement import Judgement, Labels


def issue_table(
    judgement: Judgement,
    predicted: Labels,
    *,
    names: list[str],
    rows: Labels,
    held_out: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    classes: tuple[str, ...],
) -> pd.DataFrame:
    """One row for each judged image, the most suspect first; cleanlab's column names and direction.

    `index` is `rows`, the image's place in the user's data. `label_quality` ranks, low is suspect. `is_label_issue`
    says that the most likely class, knowing image, neighbours and label, is not the given one; `suggested_label` is
    that class and `suggestion_confidence` the probability that it is right; `clean_probability` is that of the given
    label. `predicted_label` is what the classifier says of the image. `split` tells images that were learned from and
    those that were held out.
    """
    class_names = np.asarray(classes, dtype=object)
    table = pd.DataFrame(
        {
            "index": rows,
            "file_name": pd.Series(names, dtype=object),  # names need not be valid Unicode
            "given_label": class_names[judgement.given],
            "predicted_label": class_names[predicted],
            "is_label_issue": judgement.is_issue,
            "label_quality": judgement.label_quality,
            "clean_probability": judgement.clean_probability,
            "suggested_label": class_names[judgement.suggested],
            "suggestion_confidence": judgement.confidence,
            "split": np.where(held_out, "held_out", "train"),
        }
    )
    return table.sort_values(["label_quality", "index"], ignore_index=True).round(6)
