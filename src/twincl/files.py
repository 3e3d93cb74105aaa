"""Files that are there whole or not at all."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from twincl.errors import InputError

PARTIAL = ".partial-"  # how the names of files begin that are still being written


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the name `path` when the block ends without error.

    The content is on disk before the name is, so that not even a power cut leaves half a file under it. Where `path` is
    a link, what it leads to is replaced, and the link stays.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{PARTIAL}{secrets.token_hex(8)}-{target.name}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # less what the umask forbids
    mode = temporary.stat().st_mode
    try:
        yield temporary
        temporary.chmod(mode)  # whoever wrote it may have made it anew, for its owner alone
        _to_disk(temporary)
        temporary.replace(target)
        _to_disk(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def remove_partial(folder: Path) -> None:
    """Remove what a process that was killed had begun to write in `folder`."""
    for file in folder.glob(f"{PARTIAL}*"):
        file.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write `content` as it is, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, atomically; file names of another encoding keep their bytes."""
    write_bytes(path, text.encode("utf-8", errors="surrogateescape"))


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, atomically; NaN is refused."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def refuse_existing(path: Path, *, force: bool) -> None:
    """Raise InputError if `path` would be overwritten unasked or cannot be created."""
    if path.exists() and not force:
        raise InputError(f"{path} exists; pass --force to replace it")
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: " + ("it is a folder" if path.is_dir() else "no such folder"))
