"""The corrected labels as parquet; the class names are a dictionary, complete and in the order of the classes."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from twincl.errors import InputError
from twincl.export.corrected import corrected_table, said
from twincl.files import atomic_path
from twincl.results.corrections import Policy
from twincl.results.finished import FinishedRun


def write(run: FinishedRun, output: Path, *, policy: Policy) -> str:
    """One row an image, in the order of the data; those that could not be decoded at the end.

    Raises:
        InputError: a file or class name is not valid Unicode, which parquet cannot hold.
    """
    table = corrected_table(run, policy)
    try:
        columns = {name: _array(table[name], run.classes) for name in table.columns}
    except UnicodeEncodeError as error:
        raise InputError(f"parquet cannot hold the name {error.object!r}: it is not Unicode; export csv") from None
    with atomic_path(output) as temporary:
        pq.write_table(pa.table(columns), temporary)
    return said(table)


def _array(column: pd.Series, classes: tuple[str, ...]) -> pa.Array:
    if column.name not in ("given", "corrected"):
        return pa.array(column.to_numpy(), from_pandas=True)
    number = {name: k for k, name in enumerate(classes)}
    return pa.DictionaryArray.from_arrays(
        pa.array([number[name] for name in column], pa.int32()), pa.array(classes, pa.string())
    )
