"""Text in the CSV files that we write for people: no spreadsheet takes it for a formula, and our readers undo that."""

import re
from collections.abc import Callable

import pandas as pd

_CELL = "(?:^|(?<=[;\t\r\n]))"  # where a cell begins: also after what separates cells or rows elsewhere
_BEFORE_FORMULA = "(?='*[=+\\-@\0\t\r\n\uff0b\uff0d\uff1d\uff20])"  # the last four are = + - @ in full width
_OPEN = re.compile(_CELL + _BEFORE_FORMULA)
_GUARDED = re.compile(_CELL + "'" + _BEFORE_FORMULA)
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def guard(text: str) -> str:
    """The text with an apostrophe before whatever a spreadsheet would calculate; `unguard` takes it away again.

    A name can come from a stranger, and a spreadsheet that opens a cell beginning with `=`, `+`, `-` or `@`, or with a
    tab or line break before these, runs it as a formula, quoted or not. As OWASP advises (CSV injection), such a cell
    gets one apostrophe in front: `=1+1` is written `'=1+1`, `@home` is written `'@home`. The same goes for the inside
    of a text after `;`, tab or line break, where a spreadsheet with other separators begins a new cell.

    What is a plain number (`-1`, `+2.5e-3`) can do no harm and stays a number, so that class `-1` is still `-1`. A name
    that has such apostrophes of its own (`'=x`) gets one more, so that no two names are ever written alike.
    """
    return text if _NUMBER.fullmatch(text) else _OPEN.sub("'", text)


def unguard(cell: str) -> str:
    """The text that `guard` was given; the same text for every cell that needed no guard."""
    return _GUARDED.sub("", cell)


def guarded(table: pd.DataFrame) -> pd.DataFrame:
    """The table with every text in it guarded; numbers and truth values stay."""
    return _each_text(table, guard)


def unguarded(table: pd.DataFrame) -> pd.DataFrame:
    """The table that `guarded` was given."""
    return _each_text(table, unguard)


def _each_text(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    texts = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
    columns = {
        name: pd.Series([change(cell) if isinstance(cell, str) else cell for cell in table[name]], table.index, object)
        for name in texts
    }
    return table.assign(**columns)
