"""Files that are there whole or not at all."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from twincl.errors import InputError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the name `path` when the block ends without error."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, atomically; file names of another encoding keep their bytes."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically; NaN is refused."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise InputError if `path` would be overwritten unasked or cannot be created."""
    if path.exists() and not force:
        raise InputError(f"{path} exists; pass --force to replace it")
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: " + ("it is a folder" if path.is_dir() else "no such folder"))
