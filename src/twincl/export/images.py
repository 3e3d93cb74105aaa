"""The images of a run as they lie in the user's data, which is only ever read."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from twincl.data.dataset import RawSplit
from twincl.data.decode import open_image
from twincl.data.folder import SUFFIXES
from twincl.errors import InputError
from twincl.results.finished import FinishedRun
from twincl.results.judged_data import judged_data

Source = Path | bytes | NDArray[np.uint8]  # a file, its content, or pixels (H, W[, C])

_SUFFIX_OF = {"JPEG": ".jpg", "MPO": ".jpg", "TIFF": ".tif", "JPEG2000": ".jp2"}  # others are called as their format


def judged_images(run: FinishedRun, data: str | None = None) -> RawSplit:
    """What the run judged, which must be images, in the order of its table.

    Raises:
        InputError: they are gone, or no longer those that the run was trained on; or they are feature vectors.
    """
    try:
        split = judged_data(run, data)
    except InputError as error:
        raise InputError(f"{error}; say with --data where they are") from None
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
        with open_image(source) as image:
            kind = image.format or "png"
    except Exception as error:  # damaged files raise errors of every kind
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
