"""Arrays in `.npy` and `.npz` files; no header is believed before the file has been measured."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from twincl.archives import check_zip, is_zip
from twincl.errors import InputError, first_line

_READ_HEADER = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_CHUNK = 2**22  # bytes read at a time, straight to where they belong


def load_arrays(path: Path) -> np.ndarray | Mapping[str, np.ndarray]:
    """The array of a `.npy` file, or the arrays of a `.npz` file by name; nothing pickled is read.

    Raises:
        InputError: the file, or an array that is asked for, is damaged, holds Python objects, claims more than it has,
            or unpacks to far more than it is.
    """
    with _damage(path):
        if is_zip(path):
            check_zip(path)
            with zipfile.ZipFile(path) as archive:
                return _Arrays(path, _arrays(archive))
        with path.open("rb") as file:
            return _array(file, path.stat().st_size, str(path))


class _Arrays(Mapping[str, np.ndarray]):
    """The arrays of an archive, each read when it is asked for."""

    def __init__(self, path: Path, entries: dict[str, zipfile.ZipInfo]):
        self._path, self._entries = path, entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __getitem__(self, name: str) -> np.ndarray:
        entry = self._entries[name]
        with _damage(self._path), zipfile.ZipFile(self._path) as archive, archive.open(entry) as file:
            return _array(file, entry.file_size, f"'{name}' in {self._path}")


def _arrays(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    found = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
    if archive.infolist() and not found:
        raise ValueError("a zip archive without arrays")
    return {entry.filename.removesuffix(".npy"): entry for entry in found}


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Whatever a damaged file raises, as one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # a damaged archive can fail in any way
        raise InputError(f"{path} is not a readable numpy file ({first_line(error)}); save it again.") from error


def _array(file: IO[bytes], length: int, what: str) -> np.ndarray:
    """The array in a file of `length` bytes, which its header must not exceed; messages call it `what`."""
    version = np.lib.format.read_magic(file)
    if version not in _READ_HEADER:
        raise ValueError(f"version {version} of the format, which arrays of numbers and text do not need")
    shape, fortran, kind = _READ_HEADER[version](file)
    if kind.hasobject:
        raise InputError(
            f"{what} holds Python objects, which are not read; save images as uint8, features as float32, "
            "labels as int or str."
        )
    _check_claim(shape, kind, length - file.tell())
    flat = np.empty(prod(shape), kind)
    content = flat.view(np.uint8)
    for start in range(0, len(content), _CHUNK):
        part = file.read(min(_CHUNK, len(content) - start))
        content[start : start + len(part)] = np.frombuffer(part, np.uint8)
        if len(part) < min(_CHUNK, len(content) - start):
            raise EOFError(f"the file ends after {start + len(part)} of {len(content)} bytes")
    return flat.reshape(shape, order="F" if fortran else "C")


def _check_claim(shape: tuple[int, ...], kind: np.dtype[Any], present: int) -> None:
    claimed = prod(shape) * kind.itemsize
    if any(size < 0 for size in shape) or kind.itemsize == 0 or claimed > present:
        raise ValueError(f"the header claims {kind} of shape {shape}, and {present} bytes follow")
