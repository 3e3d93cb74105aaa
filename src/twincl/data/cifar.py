"""CIFAR-10 and CIFAR-100 as published for Python: a folder of pickled batches."""

from pathlib import Path
from typing import Any

import numpy as np

from twincl.data.dataset import RawSplit
from twincl.data.label_values import tidy_labels
from twincl.data.pickles import read_pickle
from twincl.data.splits import Found
from twincl.errors import InputError

_TEN = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}
_HUNDRED = {"train": ["train"], "test": ["test"]}


def find_cifar(folder: Path) -> Path | None:
    """The folder with the batches: `folder` itself or the one folder in it that has them; else None.

    Raises:
        InputError: several folders hold batches.
    """
    if _layout(folder):
        return folder
    inside = sorted(child for child in folder.iterdir() if child.is_dir() and _layout(child))
    if len(inside) > 1:
        names = ", ".join(child.name for child in inside)
        raise InputError(f"{folder} holds several CIFAR data sets ({names}); point to one of these folders.")
    return inside[0] if inside else None


def read_cifar(folder: Path) -> Found:
    """Both splits, in the published order, with (N, 32, 32, 3) images; CIFAR-100 by its 100 fine classes.

    Raises:
        InputError: a batch is missing, damaged or of another shape.
    """
    layout = _layout(folder)
    if layout is None:
        raise InputError(f"{folder} holds no CIFAR batches; point to cifar-10-batches-py or cifar-100-python.")
    ten = layout is _TEN
    meta = _batch(folder / ("batches.meta" if ten else "meta"))
    names = _entry(meta, "label_names" if ten else "fine_label_names", folder)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str | bytes) for name in names):
        raise InputError(f"{folder} does not list the names of its classes; download CIFAR again.")
    label_key = "labels" if ten else "fine_labels"
    return Found(
        {kind: _split([folder / file for file in files], label_key) for kind, files in layout.items()},
        tuple(name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in names),
    )


def _layout(folder: Path) -> dict[str, list[str]] | None:
    if (folder / "data_batch_1").is_file():
        return _TEN
    return _HUNDRED if all((folder / name).is_file() for name in ("train", "test", "meta")) else None


def _split(files: list[Path], label_key: str) -> RawSplit:
    images, labels = [], []
    for file in files:
        batch = _batch(file)
        data = _entry(batch, "data", file)
        if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != 3072:
            raise InputError(f"{file} does not hold images of 3 x 32 x 32 bytes; download CIFAR again.")
        given = tidy_labels(_entry(batch, label_key, file), where=str(file))
        if len(given) != len(data):
            raise InputError(f"{file} has {len(data)} images but {len(given)} labels; download CIFAR again.")
        images.append(data)
        labels.append(given)
    pixels = np.concatenate(images).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return RawSplit(pixels, np.concatenate(labels), [str(row) for row in range(len(pixels))])


def _batch(file: Path) -> dict[Any, Any]:
    if not file.is_file():
        raise InputError(f"{file.name} is missing from {file.parent}; download CIFAR again.")
    value = read_pickle(file)
    if not isinstance(value, dict):
        raise InputError(f"{file} is not a CIFAR batch; download CIFAR again.")
    return value


def _entry(batch: dict[Any, Any], key: str, where: Path) -> Any:
    for spelling in (key, key.encode()):
        if spelling in batch:
            return batch[spelling]
    raise InputError(f"{where} has no entry '{key}'; download CIFAR again.")
