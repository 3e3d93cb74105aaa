"""Tables with named columns, and the readers of those written as text: CSV, TSV and JSON lines."""

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from twincl.data.columns import NAME_COLUMNS
from twincl.data.csv_text import unguard
from twincl.errors import InputError

_AS_IT_WAS = ("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Table:
    """Named columns of N values each; a column is fetched when it is asked for."""

    path: Path  # named in messages; its folder is the base of relative paths
    names: list[str]
    rows: Sequence[int]  # (N,) the number by which a user finds each row in the file
    read: Callable[[str], list[Any]]
    structs: frozenset[str] = frozenset()  # columns of {bytes, path}, read as "<name>.bytes" and "<name>.path"
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # names of a column's integer labels
    vectors: Mapping[str, Callable[[], np.ndarray]] = field(default_factory=dict)  # columns of numbers, (N, D)

    def named(self, column: str, values: Sequence[Any]) -> np.ndarray:
        """The class names that stand for the integer `values` of a column, (N,) str.

        Raises:
            InputError: a value is not the number of a class.
        """
        names = self.classes[column]
        for row, value in zip(self.rows, values, strict=True):
            if not isinstance(value, int) or not 0 <= value < len(names):
                raise InputError(
                    f"row {row} of {self.path} has {value!r} in the column '{column}', whose classes are 0 to "
                    f"{len(names) - 1}; correct it."
                )
        return np.array([names[value] for value in values], dtype=object)


def read_delimited(path: Path) -> Table:
    """A CSV or TSV file; every value is text, blank lines are skipped, rows count from 1, the header being one.

    Cells that `csv_text.guard` wrote are read as they were before. Files may be named in another encoding than UTF-8;
    everything else must be UTF-8.

    Raises:
        InputError: the file is not UTF-8 text, has no rows, a quote is left open, a row is longer or shorter than the
            header, or a column that is asked for is there twice.
    """
    content = _content(path)
    text = content.decode("utf-8-sig", "surrogateescape")
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    lines: list[list[str]] = []
    try:
        lines.extend(reader)
    except csv.Error as error:  # also a value of more than 131,072 characters
        raise InputError(
            f"{path} is not a readable table (row {len(lines) + 1}, line {reader.line_num}: {error}); look for a quote "
            "that is not closed, or save it as CSV again."
        ) from error
    filled = [(number, line) for number, line in enumerate(lines, start=1) if any(cell.strip() for cell in line)]
    names = [name.strip() for name in filled[0][1]] if filled else []
    utf8 = _is_utf8(content)
    if not utf8 and not _is_utf8("".join(names).encode(*_AS_IT_WAS)):
        raise _not_utf8(path)
    kept = filled[1:]
    if not kept:
        raise InputError(f"{path} has no rows; give a header line and one row per image.")
    for number, line in kept:
        if len(line) != len(names):
            raise InputError(
                f"row {number} of {path} has {len(line)} values but the header has {len(names)}; correct that row."
            )
    columns = {
        name: [unguard(cell.strip()) for cell in cells]
        for name, cells in zip(names, zip(*(line for _, line in kept), strict=True), strict=True)
    }
    for name, cells in () if utf8 else columns.items():
        if name.lower() not in NAME_COLUMNS and not _is_utf8("".join(cells).encode(*_AS_IT_WAS)):
            raise _not_utf8(path)

    def read(name: str) -> list[str]:
        if names.count(name) > 1:
            raise InputError(f"{path} has {names.count(name)} columns named '{name}'; rename or remove all but one.")
        return columns[name]

    return Table(path, names, [number for number, _ in kept], read)


def read_json_lines(path: Path) -> Table:
    """A file with one JSON object a line; a key that a line lacks reads as None, rows are line numbers from 1.

    Raises:
        InputError: the file is not UTF-8 text, has no rows, or a line is not an object.
    """
    rows: list[int] = []
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:  # besides its own errors, those of numbers and of depth
            reason = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
            raise InputError(f"line {number} of {path} is not JSON ({reason}); correct that line.") from error
        if not isinstance(value, dict):
            raise InputError(
                f"line {number} of {path} is not a JSON object; write one object with named fields a line."
            )
        rows.append(number)
        objects.append(value)
    if not objects:
        raise InputError(f"{path} has no rows; give one JSON object per image.")
    names = list(dict.fromkeys(name for value in objects for name in value))
    return Table(path, names, rows, lambda name: [value.get(name) for value in objects])


def read_lines(path: Path) -> tuple[list[int], list[str]]:
    """The lines of a text file without trailing blank ones, and their numbers from 1."""
    lines = [line.strip() for line in _text(path).rstrip().split("\n")]
    return list(range(1, len(lines) + 1)), lines


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error


def _text(path: Path) -> str:
    content = _content(path)
    if not _is_utf8(content):
        raise _not_utf8(path)
    return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _not_utf8(path: Path) -> InputError:
    return InputError(f"{path} is not UTF-8 text; save it as UTF-8.")


def _delimiter(header: str) -> str:
    return max(",;\t|", key=header.count)  # a comma on a tie: max keeps the first
