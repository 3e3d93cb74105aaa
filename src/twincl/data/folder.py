"""Folders of images: one folder per class, with or without split folders above them."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
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

    Neither have the images of `test` or `val` if they all lie in one folder that is none of `train`: Tiny-ImageNet's
    `images`, or the `unknown` that other tools ask for. Hidden files, files that are not images, and images beside the
    class folders are passed over and counted.

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
        kind = _loose_kind(name.split("/", 1)[0]) if "/" in name else None
        if kind is None:
            ignored += 1
        else:
            groups.setdefault(kind, []).append(name)
    splits: dict[str, RawSplit] = {}
    for kind, names in groups.items():
        splits[kind], loose = _labelled(root, names, depth=1)
        ignored += loose
    return Found(_without_placeholders(splits), ignored=ignored)


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
    """Whether the top folders are splits; `train` among class folders (`bus`, `car`, `train`) is a class.

    Raises:
        InputError: some of them are splits and some are not.
    """
    if tops and all(map(split_kind, tops)):
        return True
    inner: dict[str, set[str]] = {}  # folders in each of those that hold folders
    for top, *below in (name.split("/") for name in images):
        if len(below) > 1:
            inner.setdefault(top, set()).add(below[0])
    others = ", ".join(sorted(top for top in tops if _loose_kind(top) is None))
    found = {_loose_kind(top): top for top in sorted(inner)}
    if "train" in found and len(found.keys() - {None}) > 1:
        if not others and set.intersection(*inner.values()):
            return True  # such as training_set/cat and test_set/cat
        reason = f"beside other folders of images ({others})" if others else "that do not hold the same classes"
        raise InputError(
            f"{root} has split folders ({', '.join(sorted(inner))}) {reason}; move what is not training or test data "
            "elsewhere, or point to the folder above the training classes, and with --test to that of the test data."
        )
    train = next((top for top in inner if split_kind(top) == "train"), None)
    if train is not None and len(inner) == 1 and len(inner[train]) > 1:
        raise InputError(
            f"{root} has {train}/ with folders in it beside folders without ({others}), so it is not clear whether it "
            f"holds classes or is one; point to {root / train}, or move its images up if it is a class."
        )
    return False


def _loose_kind(name: str) -> str | None:
    """`split_kind`, also of names with one such word in them: training_set, seg_test, val2017."""
    kinds = {split_kind(word) for word in re.split("[^a-z]+", name.lower())} - {None}
    return kinds.pop() if len(kinds) == 1 else None


def _without_placeholders(splits: dict[str, RawSplit]) -> dict[str, RawSplit]:
    """The splits, without the labels of those whose one folder is no class of the training split."""
    if "train" not in splits or splits["train"].labels is None:
        return splits
    classes = set(splits["train"].labels)

    def names_nothing(part: RawSplit) -> bool:
        folders = set() if part.labels is None else set(part.labels)
        return len(folders) == 1 and not folders & classes

    return {kind: replace(part, labels=None) if names_nothing(part) else part for kind, part in splits.items()}


def _labelled(root: Path, names: list[str], depth: int) -> tuple[RawSplit, int]:
    """The images with the folder at `depth` as label, and how many lie beside the class folders (left out)."""
    inside = [name for name in names if name.count("/") > depth]
    if not inside:
        return RawSplit([root / name for name in names], None, names), 0
    labels = np.array([name.split("/")[depth] for name in inside], dtype=object)
    return RawSplit([root / name for name in inside], labels, inside), len(names) - len(inside)
