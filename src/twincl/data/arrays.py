"""Data sets in numpy files: `.npz` with samples, labels and test arrays, or `.npy` with samples alone.

Three or four axes are images; two are feature vectors, one a row.
"""

from pathlib import Path

import numpy as np

from twincl.data.columns import find_column
from twincl.data.dataset import RawSplit
from twincl.data.features import check_features
from twincl.data.label_values import brief, tidy_labels
from twincl.data.numpy_files import load_arrays
from twincl.data.splits import Found
from twincl.errors import InputError

_CHANNELS = (1, 3, 4)
_VECTORS = ("embeddings", "features", "embedding", "vectors")
_SAMPLES = {
    "train": (
        *("x_train", "train_images", "train_x", "train_data", "x", "images", "image", "imgs", "data"),
        *(f"train_{name}" for name in _VECTORS),
        *_VECTORS,
    ),
    "val": ("x_val", "val_images", "val_x", "x_valid", "val_data", *(f"val_{name}" for name in _VECTORS)),
    "test": ("x_test", "test_images", "test_x", "test_data", *(f"test_{name}" for name in _VECTORS)),
}
_LABELS = {
    "train": ("y_train", "train_labels", "train_y", "y", "labels", "label", "targets", "target"),
    "val": ("y_val", "val_labels", "val_y", "y_valid"),
    "test": ("y_test", "test_labels", "test_y"),
}


def read_arrays(path: Path, *, image_column: str | None = None, label_column: str | None = None) -> Found:
    """The splits in a numpy file; `image_column` and `label_column` name its training arrays where unusual.

    Raises:
        InputError: there are no samples, an array is of the wrong shape or range, or it is stored as a pickle.
    """
    arrays = load_arrays(path)
    if isinstance(arrays, np.ndarray):
        return Found({"train": as_split(arrays, None, where=str(path))})
    splits: dict[str, RawSplit] = {}
    for kind in ("train", "val", "test"):
        samples, labels = (
            find_column(list(arrays), given if kind == "train" else None, usual[kind], str(path))
            for given, usual in ((image_column, _SAMPLES), (label_column, _LABELS))
        )
        if samples is not None:
            given_labels = None if labels is None else arrays[labels]
            splits[kind] = as_split(arrays[samples], given_labels, where=f"'{samples}' in {path}")
    if "train" not in splits:
        raise InputError(
            f"{path} has no array named like x, images or embeddings (arrays: {brief(list(arrays), most=20)}); "
            "name the one to use with --image-column."
        )
    return Found(splits)


def as_split(
    samples: np.ndarray, labels: np.ndarray | None = None, *, where: str, white: int | None = None
) -> RawSplit:
    """Images or feature vectors in an array, and their labels, as a split; `white` as in `white_level`, if known.

    Raises:
        InputError: an array is of the wrong shape or range; the message says `where`.
    """
    if samples.ndim == 2:
        kind, samples = "rows", check_features(samples, where=where)
    else:
        images = _channels_last(samples, where)
        if 0 in images.shape[1:]:
            raise InputError(f"{where} has shape {samples.shape}, so images without pixels; save them again.")
        kind, samples = "images", _to_bytes(images, white or white_level(images, where=where), where)
    tidy = None if labels is None else tidy_labels(labels, where=where)
    if tidy is not None and len(tidy) != len(samples):
        raise InputError(f"{where} has {len(samples)} {kind} but {len(tidy)} labels; save arrays of equal length.")
    return RawSplit(samples, tidy, [str(row) for row in range(len(samples))])


def _channels_last(images: np.ndarray, where: str) -> np.ndarray:
    """A view (N, H, W) or (N, H, W, C); where the second and the last axis could be C, it is the last."""
    if images.ndim == 3 or (images.ndim == 4 and images.shape[3] in _CHANNELS):
        return images
    if images.ndim == 4 and images.shape[1] in _CHANNELS:
        return images.transpose(0, 2, 3, 1)
    raise InputError(
        f"{where} has shape {images.shape}; give images as (N, H, W), (N, H, W, C) or (N, C, H, W) "
        "with 1, 3 or 4 channels, or features as (N, D)."
    )


def white_level(images: np.ndarray, *, where: str) -> int:
    """The value that stands for white: 1 of bool and of numbers in 0..1, otherwise 255, which must then be in sight."""
    if images.dtype == np.uint8 or images.size == 0:
        return 255
    if images.dtype == np.bool_:
        return 1
    if images.dtype.kind not in "iuf":
        raise InputError(f"{where} has the type {images.dtype}; save images as uint8 in 0..255.")
    low, high = images.min(), images.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(f"{where} contains NaN or infinite values; replace them and save images as uint8.")
    if low >= 0 and high <= 1:
        return 1
    if low >= 0 and 128 <= high <= 255:
        return 255
    raise InputError(
        f"{where} has {images.dtype} values from {low:g} to {high:g}, neither 0..1 nor 0..255; save images as uint8."
    )


def _to_bytes(images: np.ndarray, white: int, where: str) -> np.ndarray:
    """The images as uint8, whatever they were stored as."""
    if images.dtype.kind not in "biuf":
        raise InputError(f"{where} has the type {images.dtype}; save images as uint8 in 0..255.")
    if images.dtype == np.uint8 or images.size == 0:
        return images.astype(np.uint8, copy=False)
    if not (images.min() >= 0 and images.max() <= white):  # false of NaN too
        raise InputError(f"{where} has values that are not in 0..{white}; give images like those before.")
    return np.asarray(np.rint(images * (255 / white)), dtype=np.uint8)
