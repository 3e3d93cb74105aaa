"""Corrected labels beside the run they come from."""

from pathlib import Path

import pandas as pd

from twincl.errors import InputError
from twincl.files import refuse_existing
from twincl.results.corrections import Policy, correct, count_actions, drop_skipped
from twincl.results.finished import load_run
from twincl.results.folder import CORRECTED, write_table


def write_corrections(run: Path, policy: Policy, *, force: bool = False) -> dict[str, int]:
    """Write RUN/corrected_labels.csv, one row an image; returns how many labels met which action.

    The file serves as labels of a next training: --labels RUN/corrected_labels.csv:corrected. So that it names every
    image of the data, those that could not be decoded follow at the end, to be dropped, with their given labels.

    Raises:
        InputError: the folder holds no finished run, or the file is there and `force` was not asked for.
    """
    finished = load_run(run)
    refuse_existing(run / CORRECTED, force=force)
    corrected = pd.concat([correct(finished.table, policy), drop_skipped(finished.skipped)], ignore_index=True)
    write_table(run / CORRECTED, corrected)
    return count_actions(corrected)


def count_corrections(run: Path) -> dict[str, int]:
    """How many labels meet which action in the RUN/corrected_labels.csv that is there.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return count_actions(pd.read_csv(run / CORRECTED, encoding_errors="surrogateescape", keep_default_na=False))
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{run / CORRECTED} cannot be read ({error}); remove it, or write it anew with twincl correct"
        ) from None
