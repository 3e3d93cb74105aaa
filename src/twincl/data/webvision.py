"""WebVision 1.0 as published: photographs that Google found for the 1,000 classes of ImageNet."""

from pathlib import Path

import numpy as np

from twincl.data.dataset import RawSplit
from twincl.data.listed import listed_lines, locate, read_pairs, refuse_without
from twincl.data.splits import Found
from twincl.errors import InputError

MINI = 50  # the first classes, on which methods are compared
_TRAIN, _VAL, _SYNSETS = "info/train_filelist_google.txt", "info/val_filelist.txt", "info/synsets.txt"
_FLICKR = "info/train_filelist_flickr.txt"  # not read


def is_webvision(root: Path) -> bool:
    """Whether `root` holds the list of Google's images."""
    return (root / _TRAIN).is_file()


def refuse_part_of_webvision(root: Path) -> None:
    """Refuse a `root` that has other lists but not that of Google's images."""
    refuse_without(root, _TRAIN, (_SYNSETS, _FLICKR, _VAL))


def read_webvision(root: Path, *, max_classes: int = MINI, allow_outside: bool = False) -> Found:
    """The Google images of the first `max_classes` classes as training data, WebVision's validation as test.

    A class is named by its line in `info/synsets.txt`, such as `n01440764 tench, Tinca tinca`, or by its number.

    Raises:
        InputError: a list or an image is missing or lies outside `root`, or a label is not among the classes.
    """
    names = listed_lines(root / _SYNSETS) if (root / _SYNSETS).is_file() else None
    classes = None if names is None else tuple(" ".join(name.split()) for name in names)
    splits = {"train": _split(root, _TRAIN, "", classes, max_classes, allow_outside)}
    if (root / _VAL).is_file():
        images = "val_images_256/" if (root / "val_images_256").is_dir() else "val_images/"
        splits["val"] = _split(root, _VAL, images, classes, max_classes, allow_outside)
    count = 1 + max(int(split.labels.max(initial=-1)) for split in splits.values() if split.labels is not None)
    return Found(splits, tuple(str(number) for number in range(count)) if classes is None else classes[:count])


def _split(
    root: Path, listing: str, images: str, classes: tuple[str, ...] | None, max_classes: int, allow_outside: bool
) -> RawSplit:
    listed, labels = read_pairs(root / listing)
    rows = np.flatnonzero(labels < max_classes)
    unnamed = rows[labels[rows] >= len(classes)] if classes is not None else rows[:0]
    if classes is not None and len(unnamed):
        row = int(unnamed[0])
        raise InputError(
            f"line {row + 1} of {root / listing} has the class {labels[row]} but {root / _SYNSETS} has {len(classes)} "
            f"classes, from 0 to {len(classes) - 1}; correct the line or download both again."
        )
    names = [images + listed[row] for row in rows.tolist()]
    return RawSplit(locate(root, names, root / listing, allow_outside=allow_outside), labels[rows], names)
