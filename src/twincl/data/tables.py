"""Data sets listed in a table (CSV, TSV, JSON lines, parquet): image paths, the encoded images, or feature vectors."""

import unicodedata
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from twincl.data.columns import (
    FEATURE_COLUMNS,
    IMAGE_COLUMNS,
    LABEL_COLUMNS,
    NAME_COLUMNS,
    SPLIT_COLUMNS,
    find_column,
)
from twincl.data.dataset import Pixels, RawSplit
from twincl.data.features import check_features
from twincl.data.inside import Inside
from twincl.data.label_values import brief, tidy_labels
from twincl.data.parquet import SUFFIXES as PARQUET_SUFFIXES
from twincl.data.parquet import read_parquet, split_files
from twincl.data.splits import Found, split_kind
from twincl.data.text_table import Table, read_delimited, read_json_lines
from twincl.errors import InputError, did_you_mean

SUFFIXES = (".csv", ".tsv", ".jsonl", *PARQUET_SUFFIXES)


def open_table(path: Path) -> Table:
    """The table in the file `path`, whose suffix is one of `SUFFIXES`."""
    suffix = path.suffix.lower()
    if suffix in PARQUET_SUFFIXES:
        return read_parquet([path])
    return read_json_lines(path) if suffix == ".jsonl" else read_delimited(path)


def read_table(
    table: Table, *, image_column: str | None, label_column: str | None, allow_outside: bool = False
) -> Found:
    """The images or feature vectors of `table` and its labels, divided by its split column if it has one.

    Encoded images come first, then a column of vectors by a usual name, then a column of paths. These must lead to
    files in the folder of the table, links followed, unless `allow_outside`: a table can come from a stranger.

    Raises:
        InputError: there is no image column, a column is unknown, a file or label is missing, a split unnamed, or a
            path leads outside.
    """
    where = str(table.path)
    embedded = tuple(name.lower() for name in table.names if name in table.structs)
    features = find_column(list(table.vectors), None, FEATURE_COLUMNS, where)
    usual = (*embedded, *([features.strip().lower()] if features else []), *IMAGE_COLUMNS)
    image = find_column(table.names, image_column, usual, where)
    if image is None:
        raise InputError(
            f"{where} has no column that names the images (columns: {brief(table.names, most=20)}); "
            "name the one to use with --image-column."
        )
    label = find_column(table.names, label_column, LABEL_COLUMNS, where)
    pixels, names = _features(table, image) if image in table.vectors else _images(table, image, allow_outside)
    labels = None if label is None else tidy_labels(table.read(label), where=where, rows=table.rows)
    whole = RawSplit(pixels, labels, names)
    classes = table.classes.get(label) if label else None
    kinds = _kinds(table)
    if kinds is None:
        return Found({"train": whole}, classes)
    splits = {kind: whole.subset(kinds == kind) for kind in ("train", "val", "test") if (kinds == kind).any()}
    return Found(splits, classes)


def read_parquet_folder(
    folder: Path, *, image_column: str | None, label_column: str | None, allow_outside: bool = False
) -> Found:
    """A folder of parquet files, divided by their names, or by a split column where the names say nothing."""
    files, ignored = split_files(folder)
    columns = {"image_column": image_column, "label_column": label_column}
    if list(files) == ["train"]:
        found = read_table(read_parquet(files["train"]), **columns, allow_outside=allow_outside)
        return Found(found.splits, found.classes, ignored=ignored)
    splits: dict[str, RawSplit] = {}
    classes: set[tuple[str, ...] | None] = set()
    for kind, group in files.items():
        found = read_table(read_parquet(group), **columns, allow_outside=allow_outside)
        parts = found.splits
        splits[kind] = parts[kind] if kind in parts and len(parts) == 1 else _only(parts, kind, folder)
        classes.add(found.classes)
    if len(classes) > 1:
        raise InputError(f"the splits in {folder} name different classes; write them with one common list of classes.")
    return Found(splits, classes.pop(), ignored=ignored)


def _only(parts: dict[str, RawSplit], kind: str, folder: Path) -> RawSplit:
    if list(parts) != ["train"]:  # no split column reads as one training split
        raise InputError(
            f"the '{kind}' files in {folder} have a split column that says {', '.join(parts)}; make the two agree."
        )
    return parts["train"]


def _features(table: Table, column: str) -> tuple[np.ndarray, list[str]]:
    """The vectors of a column and the name of each: its path or id, or its 0-based index where that is not unique."""
    features = check_features(table.vectors[column](), where=f"'{column}' in {table.path}", rows=table.rows)
    name = find_column([name for name in table.names if name not in table.vectors], None, NAME_COLUMNS, "")
    values = table.read(name) if name else []
    return features, _unique_names([None if value is None else str(value) for value in values], len(features))


def _images(table: Table, column: str, allow_outside: bool) -> tuple[Pixels, list[str]]:
    """The images of a column and the name of each: its path, or its 0-based index where it has no unique path."""
    if column in table.structs:
        values, paths = table.read(f"{column}.bytes"), _struct_paths(table, column)
        if all(value is None for value in values):
            values = paths
    else:
        values, paths = table.read(column), []
    if any(isinstance(value, bytes) for value in values):
        empty = [row for row, value in zip(table.rows, values, strict=True) if not value]
        if empty:
            raise InputError(
                f"{len(empty)} images of {table.path} have no content (row {brief(empty)}); fill in or remove the rows."
            )
        return values, _unique_names(paths, len(values))
    empty = [row for row, value in zip(table.rows, values, strict=True) if not isinstance(value, str) or not value]
    if empty:
        raise InputError(
            f"{len(empty)} rows of {table.path} name no image in the column '{column}' (row {brief(empty)}); "
            "fill them in, remove the rows, or name another column with --image-column."
        )
    return _files(table, values, allow_outside)


def _struct_paths(table: Table, column: str) -> list[Any]:
    try:
        return table.read(f"{column}.path")
    except ValueError:  # the struct has no such member
        return [None] * len(table.rows)


def _unique_names(paths: list[Any], count: int) -> list[str]:
    usable = len(paths) == count and all(isinstance(path, str) and path for path in paths)
    return paths if usable and len(set(paths)) == count else [str(row) for row in range(count)]


def _files(table: Table, paths: list[str], allow_outside: bool) -> tuple[list[Path], list[str]]:
    base = table.path.parent
    fence = None if allow_outside else Inside(base)
    files: list[Path] = []
    outside: list[str] = []
    missing: list[str] = []
    for row, path in zip(table.rows, paths, strict=True):
        file, is_inside = _locate(path, base, fence)
        if file is not None:
            files.append(file)
        else:
            (missing if is_inside else outside).append(f"row {row}: {path}")
    if outside:
        verb = "lie" if len(outside) > 1 else "lies"
        raise InputError(
            f"{len(outside)} of {len(paths)} image files listed in {table.path} {verb} outside its folder "
            f"({brief(outside)}); move the table above the images, or pass --allow-outside if you trust it."
        )
    if missing:
        verb = "do" if len(missing) > 1 else "does"
        raise InputError(
            f"{len(missing)} of {len(paths)} image files listed in {table.path} {verb} not exist ({brief(missing)}); "
            f"correct the paths, which are relative to the folder '{base}'."
        )
    return files, [_relative(file, base) for file in files]


def _locate(path: str, base: Path, fence: Inside | None) -> tuple[Path | None, bool]:
    """The file at `path`, None if there is none, and whether `path` is inside; what is outside is not looked for."""
    written = [path] + [path.replace("\\", "/")] * ("\\" in path)  # a table written on Windows
    accents = [unicodedata.normalize(form, written[-1]) for form in ("NFC", "NFD")]  # images copied from macOS
    spellings = [base / spelling for spelling in dict.fromkeys([*written, *accents])]
    try:
        permitted = [file for file in spellings if fence is None or fence.holds(file)]
        return next((file for file in permitted if file.is_file()), None), len(permitted) == len(spellings)
    except (OSError, ValueError):  # no path at all: too long, or with signs that no file system takes
        return None, True


def _relative(file: PurePath, base: PurePath) -> str:
    return (file.relative_to(base) if file.is_relative_to(base) else file).as_posix()


def _kinds(table: Table) -> np.ndarray | None:
    """The kind of split of each row, (N,) str, or None if no column names splits."""
    column = find_column(table.names, None, SPLIT_COLUMNS, str(table.path))
    if column is None:
        return None
    values = table.read(column)
    if table.classes.get(column):
        values = table.named(column, values).tolist()
    kinds = [split_kind(str(value)) for value in values]
    if not any(kinds):
        return None  # a column of that name about something else
    for row, value, kind in zip(table.rows, values, kinds, strict=True):
        if kind is None:
            hint = did_you_mean(str(value), ["train", "val", "test"])
            raise InputError(f"row {row} of {table.path} is in the unknown split '{brief([value])}'; {hint}")
    return np.array(kinds)
