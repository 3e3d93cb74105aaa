"""Paths that a table names: whether they stay in its folder."""

import os
from pathlib import Path


class Inside:
    """The files in a folder or below it, once every `..` and every link has been followed."""

    def __init__(self, folder: Path) -> None:
        self._root = Path(os.path.realpath(folder))
        self._parents: dict[Path, bool] = {}  # a million files lie in few folders

    def holds(self, file: Path) -> bool:
        """Whether `file` is one of them."""
        if file.is_symlink():
            return Path(os.path.realpath(file)).is_relative_to(self._root)
        if file.parent not in self._parents:
            self._parents[file.parent] = Path(os.path.realpath(file.parent)).is_relative_to(self._root)
        return self._parents[file.parent]
