"""The one entry to all readers: what lies at the path decides which of them reads it."""

from pathlib import Path

from twincl.data.arrays import read_arrays
from twincl.data.cifar import find_cifar, read_cifar
from twincl.data.clothing1m import find_clothing1m, read_clothing1m, refuse_part_of_clothing1m
from twincl.data.dataset import RawDataset
from twincl.data.digits import read_digits
from twincl.data.first_classes import first_classes
from twincl.data.folder import find_images, read_folder
from twincl.data.idx import find_idx, read_idx_dataset
from twincl.data.ilsvrc import is_ilsvrc_validation, read_ilsvrc_validation
from twincl.data.metadata import read_metadata
from twincl.data.parquet import split_files
from twincl.data.splits import Found, choose
from twincl.data.tables import SUFFIXES as TABLE_SUFFIXES
from twincl.data.tables import open_table, read_parquet_folder, read_table
from twincl.data.webvision import MINI, is_webvision, read_webvision, refuse_part_of_webvision
from twincl.errors import InputError


def read_dataset(
    path: str,
    *,
    image_column: str | None = None,
    label_column: str | None = None,
    split: str | None = None,
    allow_outside: bool = False,
    max_classes: int | None = None,
) -> RawDataset:
    """Read the data set at `path`; nothing is decoded.

    Args:
        path: a folder, table or array file, or `digits` for the images scikit-learn brings along.
        image_column: column (or array) with the images, where its name is not a usual one.
        label_column: column (or array) with the labels, likewise.
        split: read only this split, returned as `train`; otherwise `train`, and `test` or else `val` as test.
        allow_outside: let a table or list name files outside its own folder.
        max_classes: only the samples of the first so many classes; None: all, of WebVision the 50 that are customary.

    Raises:
        InputError: there is nothing at `path`, or it cannot be read as a data set.
    """
    try:
        found = _read(path, {"image_column": image_column, "label_column": label_column}, allow_outside, max_classes)
    except OSError as error:
        raise InputError(f"{error.filename or path} cannot be read ({error.strerror}).") from error
    return choose(found if max_classes is None else first_classes(found, max_classes), split, path)


def _read(path: str, columns: dict[str, str | None], allow_outside: bool, max_classes: int | None) -> Found:
    place = place_of(path)
    if place.is_dir():
        listed = _read_listed(place, allow_outside, max_classes)
        if listed is not None:
            return _without_columns(listed, columns, path)
        return _read_directory(place, columns, allow_outside)
    if place.is_file():
        return _read_file(place, columns, allow_outside)
    if path == "digits":
        return _without_columns(read_digits(), columns, path)
    raise InputError(f"there is no file or folder at '{path}'; give the path of a data set, or 'digits' for a trial.")


def place_of(path: str) -> Path:
    """Where a path leads, `~` followed if there is such a user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~name of a user that does not exist
        return Path(path)


def _read_listed(folder: Path, allow_outside: bool, max_classes: int | None) -> Found | None:
    """A published data set that lists its images in text files; None where there are no such lists."""
    if is_webvision(folder):
        return read_webvision(folder, max_classes=max_classes or MINI, allow_outside=allow_outside)
    if (lists := find_clothing1m(folder)) is not None:
        return read_clothing1m(folder, lists, allow_outside=allow_outside)
    if is_ilsvrc_validation(folder):
        return read_ilsvrc_validation(folder, allow_outside=allow_outside)
    return None


def _read_directory(folder: Path, columns: dict[str, str | None], allow_outside: bool) -> Found:
    if (cifar := find_cifar(folder)) is not None:
        return _without_columns(read_cifar(cifar), columns, str(folder))
    if (images := find_idx(folder)) is not None:
        return _without_columns(read_idx_dataset(images), columns, str(folder))
    listed = read_metadata(folder, **columns, allow_outside=allow_outside)
    if listed is not None:
        return listed
    if split_files(folder)[0]:
        return _read_parquet_folder(folder, columns, allow_outside)
    refuse_part_of_webvision(folder)
    refuse_part_of_clothing1m(folder)
    return _without_columns(read_folder(folder), columns, str(folder))


def _read_parquet_folder(folder: Path, columns: dict[str, str | None], allow_outside: bool) -> Found:
    """Parquet files that hold the data or list their files; beside folders of other images neither is clear."""
    found = read_parquet_folder(folder, **columns, allow_outside=allow_outside)
    if not any(isinstance(split.pixels, list) and isinstance(split.pixels[0], Path) for split in found.splits.values()):
        images = [name for name in find_images(folder)[0] if "/" in name]
        if len({name.split("/", 1)[0] for name in images}) > 1:  # one may hold pictures of a README
            raise InputError(
                f"{folder} holds parquet files and {len(images)} images in folders, and it is not clear which are the "
                "data; point to a parquet file, or move those files elsewhere."
            )
    return found


def _read_file(file: Path, columns: dict[str, str | None], allow_outside: bool) -> Found:
    suffix = file.suffix.lower()
    if suffix in TABLE_SUFFIXES:
        return read_table(open_table(file), **columns, allow_outside=allow_outside)
    if suffix in (".npz", ".npy"):
        return read_arrays(file, **columns)
    if (images := find_idx(file)) is not None:
        return _without_columns(read_idx_dataset(images), columns, str(file))
    if suffix in (".zip", ".tar", ".gz", ".tgz", ".rar", ".7z"):
        raise InputError(f"{file} is an archive; unpack it and give the folder.")
    known = ", ".join((*TABLE_SUFFIXES, ".npz", ".npy"))
    raise InputError(f"{file} is not a data set; give a folder of images, or a file of the kind {known} or IDX.")


def _without_columns(found: Found, columns: dict[str, str | None], where: str) -> Found:
    for option, name in columns.items():
        if name is not None:
            what = option.replace("_", " ")
            raise InputError(f"{where} is not a table, so it has no {what} '{name}'; leave that option out.")
    return found
