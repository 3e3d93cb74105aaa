"""The validation images of ILSVRC 2012 in one folder with a list of their classes.

Sorted into a folder for each synset they are class folders like any other; `synsets.py` matches them to WebVision.
"""

from pathlib import Path

import numpy as np

from twincl.data.dataset import RawSplit
from twincl.data.listed import locate, read_pairs
from twincl.data.splits import Found
from twincl.errors import InputError

_LIST = "val.txt"  # `ILSVRC2012_val_00000001.JPEG 65`, the classes numbered from 0 in the order of their synsets
_DEVKIT = "ILSVRC2012_validation_ground_truth.txt"  # a number a line, in an order of classes of its own


def is_ilsvrc_validation(folder: Path) -> bool:
    """Whether `folder` holds the images, not sorted, and a list."""
    listed = any((folder / name).is_file() for name in (_LIST, _DEVKIT))
    return listed and next(folder.glob("ILSVRC2012_val_*"), None) is not None


def read_ilsvrc_validation(folder: Path, *, allow_outside: bool = False) -> Found:
    """The listed images; their labels are numbers in the order of the synsets.

    Raises:
        InputError: there is only the list of the development kit, or an image is missing.
    """
    if not (folder / _LIST).is_file():
        raise InputError(
            f"{folder / _DEVKIT} numbers the classes in an order of its own; sort the images into a folder for each "
            f"synset (n01440764/...), or add {_LIST} with lines such as 'ILSVRC2012_val_00000001.JPEG 65'."
        )
    names, labels = read_pairs(folder / _LIST)
    files = locate(folder, names, folder / _LIST, allow_outside=allow_outside)
    return Found({"train": RawSplit(files, np.asarray(labels), names)})
