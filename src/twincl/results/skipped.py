"""`skipped_images.csv`: the images that could not be decoded, why, and the labels that they came with."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from twincl.data.csv_text import unguarded
from twincl.errors import InputError
from twincl.results.folder import SKIPPED, write_table


class Skipped(NamedTuple):
    """An image that could not be decoded."""

    file_name: str
    reason: str
    given_label: str
    split: str  # train or test


def write_skipped(folder: Path, skipped: list[Skipped]) -> None:
    """Write the file into the folder of a run; no file when every image could be decoded."""
    if skipped:
        write_table(folder / SKIPPED, pd.DataFrame(skipped, columns=list(Skipped._fields), dtype=object))


def read_skipped(folder: Path) -> list[Skipped]:
    """What `write_skipped` wrote there.

    Raises:
        InputError: a column is missing.
    """
    file = folder / SKIPPED
    if not file.is_file():
        return []
    table = unguarded(pd.read_csv(file, dtype=object, keep_default_na=False, encoding_errors="surrogateescape"))
    missing = [name for name in Skipped._fields if name not in table.columns]
    if missing:
        raise InputError(
            f"{file} has no column '{missing[0]}'; train the run again, or remove the file and do without its images"
        )
    return [Skipped(*row) for row in table[list(Skipped._fields)].itertuples(index=False, name=None)]
