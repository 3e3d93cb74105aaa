"""Images that a run could not decode, among its corrections: a file of labels must name every image of the data."""

import pandas as pd

from twincl.config import build_config
from twincl.data.csv_text import unguarded
from twincl.errors import InputError
from twincl.results.corrections import drop
from twincl.results.finished import FinishedRun
from twincl.results.folder import CONFIG, SKIPPED
from twincl.results.judged_data import data_of
from twincl.runs.labels import all_labels


def skipped_images(run: FinishedRun) -> pd.DataFrame:
    """A row to drop for each of them, as `results.corrections.drop` makes it, in the order of the data.

    Their labels are read again from the data; there are no rows where these are gone.
    """
    file = run.folder / SKIPPED
    if not file.is_file():
        return drop([], [])
    listed = pd.read_csv(file, dtype=object, keep_default_na=False, encoding_errors="surrogateescape")
    broken = set(unguarded(listed)["file_name"])  # of the test data, too
    settings = build_config(file=run.folder / CONFIG, settings={}).data
    try:
        data = data_of(run)
        labels = all_labels(settings.model_copy(update={"true_labels": None}), data, None)
    except InputError:
        return drop([], [])
    judged = set(run.table["index"])
    rows = [row for row, name in enumerate(data.train.names) if name in broken and row not in judged]
    return drop([data.train.names[row] for row in rows], [labels.classes[labels.given[row]] for row in rows])
