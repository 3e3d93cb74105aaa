"""Exports that are folders: there whole or not at all, and nothing of the user's is ever replaced."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twincl.errors import InputError

MARKER = "export.json"  # in every exported folder: says what it is, and that --force may replace it


def refuse_occupied(folder: Path, *, force: bool) -> None:
    """Raise InputError if `folder` cannot be created, or holds something that would be lost; changes nothing."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"the output {folder} is a file; choose a folder")
    if not folder.parent.is_dir() or not os.access(folder.parent, os.W_OK):
        raise InputError(f"the output folder {folder} cannot be written: {folder.parent} is no folder to write in")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / MARKER).is_file():
        raise InputError(f"the folder {folder} holds other files and no export; choose a new folder")
    if not force:
        raise InputError(f"the folder {folder} holds an export; pass --force to replace it")


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder beside `folder` to fill; it takes its name, and place, when the block ends without error."""
    folder = Path(os.path.realpath(folder))
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
            folder.replace(old)
            temporary.replace(folder)
            shutil.rmtree(old)
        else:
            temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
