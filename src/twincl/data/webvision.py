"""WebVision 1.0 as published: photographs that Google found for the 1,000 classes of ImageNet."""

from pathlib import Path

import numpy as np

from twincl.data.dataset import RawSplit
from twincl.data.listed import listed_lines, locate, read_pairs
from twincl.data.splits import Found
from twincl.errors import InputError

MINI = 50  # the first classes, on which methods are compared
_TRAIN, _VAL, _SYNSETS = "info/train_filelist_google.txt", "info/val_filelist.txt", "info/synsets.txt"


def is_webvision(root: Path) -> bool:
    """Whether `root` holds the list of Google's images."""
    return (root / _TRAIN).is_file()


def read_webvision(root: Path, *, max_classes: int = MINI, allow_outside: bool = False) -> Found:
    """The Google images of the first `max_classes` classes as training data, WebVision's validation as test.

    A class is named by its line in `info/synsets.txt`, such as `n01440764 tench, Tinca tinca`, or by its number.

    Raises:
        InputError: a list or an image is missing or lies outside `root`, or a class has no name.
    """
    splits = {"train": _split(root, _TRAIN, "", max_classes, allow_outside)}
    if (root / _VAL).is_file():
        images = "val_images_256/" if (root / "val_images_256").is_dir() else "val_images/"
        splits["val"] = _split(root, _VAL, images, max_classes, allow_outside)
    count = 1 + max(int(split.labels.max(initial=-1)) for split in splits.values() if split.labels is not None)
    return Found(splits, _class_names(root / _SYNSETS, count))


def _split(root: Path, listing: str, images: str, max_classes: int, allow_outside: bool) -> RawSplit:
    listed, labels = read_pairs(root / listing)
    rows = np.flatnonzero(labels < max_classes)
    names = [images + listed[row] for row in rows.tolist()]
    return RawSplit(locate(root, names, root / listing, allow_outside=allow_outside), labels[rows], names)


def _class_names(file: Path, count: int) -> tuple[str, ...]:
    if not file.is_file():
        return tuple(str(number) for number in range(count))
    names = listed_lines(file)
    if len(names) < count:
        raise InputError(f"{file} names {len(names)} classes but the lists have {count}; download it again.")
    return tuple(" ".join(name.split()) for name in names[:count])
