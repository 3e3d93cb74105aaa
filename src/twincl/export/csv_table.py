"""The corrected labels as CSV.

Text is quoted and otherwise left as it is, so that file names still join with the data and labels still read as
labels. Quotes do not stop a spreadsheet from taking a cell that begins with = + - or @ for a formula: where names
come from strangers, import the columns as text.
"""

import csv
from pathlib import Path

import pandas as pd

from twincl.export.corrected import corrected_table, said
from twincl.files import atomic_path
from twincl.results.corrections import Policy
from twincl.results.finished import FinishedRun


def write(run: FinishedRun, output: Path, *, policy: Policy) -> str:
    """One row an image, in the order of the data."""
    table = corrected_table(run, policy)
    write_table(output, table)
    return said(table)


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV, every text quoted; file names of another encoding keep their bytes."""
    with atomic_path(path) as temporary:
        table.to_csv(temporary, index=False, quoting=csv.QUOTE_NONNUMERIC, errors="surrogateescape")
