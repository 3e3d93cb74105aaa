"""Folders of images with a `metadata` table beside them, as Hugging Face's ImageFolder has them."""

from pathlib import Path

import numpy as np

from twincl.data.columns import LABEL_COLUMNS, find_column
from twincl.data.dataset import RawSplit
from twincl.data.folder import find_images
from twincl.data.splits import Found, split_kind
from twincl.data.tables import SUFFIXES, open_table, read_table
from twincl.errors import InputError

_NAMES = tuple(f"metadata{suffix}" for suffix in SUFFIXES)


def read_metadata(
    root: Path, *, image_column: str | None, label_column: str | None, allow_outside: bool = False
) -> Found | None:
    """The images that `metadata.csv`, `.jsonl` or `.parquet` lists, or None if there is none with labels.

    The table lies in `root`, with the split as first folder of each path, or one lies in each split's folder. Images
    that are not listed are passed over and counted.
    """
    folders: list[tuple[str | None, Path]] = [(None, root)]
    for child in sorted(root.iterdir()):
        kind = split_kind(child.name)
        if kind is not None and child.is_dir():
            folders.append((kind, child))
    splits: dict[str, RawSplit] = {}
    classes: tuple[str, ...] | None = None
    for kind, folder in folders:
        file = next((folder / name for name in _NAMES if (folder / name).is_file()), None)
        if file is None:
            continue
        table = open_table(file)
        if label_column is None and find_column(table.names, None, LABEL_COLUMNS, str(file)) is None:
            continue  # captions or the like; the folders may still be classes
        found = read_table(table, image_column=image_column, label_column=label_column, allow_outside=allow_outside)
        classes = classes or found.classes
        if kind is None:
            return Found(_by_folder(found.splits), classes, ignored=_unlisted(root, found.splits))
        if list(found.splits) != ["train"]:
            raise InputError(f"{file} lies in the folder of one split but has a split column; remove one of the two.")
        if kind in splits:
            raise InputError(f"{root} has two folders for the split '{kind}'; keep one of them.")
        part = found.splits["train"]
        splits[kind] = RawSplit(part.pixels, part.labels, [f"{folder.name}/{name}" for name in part.names])
    return Found(splits, classes, ignored=_unlisted(root, splits)) if splits else None


def _unlisted(root: Path, splits: dict[str, RawSplit]) -> int:
    """How many images below `root` no table lists."""
    listed = {name for split in splits.values() for name in split.names}
    return len(set(find_images(root)[0]) - listed)


def _by_folder(splits: dict[str, RawSplit]) -> dict[str, RawSplit]:
    """A table without a split column, divided by the first folder of each path if all of these are splits."""
    if list(splits) != ["train"]:
        return splits
    whole = splits["train"]
    kinds = [split_kind(name.split("/", 1)[0]) for name in whole.names]
    if not all(kinds):
        return splits
    return {kind: whole.subset(np.array(kinds) == kind) for kind in dict.fromkeys(filter(None, kinds))}
