"""How much a packed file may unpack to: files from strangers can claim, and hold, far more than they are long."""

import zipfile
from pathlib import Path

from twincl.errors import InputError

ALWAYS = 256 * 2**20  # bytes that any file may unpack to
RATIO = 200  # beyond that, times its own length; photographs and embeddings reach 1 to 3, digits 5 to 30


def check_unpacked(path: Path, unpacked: int) -> None:
    """Refuse to unpack the file `path` to `unpacked` bytes where only a decompression bomb would.

    Raises:
        InputError: that is more than `ALWAYS` bytes and more than `RATIO` times the length of the file.
    """
    packed = path.stat().st_size
    if unpacked > max(ALWAYS, RATIO * packed):
        raise InputError(
            f"{path} is a file of {packed} bytes that unpacks to {unpacked} or more (a decompression bomb); it was not "
            "read, so get the original, or save the data uncompressed."
        )


def is_zip(path: Path) -> bool:
    """Whether the file begins as zip archives do."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def check_zip(path: Path) -> None:
    """Refuse a zip archive that says it unpacks to more than `check_unpacked` allows; what is no readable one passes.

    Readers stop at the length that the archive states for each of its files, so this bounds what they unpack.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            stated = sum(entry.file_size for entry in archive.infolist())
    except Exception:  # damaged archives raise errors of every kind; the reader that follows says so
        return
    check_unpacked(path, stated)
