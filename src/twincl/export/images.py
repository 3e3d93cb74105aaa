"""The images of a run as they lie in the user's data, which is only ever read."""

import os
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from twincl.data.dataset import RawSplit
from twincl.data.folder import SUFFIXES
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.results.finished import FinishedRun

Source = Path | bytes | NDArray[np.uint8]  # a file, its content, or pixels (H, W[, C])

_SUFFIX_OF = {"JPEG": ".jpg", "MPO": ".jpg", "TIFF": ".tif", "JPEG2000": ".jp2"}  # others are called as their format


def judged_data(run: FinishedRun, data: str | None = None) -> RawSplit:
    """What the run judged, in the order of its table, read again from where it was or from `data`.

    Raises:
        InputError: the data are gone, or are no longer those that the run was trained on.
    """
    settings = run.config["data"]
    path = data or settings["path"]
    columns = {name: settings[name] for name in ("image_column", "label_column")}
    whole = read_dataset(path, **columns).train
    rows = run.table["index"].to_numpy(dtype=np.int64)
    if rows.max() >= len(whole) or [whole.names[row] for row in rows] != run.table["file_name"].tolist():
        raise InputError(f"{path} is not the data that {run.folder} was trained on: the names differ; pass --data")
    return whole.subset(rows)


def judged_images(run: FinishedRun, data: str | None = None) -> RawSplit:
    """The same, which must be images."""
    split = judged_data(run, data)
    if split.is_features:
        raise InputError(f"{run.folder} was trained on feature vectors, and this format needs images; export csv")
    return split


def sources(split: RawSplit) -> Iterator[Source]:
    """One image after the other."""
    return iter(split.pixels)


def are_files(split: RawSplit) -> bool:
    """Whether every image is a file of its own, not held in an array or a table."""
    return all(isinstance(source, Path) for source in sources(split))


def suffix_of(source: Source) -> str:
    """The suffix that says what the image is: its own if that is a usual one, otherwise by its content."""
    if isinstance(source, np.ndarray):
        return ".png"
    if isinstance(source, Path) and source.suffix.lower() in SUFFIXES:
        return source.suffix
    try:
        with Image.open(source if isinstance(source, Path) else BytesIO(source)) as image:
            kind = image.format or "png"
    except OSError as error:
        raise InputError(f"the image {_shown(source)} can no longer be read ({error})") from None
    return _SUFFIX_OF.get(kind, f".{kind.lower()}")


def place(source: Source, target: Path, *, link: bool = False) -> None:
    """Put an image at `target`: a file copied or linked, its content as it is, pixels as PNG.

    Raises:
        InputError: the file cannot be read, or not be linked.
    """
    try:
        if isinstance(source, bytes):
            target.write_bytes(source)
        elif isinstance(source, np.ndarray):
            Image.fromarray(source.squeeze(-1) if source.shape[2:] == (1,) else source).save(target, "PNG")
        elif link:
            os.link(source.resolve(), target)
        else:
            shutil.copyfile(source, target)
    except OSError as error:
        how = "linked; leave out --link to copy it" if link else "copied"
        raise InputError(f"the image {_shown(source)} cannot be {how} ({error.strerror or error})") from None


def _shown(source: Source) -> str:
    return str(source) if isinstance(source, Path) else "in the data"
