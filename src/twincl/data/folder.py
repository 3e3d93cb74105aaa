"""Folders of images: one folder per class, with or without split folders above them."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from twincl.data.dataset import RawSplit
from twincl.data.splits import Found, split_kind
from twincl.errors import InputError

SUFFIXES = frozenset(
    f".{kind}"
    for kind in (
        *("jpg", "jpeg", "jpe", "jfif", "png", "bmp", "gif", "webp"),
        *("tif", "tiff", "ppm", "pgm", "pbm", "pnm", "avif", "jp2"),
    )
)


_MOST_WAYS = 16  # by which links may lead to one folder


def read_folder(root: Path) -> Found:
    """`class/.../x.jpg` or `split/class/.../x.jpg`, in the order of the names; a flat folder has no labels.

    Hidden files, files that are not images, and images beside the class folders are passed over and counted.

    Raises:
        InputError: there are no images, or split folders lie beside other folders of images.
    """
    images, ignored = find_images(root)
    if not images:
        raise InputError(
            f"{root} holds no images ({ignored} other files); expected one folder of images per class in it."
        )
    tops = {name.split("/", 1)[0] for name in images if "/" in name}
    if not _is_split_layout(tops, images, root):
        split, loose = _labelled(root, images, depth=0)
        return Found({"train": split}, ignored=ignored + loose)
    groups: dict[str, list[str]] = {}
    for name in images:
        kind = split_kind(name.split("/", 1)[0]) if "/" in name else None
        if kind is None:
            ignored += 1
        else:
            groups.setdefault(kind, []).append(name)
    splits: dict[str, RawSplit] = {}
    for kind, names in groups.items():
        splits[kind], loose = _labelled(root, names, depth=1)
        ignored += loose
    return Found(splits, ignored=ignored)


def find_images(root: Path) -> tuple[list[str], int]:
    """The image files below `root` as sorted relative paths with '/', and the number of other files."""
    images: list[str] = []
    ignored = 0
    for name, is_image in _walk(root):
        if is_image:
            images.append(name)
        else:
            ignored += 1
    return sorted(images), ignored


def _walk(root: Path) -> Iterator[tuple[str, bool]]:
    """Every file below, and whether it is an image; links are followed, but for those to a folder above them.

    Raises:
        InputError: links lead to one folder again and again, which can mean more paths than there is time for.
    """
    visits: Counter[tuple[int, int]] = Counter()
    waiting = [("", frozenset[tuple[int, int]]())]  # folders by their path, and the folders above each
    while waiting:
        prefix, above = waiting.pop()
        status = (root / prefix).stat()
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            continue
        visits[identity] += 1
        if visits[identity] > _MOST_WAYS:
            raise InputError(f"links in {root} lead to {prefix} in more than {_MOST_WAYS} ways; remove some of them.")
        for entry in os.scandir(root / prefix):
            hidden = entry.name.startswith(".")
            if not _is_folder(entry):
                is_image = not hidden and Path(entry.name).suffix.lower() in SUFFIXES
                yield prefix + entry.name, is_image and not _is_special(entry)
            elif not hidden:
                waiting.append((f"{prefix}{entry.name}/", above | {identity}))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_special(entry: os.DirEntry[str]) -> bool:
    """Whether this is a pipe, a socket or a device: reading it could take for ever. A dead link is a broken image."""
    try:
        return not entry.is_file() and Path(entry.path).exists()
    except OSError:  # a link to itself
        return False


def _is_split_layout(tops: set[str], images: list[str], root: Path) -> bool:
    """Whether the top folders are splits; `train` among class folders (`bus`, `car`, `train`) is a class."""
    kinds = {top: split_kind(top) for top in tops}
    if not any(kinds.values()):
        return False
    if all(kinds.values()):
        return True
    nested = {name.split("/", 1)[0] for name in images if name.count("/") >= 2}
    both = {kind for top, kind in kinds.items() if kind and top in nested}
    if "train" in both and len(both) > 1:
        others = ", ".join(sorted(top for top, kind in kinds.items() if kind is None))
        raise InputError(f"{root} has split folders beside other folders of images ({others}); move those elsewhere.")
    return False


def _labelled(root: Path, names: list[str], depth: int) -> tuple[RawSplit, int]:
    """The images with the folder at `depth` as label, and how many lie beside the class folders (left out)."""
    inside = [name for name in names if name.count("/") > depth]
    if not inside:
        return RawSplit([root / name for name in names], None, names), 0
    labels = np.array([name.split("/")[depth] for name in inside], dtype=object)
    return RawSplit([root / name for name in inside], labels, inside), len(names) - len(inside)
