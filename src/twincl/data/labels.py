"""A file of labels for images that are already listed: the user's own, a corrected set, or CIFAR-N's."""

import unicodedata
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from twincl.data.columns import IMAGE_COLUMNS, LABEL_COLUMNS, find_column
from twincl.data.label_values import brief, tidy_labels
from twincl.data.numpy_files import load_arrays
from twincl.data.pickles import read_torch
from twincl.data.tables import SUFFIXES as TABLE_SUFFIXES
from twincl.data.tables import open_table
from twincl.data.text_table import Table, read_lines
from twincl.errors import InputError, did_you_mean


def read_labels(path: Path, *, key: str | None, names: list[str], label_column: str | None = None) -> np.ndarray:
    """The labels (N,) in `path` for the images `names`, in their order.

    Args:
        path: `.npy`, `.npz`, `.csv`, `.tsv`, `.jsonl`, `.parquet`, `.pt` or `.txt` (one label a line).
        key: which array or column, where the file holds several.
        names: the images; a table that names files is joined by them, everything else is in their order.
        label_column: the column of labels in a table, used where `key` is None.

    Raises:
        InputError: the file cannot be read, the choice is open, a label is missing, or the lengths differ.
    """
    suffix = path.suffix.lower()
    if not path.is_file():
        raise InputError(f"there is no label file at {path}; correct the path.")
    if suffix in TABLE_SUFFIXES:
        labels = _from_table(open_table(path), key or label_column, names)
    elif suffix in (".npy", ".npz"):
        labels = tidy_labels(_pick(load_arrays(path), key, path), where=str(path))
    elif suffix in (".pt", ".pth"):
        labels = tidy_labels(_pick(read_torch(path), key, path), where=str(path))
    elif suffix == ".txt":
        rows, lines = read_lines(path)
        labels = tidy_labels(lines, where=str(path), rows=rows)
    else:
        raise InputError(f"{path} is not a label file; give .npy, .npz, .csv, .tsv, .jsonl, .parquet, .pt or .txt.")
    if len(labels) != len(names):
        header = suffix in (".csv", ".tsv") and len(labels) == len(names) - 1
        hint = " (its first line was taken for the names of the columns)" if header else ""
        raise InputError(
            f"{path} has {len(labels)} labels{hint} but the data set has {len(names)} samples; give one per sample."
        )
    return labels


def _pick(content: Any, key: str | None, path: Path) -> Any:
    """The array under `key`, or the only one there is."""
    if isinstance(content, Mapping):
        keys = {_key(name): name for name in content}
        if key is None and len(keys) != 1:
            raise InputError(
                f"{path} holds several label sets; name one of them as {path.name}:KEY, choose from: "
                f"{brief(list(keys), most=20)}"
            )
        if key is not None and key not in keys:
            raise InputError(f"{path} has no label set '{key}'; {did_you_mean(key, list(keys))}")
        content = content[keys[key] if key is not None else next(iter(keys.values()))]
    elif key is not None:
        raise InputError(f"{path} holds a single array, so it has no label set '{key}'; leave the key out.")
    if not isinstance(content, np.ndarray | list | tuple):
        raise InputError(f"{path} holds a {type(content).__name__} where a list of labels was expected.")
    return content


def _key(name: Any) -> str:
    return (
        f"{name:x}" if isinstance(name, int) and name.bit_length() > 4096 else str(name)
    )  # Python refuses the decimals


def _from_table(table: Table, given: str | None, names: list[str]) -> np.ndarray:
    file_column = find_column(table.names, None, IMAGE_COLUMNS, str(table.path))
    column = _label_column(table, given, file_column)
    labels = tidy_labels(table.read(column), where=str(table.path), rows=table.rows)
    if table.classes.get(column) and labels.dtype == np.int64:
        labels = table.named(column, labels.tolist())
    if file_column is not None and file_column != column and file_column not in table.structs:
        files = [str(file) for file in table.read(file_column)]
        if not _is_in_order(names, files, table):
            return np.asarray(labels[_rows_of(names, files, labels, table.path)])
    by_id = _id_order(table, names)
    return np.asarray(labels[_index_order(table) if by_id is None else by_id])


def _label_column(table: Table, given: str | None, file_column: str | None) -> str:
    column = find_column(table.names, given, LABEL_COLUMNS, str(table.path))
    if column is not None:
        return column
    others = [name for name in table.names if name not in (file_column, "index", "")]
    if len(others) == 1:
        return others[0]
    raise InputError(
        f"it is not clear which column of {table.path} holds the labels; name one of them as {table.path.name}:COLUMN, "
        f"choose from: {brief(others, most=20)}"
    )


def _is_in_order(names: list[str], files: list[str], table: Table) -> bool:
    """Whether rows belong to samples by their order: where these have no names, or each is named again and again."""
    if len(names) != len(files):
        return False
    if len(set(names)) < len(names):
        return [_normal(files[row]) for row in _index_order(table)] == list(map(_normal, names))
    return names == [str(row) for row in range(len(names))] and not set(files) & set(names)


def _rows_of(names: list[str], files: list[str], labels: np.ndarray, path: Path) -> list[int]:
    """The row of each image: by its path, or by its bare file name where that is unique on both sides.

    Where the table knows some images by their path, another folder before a bare name means another image.
    """
    listed = [_normal(file) for file in files]
    wanted = [_normal(name) for name in names]
    by_path: dict[str, int] = {}
    for row, file in enumerate(listed):
        if labels[by_path.setdefault(file, row)] != labels[row]:
            raise InputError(f"{path} gives {files[row]} two different labels; keep one row for each image.")
    by_name, ours = _unique_base(listed), _unique_base(wanted)
    knows_paths = any(name in by_path for name in wanted)

    def row_of(name: str) -> int:
        if name in by_path:
            return by_path[name]
        row = by_name.get(_base(name), -1) if _base(name) in ours else -1
        return -1 if knows_paths and not _ends_alike(name, listed[row]) else row

    rows = [row_of(name) for name in wanted]
    missing = [name for name, row in zip(names, rows, strict=True) if row < 0]
    if missing:
        raise InputError(
            f"{path} has {len(files)} rows but none for {len(missing)} of the {len(names)} images ({brief(missing)}); "
            "add a row for each image."
        )
    return rows


def _normal(file: str) -> str:
    """The path with '/', without './', and with accents written in one way: macOS takes letters and accents apart."""
    return unicodedata.normalize("NFC", PurePosixPath(file.strip().replace("\\", "/")).as_posix())


def _ends_alike(one: str, other: str) -> bool:
    """Whether one path is the end of the other."""
    return f"/{one}".endswith(f"/{other}") or f"/{other}".endswith(f"/{one}")


def _base(file: str) -> str:
    return file.rsplit("/", 1)[-1]


def _unique_base(files: list[str]) -> dict[str, int]:
    """The row of each bare file name that occurs once."""
    rows: dict[str, int] = {}
    for row, file in enumerate(files):
        rows[_base(file)] = -1 if _base(file) in rows else row
    return {base: row for base, row in rows.items() if row >= 0}


def _id_order(table: Table, names: list[str]) -> list[int] | None:
    """The row of each name where a column `id` lists exactly these names."""
    column = find_column(table.names, None, ("id",), str(table.path))
    row_of = {str(value): row for row, value in enumerate(table.read(column))} if column else {}
    return [row_of[name] for name in names] if row_of.keys() == set(names) and len(names) == len(table.rows) else None


def _index_order(table: Table) -> np.ndarray:
    """The order of rows: by a column `index` of 0..N-1 if there is one, otherwise as they stand."""
    column = find_column(table.names, None, ("index",), str(table.path))
    plain = np.arange(len(table.rows))
    if column is None:
        return plain
    texts = [str(value) for value in tidy_labels(table.read(column), where=str(table.path), rows=table.rows)]
    if not all(text.isdecimal() and len(text) <= 18 for text in texts):
        return plain
    index = np.array(texts, dtype=object).astype(np.int64)
    order = np.argsort(index, kind="stable")
    if not np.array_equal(order, plain) and not np.array_equal(np.sort(index), plain):
        raise InputError(f"the column '{column}' of {table.path} is not 0..{len(plain) - 1}; number the rows by image.")
    return order
