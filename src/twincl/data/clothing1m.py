"""Clothing1M as published: a million images of clothes, labelled by the words around them and some by people."""

from pathlib import Path

import numpy as np

from twincl.data.dataset import RawSplit
from twincl.data.label_values import brief
from twincl.data.listed import listed_lines, locate, read_pairs, refuse_without
from twincl.data.splits import Found
from twincl.errors import InputError

CLASSES = (
    *("T-Shirt", "Shirt", "Knitwear", "Chiffon", "Sweater", "Hoodie", "Windbreaker"),
    *("Jacket", "Downcoat", "Suit", "Shawl", "Dress", "Vest", "Underwear"),
)
_LISTS = {  # split -> the images in it, and their labels
    "train": ("noisy_train_key_list.txt", "noisy_label_kv.txt"),
    "val": ("clean_val_key_list.txt", "clean_label_kv.txt"),
    "test": ("clean_test_key_list.txt", "clean_label_kv.txt"),
}
_CLEAN_TRAIN = "clean_train_key_list.txt"  # not read
_NAMES = "category_names_eng.txt"


def find_clothing1m(root: Path) -> Path | None:
    """The folder with the lists: `root` itself or its `annotations`; None where this is another data set."""
    return next((folder for folder in _places(root) if (folder / _LISTS["train"][0]).is_file()), None)


def refuse_part_of_clothing1m(root: Path) -> None:
    """Refuse a `root` that has other lists but not that of the noisy images."""
    published = [*(name for pair in _LISTS.values() for name in pair), _CLEAN_TRAIN]
    for folder in _places(root):
        refuse_without(folder, _LISTS["train"][0], published)


def read_clothing1m(root: Path, lists: Path, *, allow_outside: bool = False) -> Found:
    """The noisy list as training data, the clean ones for validation and test; nothing is decoded.

    Args:
        root: the folder that the listed paths, `images/0/00/x.jpg`, begin from, or that of the images itself.
        lists: the folder with the lists.
        allow_outside: let the lists name files outside `root`.

    Raises:
        InputError: a list or an image is missing, an image has no label, or lies outside.
    """
    labels: dict[str, dict[str, int]] = {}
    splits: dict[str, RawSplit] = {}
    for kind, (keys, pairs) in _LISTS.items():
        if not (lists / keys).is_file():
            continue
        if pairs not in labels:
            names, numbers = read_pairs(lists / pairs)
            labels[pairs] = dict(zip(names, numbers.tolist(), strict=True))
        splits[kind] = _split(root, lists / keys, lists / pairs, labels[pairs], allow_outside)
    return Found(splits, _class_names(lists / _NAMES))


def _places(root: Path) -> tuple[Path, Path]:
    return root, root / "annotations"


def _split(root: Path, keys: Path, pairs: Path, labels: dict[str, int], allow_outside: bool) -> RawSplit:
    names = list(dict.fromkeys(listed_lines(keys)))  # an image that is listed twice is one image
    unlabelled = [name for name in names if name not in labels]
    if unlabelled:
        raise InputError(
            f"{len(unlabelled)} of {len(names)} images in {keys} have no label in {pairs} ({brief(unlabelled)}); "
            "download both again."
        )
    inner = names if (root / "images").is_dir() else [name.removeprefix("images/") for name in names]
    files = locate(root, inner, keys, allow_outside=allow_outside)
    return RawSplit(files, np.array([labels[name] for name in names], dtype=np.int64), names)


def _class_names(file: Path) -> tuple[str, ...]:
    """The published names, or those in `file` if it is there."""
    return tuple(listed_lines(file)) if file.is_file() else CLASSES
