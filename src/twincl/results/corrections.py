"""From a verdict on every label to a decision about it: keep, relabel or drop."""

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from twincl.errors import InputError
from twincl.results.skipped import Skipped

ACTIONS = ("keep", "relabel", "drop")


@dataclass(frozen=True)
class Policy:
    """How sure the run must be before a label is changed or an image left out; both from 0 to 1.

    A threshold of 1 all but switches `relabel` off, one of 0 switches `drop` off.
    """

    relabel_above: float = 0.8  # least confidence in the suggested label at which it replaces the given one
    drop_below: float = 0.2  # clean probability below which an image that is not relabelled is left out

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value <= 1:
                flag = field.name.replace("_", "-")
                raise InputError(f"--{flag} is a probability, so it cannot be {value}; give a number from 0 to 1")


def correct(table: pd.DataFrame, policy: Policy) -> pd.DataFrame:
    """Decide about every label of an issue table, row by row and in its order.

    - A label that is no issue is kept; `confidence` is its clean probability.
    - An issue whose suggestion is at least `relabel_above` sure is relabelled; `confidence` is that of the suggestion.
    - Any other issue less than `drop_below` likely to be clean is dropped; `confidence` is 1 minus that likelihood.
    - The rest is kept; `confidence` is its clean probability.

    Returns columns file, given, corrected, action (keep, relabel, drop), confidence. A dropped row keeps its given
    label in `corrected`, so that the column is complete and can be read as labels: `action` says that it is to go.
    """
    issue = table["is_label_issue"].to_numpy(dtype=bool)
    clean, sure = (table[name].to_numpy(dtype=float) for name in ("clean_probability", "suggestion_confidence"))
    given, suggested = (table[name].to_numpy(dtype=object) for name in ("given_label", "suggested_label"))
    relabel = issue & (sure >= policy.relabel_above)
    drop = issue & ~relabel & (clean < policy.drop_below)
    keep, relabelled, dropped = ACTIONS
    text = {
        "file": table["file_name"].to_numpy(dtype=object),
        "given": given,
        "corrected": np.where(relabel, suggested, given),
        "action": np.select([relabel, drop], [relabelled, dropped], keep),
    }
    confidence = np.select([relabel, drop], [sure, 1 - clean], clean).round(6)
    return pd.DataFrame(text, dtype=object).assign(confidence=confidence)  # names need not be valid Unicode


def drop_skipped(skipped: list[Skipped]) -> pd.DataFrame:
    """The same columns for the training images that could not be decoded: to be dropped, surely, as they came."""
    those = [one for one in skipped if one.split == "train"]
    given = [one.given_label for one in those]
    text = {"file": [one.file_name for one in those], "given": given, "corrected": given, "action": ACTIONS[2]}
    return pd.DataFrame(text, dtype=object).assign(confidence=1.0)


def count_actions(corrected: pd.DataFrame) -> dict[str, int]:
    """How many labels are kept, relabelled and dropped."""
    return {action: int((corrected["action"] == action).sum()) for action in ACTIONS}
