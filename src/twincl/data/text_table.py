"""Tables with named columns, and the readers of those written as text: CSV, TSV and JSON lines."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from twincl.errors import InputError


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


def read_delimited(path: Path) -> Table:
    """A CSV or TSV file; every value is text, blank lines are skipped, rows count from 2 as in a spreadsheet.

    Raises:
        InputError: the file is not UTF-8 text, has no rows, or a row is longer or shorter than the header.
    """
    text = _text(path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(text.split("\n", 1)[0])
    try:
        lines = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{path} is not a readable table ({error}); save it as CSV again.") from error
    names = [name.strip() for name in lines[0]] if lines else []
    kept = [(number, line) for number, line in enumerate(lines[1:], start=2) if any(cell.strip() for cell in line)]
    if not kept:
        raise InputError(f"{path} has no rows; give a header line and one row per image.")
    for number, line in kept:
        if len(line) != len(names):
            raise InputError(
                f"row {number} of {path} has {len(line)} values but the header has {len(names)}; correct that row."
            )
    columns = {
        name: [cell.strip() for cell in cells]
        for name, cells in zip(names, zip(*(line for _, line in kept), strict=True), strict=True)
    }
    return Table(path, names, [number for number, _ in kept], columns.__getitem__)


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
        except json.JSONDecodeError as error:
            raise InputError(f"line {number} of {path} is not JSON ({error.msg}); correct that line.") from error
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text; save it as UTF-8.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error


def _delimiter(header: str) -> str:
    return max(",;\t|", key=header.count)  # a comma on a tie: max keeps the first
