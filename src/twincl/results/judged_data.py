"""The data of a finished run, read again: what reports show and exports copy."""

from pathlib import Path

import numpy as np

from twincl.data.dataset import RawDataset, RawSplit
from twincl.data.read import place_of, read_dataset
from twincl.errors import InputError
from twincl.results.finished import FinishedRun


def judged_data(run: FinishedRun, data: str | None = None) -> RawSplit:
    """What the run judged, in the order of its table, from where it was or from `data`; nothing is decoded.

    Raises:
        InputError: it is not there, cannot be read, or is not what the run was trained on; the message is a clause.
    """
    whole, rows = data_of(run, data).train, run.table["index"].to_numpy(dtype=np.int64)
    return whole if len(rows) == len(whole) else whole.subset(rows)  # an array is not copied for nothing


def data_of(run: FinishedRun, data: str | None = None) -> RawDataset:
    """The data set that the run was trained on, all of it, likewise."""
    settings = run.config["data"]
    path = data or settings["path"]
    place = place_of(path)
    if path != "digits" and not place.exists():
        where = "" if place.is_absolute() else f" (looked for from {Path.cwd()})"
        raise InputError(f"there are no data at {path}{where}")
    columns = {name: settings[name] for name in ("image_column", "label_column")}
    outside, most = settings.get("allow_outside", False), settings.get("max_classes")
    try:
        found = read_dataset(path, **columns, allow_outside=outside, max_classes=most)
    except InputError as error:
        raise InputError(f"the data at {path} cannot be read: {str(error).removesuffix('.')}") from None
    rows, names = run.table["index"], found.train.names
    if rows.max() >= len(names) or [names[row] for row in rows] != run.table["file_name"].tolist():
        raise InputError(f"the data at {path} are not those that the run was trained on")
    return found
