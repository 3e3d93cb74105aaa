"""The corrected labels as CSV.

Text is quoted and otherwise left as it is, so that file names still join with the data and labels still read as
labels. Quotes do not stop a spreadsheet from taking a cell that begins with = + - or @ for a formula: where names
come from strangers, import the columns as text.
"""

from pathlib import Path

from twincl.export.corrected import corrected_table, said
from twincl.results.corrections import Policy
from twincl.results.finished import FinishedRun
from twincl.results.folder import write_table


def write(run: FinishedRun, output: Path, *, policy: Policy) -> str:
    """One row an image, in the order of the data."""
    table = corrected_table(run, policy)
    write_table(output, table)
    return said(table)
