"""Images that a published data set lists in plain text: a path a line, alone or with the number of its class."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from twincl.data.label_values import brief
from twincl.data.text_table import read_lines
from twincl.errors import InputError

_MOST_DIGITS = 18  # of a number that 64 bits hold


def read_pairs(file: Path) -> tuple[list[str], np.ndarray]:
    """The paths and the class numbers (N,) of a file with lines such as `images/0/1.jpg 3`.

    Raises:
        InputError: the file is missing, or a line is not a path and a number.
    """
    lines = listed_lines(file)
    pairs = [line.rsplit(maxsplit=1) for line in lines]
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2 or not pair[1].isdecimal() or len(pair[1]) > _MOST_DIGITS:
            said = brief([lines[number - 1]])
            raise InputError(f"line {number} of {file} is not a path and the number of its class ({said}); correct it.")
    return [name for name, _ in pairs], np.array([int(label) for _, label in pairs], dtype=np.int64)


def listed_lines(file: Path) -> list[str]:
    """The lines of `file` without space around them.

    Raises:
        InputError: the file is missing, empty or not text.
    """
    if not file.is_file():
        raise InputError(f"{file} is missing; put the lists of the data set where it was published with them.")
    lines = read_lines(file)[1]
    if lines == [""]:
        raise InputError(f"{file} is empty; download it again.")
    return lines


def refuse_without(folder: Path, needed: str, others: Iterable[str]) -> None:
    """Tell a published data set that is not complete from a folder of images with no lists at all.

    Raises:
        InputError: `folder` holds one of the lists `others` but not the `needed` one.
    """
    found = next((name for name in others if (folder / name).is_file()), None)
    if found is not None and not (folder / needed).is_file():
        raise InputError(
            f"{folder} holds {found} but not {needed}, which lists the training images; put that list there too."
        )


def locate(root: Path, names: list[str], where: Path, *, allow_outside: bool = False) -> list[Path]:
    """The files `names` below `root`; each folder is listed once and no file is opened.

    They must stay in `root`, links followed, unless `allow_outside`: a list can come from a stranger.

    Raises:
        InputError: a file does not exist or lies outside; `where` is the list that names it.
    """
    real = None if allow_outside else os.path.realpath(root)
    parts = [name.rpartition("/") for name in names]
    folders = {folder: _look(root / folder, real) for folder in {folder for folder, _, _ in parts}}
    outside = [name for name, (folder, _, base) in zip(names, parts, strict=True) if folders[folder].hides(base)]
    if outside:
        verb = "lie" if len(outside) > 1 else "lies"
        raise InputError(
            f"{len(outside)} of {len(names)} image files listed in {where} {verb} outside {root} ({brief(outside)}); "
            "pass --allow-outside if you trust it."
        )
    missing = [name for name, (folder, _, base) in zip(names, parts, strict=True) if base not in folders[folder].files]
    if missing:
        verb = "do" if len(missing) > 1 else "does"
        raise InputError(
            f"{len(missing)} of {len(names)} image files listed in {where} {verb} not exist below {root} "
            f"({brief(missing)}); unpack all images there."
        )
    return [folders[folder].files[base] for folder, _, base in parts]


@dataclass(frozen=True)
class _Folder:
    """What a folder holds, looked up once: a million files lie in few folders."""

    is_inside: bool
    files: dict[str, Path] = field(default_factory=dict)
    links_out: frozenset[str] = frozenset()  # those of the files that lie elsewhere

    def hides(self, file: str) -> bool:
        return not self.is_inside or file in self.links_out


def _look(folder: Path, real: str | None) -> _Folder:
    """What is in `folder`; not even looked into where it is outside of `real`, if that is given."""
    try:
        if not _holds(real, folder):
            return _Folder(is_inside=False)
        with os.scandir(folder) as entries:
            kinds = {entry.name: entry.is_symlink() for entry in entries if entry.is_file()}
        files = {path.name: path for path in folder.iterdir() if path.name in kinds}  # quicker than joining paths
    except (OSError, ValueError):  # there is none, or this is no path at all
        return _Folder(is_inside=True)
    links_out = frozenset(name for name, is_link in kinds.items() if is_link and not _holds(real, folder / name))
    return _Folder(True, files, links_out)


def _holds(real: str | None, path: Path) -> bool:
    return real is None or Path(os.path.realpath(path)).is_relative_to(real)
