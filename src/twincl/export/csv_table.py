"""The corrected labels as CSV.

Text is quoted, and what a spreadsheet would take for a formula gets an apostrophe in front (`data.csv_text.guard`),
which twincl takes away again when the file comes back with --labels.
"""

from pathlib import Path

from twincl.export.corrected import corrected_table, said
from twincl.results.corrections import Policy
from twincl.results.finished import FinishedRun
from twincl.results.folder import write_table


def write(run: FinishedRun, output: Path, *, policy: Policy) -> str:
    """One row an image, in the order of the data; those that could not be decoded at the end."""
    table = corrected_table(run, policy)
    write_table(output, table)
    return said(table)
