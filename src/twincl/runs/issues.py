"""The worst labels of a finished run."""

from pathlib import Path

import pandas as pd

from twincl.errors import InputError, did_you_mean
from twincl.results.finished import load_run


def worst_labels(
    run: Path, *, top: int | None = None, given_label: str | None = None, min_confidence: float = 0.0
) -> pd.DataFrame:
    """The labels judged wrong, the most suspect first: of one class, or with sure suggestions only, if asked.

    Raises:
        InputError: the folder holds no finished run, or its data have no such class.
    """
    finished = load_run(run)
    if given_label is not None and given_label not in finished.classes:
        raise InputError(f"unknown class '{given_label}': {did_you_mean(given_label, list(finished.classes))}")
    table = finished.ranked
    wanted = table["is_label_issue"] & (table["suggestion_confidence"] >= min_confidence)
    if given_label is not None:
        wanted &= table["given_label"] == given_label
    return table[wanted].head(len(table) if top is None else top).reset_index(drop=True)
