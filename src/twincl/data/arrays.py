"""Data sets in numpy files: `.npz` with images, labels and test arrays, or `.npy` with images alone."""

import zipfile
from pathlib import Path

import numpy as np

from twincl.data.columns import find_column
from twincl.data.dataset import RawSplit
from twincl.data.label_values import tidy_labels
from twincl.data.splits import Found
from twincl.errors import InputError

_CHANNELS = (1, 3, 4)
_IMAGES = {
    "train": ("x_train", "train_images", "train_x", "train_data", "x", "images", "image", "imgs", "data"),
    "val": ("x_val", "val_images", "val_x", "x_valid", "val_data"),
    "test": ("x_test", "test_images", "test_x", "test_data"),
}
_LABELS = {
    "train": ("y_train", "train_labels", "train_y", "y", "labels", "label", "targets", "target"),
    "val": ("y_val", "val_labels", "val_y", "y_valid"),
    "test": ("y_test", "test_labels", "test_y"),
}


def read_arrays(path: Path, *, image_column: str | None = None, label_column: str | None = None) -> Found:
    """The splits in a numpy file; `image_column` and `label_column` name its training arrays where unusual.

    Raises:
        InputError: there are no images, an array is of the wrong shape or range, or it is stored as a pickle.
    """
    arrays = load_arrays(path)
    if isinstance(arrays, np.ndarray):
        return Found({"train": _split(arrays, None, str(path))})
    splits: dict[str, RawSplit] = {}
    for kind in ("train", "val", "test"):
        images, labels = (
            find_column(list(arrays), given if kind == "train" else None, usual[kind], str(path))
            for given, usual in ((image_column, _IMAGES), (label_column, _LABELS))
        )
        if images is not None:
            given_labels = None if labels is None else arrays[labels]
            splits[kind] = _split(arrays[images], given_labels, f"'{images}' in {path}")
    if "train" not in splits:
        raise InputError(
            f"{path} has no array of images named like x or images (arrays: {', '.join(arrays)}); "
            "pass its name as the image column."
        )
    return Found(splits)


def load_arrays(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of a `.npy` file or the arrays of a `.npz` file; nothing pickled is read."""
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"{path} holds Python objects, which are not read; save images as uint8, labels as int or str."
            ) from error
        raise InputError(f"{path} is not a readable numpy file ({error}); save it again.") from error


def _split(images: np.ndarray, labels: np.ndarray | None, where: str) -> RawSplit:
    pixels = _to_bytes(_channels_last(images, where), where)
    tidy = None if labels is None else tidy_labels(labels, where=where)
    if tidy is not None and len(tidy) != len(pixels):
        raise InputError(f"{where} has {len(pixels)} images but {len(tidy)} labels; save arrays of equal length.")
    return RawSplit(pixels, tidy, [str(row) for row in range(len(pixels))])


def _channels_last(images: np.ndarray, where: str) -> np.ndarray:
    """A view (N, H, W) or (N, H, W, C); where the second and the last axis could be C, it is the last."""
    if images.ndim == 3 or (images.ndim == 4 and images.shape[3] in _CHANNELS):
        return images
    if images.ndim == 4 and images.shape[1] in _CHANNELS:
        return images.transpose(0, 2, 3, 1)
    raise InputError(
        f"{where} has shape {images.shape}; give images as (N, H, W), (N, H, W, C) or (N, C, H, W) "
        "with 1, 3 or 4 channels."
    )


def _to_bytes(images: np.ndarray, where: str) -> np.ndarray:
    """The images as uint8: from bool, from floats in 0..1, or from numbers that clearly span 0..255."""
    if images.dtype == np.uint8 or images.size == 0:
        return images.astype(np.uint8, copy=False)
    if images.dtype == np.bool_:
        return images.astype(np.uint8) * np.uint8(255)
    if images.dtype.kind not in "iuf":
        raise InputError(f"{where} has the type {images.dtype}; save images as uint8 in 0..255.")
    low, high = images.min(), images.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(f"{where} contains NaN or infinite values; replace them and save images as uint8.")
    scaled = None
    if images.dtype.kind == "f" and low >= 0 and high <= 1:
        scaled = images * 255
    elif low >= 0 and 128 <= high <= 255:
        scaled = images
    if scaled is not None:
        return np.asarray(np.rint(scaled), dtype=np.uint8)
    raise InputError(
        f"{where} has {images.dtype} values from {low:g} to {high:g}, neither 0..1 nor 0..255; save images as uint8."
    )
