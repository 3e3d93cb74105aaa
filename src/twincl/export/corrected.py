"""The table that the formats for tables hold: every label, what became of it and why."""

import numpy as np
import pandas as pd

from twincl.results.corrections import Policy, correct, count_actions, drop_skipped
from twincl.results.finished import FinishedRun


def corrected_table(run: FinishedRun, policy: Policy) -> pd.DataFrame:
    """Columns file, given, corrected, action, confidence, label_quality, split; in the order of the data.

    Images that could not be decoded follow at the end, without a label quality.
    """
    judged = correct(run.table, policy)
    judged = judged.assign(label_quality=run.table["label_quality"].to_numpy(), split=run.table["split"].to_numpy())
    rest = drop_skipped(run.skipped).assign(label_quality=np.nan, split="skipped")
    return pd.concat([judged, rest], ignore_index=True) if len(rest) else judged


def said(table: pd.DataFrame) -> str:
    """How many labels are kept, relabelled and dropped, in words."""
    counts = count_actions(table)
    return f"{len(table)} labels: {counts['keep']} kept, {counts['relabel']} relabelled, {counts['drop']} dropped"
