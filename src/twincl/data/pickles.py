"""Pickles from strangers: a reader that builds numbers, text, containers and numpy arrays and can call nothing else."""

import io
import pickle
import zipfile
from _codecs import encode
from pathlib import Path
from typing import IO, Any

import numpy as np

from twincl.errors import InputError

_ARRAY = np.empty(0).__reduce__()[0]  # numpy's array constructor, wherever this numpy keeps it
_SCALAR = np.float64(0).__reduce__()[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): encode,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _ARRAY for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _SCALAR for core in ("core", "_core")},
}
_LEGACY_TORCH = 0x1950A86A20F9469CFC6C  # the first of four pickles in a file by torch.save before 1.6


class _Refused(pickle.UnpicklingError):
    """The pickle asks for something that is not on the list."""


class _Tensors(pickle.UnpicklingError):
    """The pickle refers to storages outside it, as torch tensors do."""


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            error = _Tensors if module.split(".")[0] == "torch" else _Refused
            raise error(f"{module}.{name}") from None

    def persistent_load(self, pid: Any) -> Any:
        raise _Tensors("tensor storage")


def read_pickle(path: Path) -> Any:
    """The object in a pickle file of plain data; text and arrays of Python 2 are read as latin-1.

    Raises:
        InputError: the file is no pickle, or asks for anything but plain data, none of which is then executed.
    """
    try:
        with _opened(path) as file:
            return _load(file, path)
    except _Tensors as error:
        raise _refusal(path, error) from error


def read_torch(path: Path) -> Any:
    """The object in a file by `torch.save` (zip or legacy) or `pickle.dump`, with tensors turned into numpy arrays.

    Raises:
        InputError: as `read_pickle`.
    """
    try:
        if zipfile.is_zipfile(path):
            return _load(_zipped(path), path)
        with _opened(path) as file:
            value = _load(file, path)
            if isinstance(value, int) and value == _LEGACY_TORCH:
                _load(file, path), _load(file, path)  # the format's version, the machine that wrote it
                value = _load(file, path)
            return value
    except _Tensors:
        return _with_tensors(path)


def _zipped(path: Path) -> IO[bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.rsplit("/", 1)[-1] == "data.pkl")
            return io.BytesIO(archive.read(name))
    except (StopIteration, zipfile.BadZipFile, OSError) as error:
        raise InputError(f"{path} is not a file by torch.save; download or save it again.") from error


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error


def _load(file: IO[bytes], path: Path) -> Any:
    try:
        return _Reader(file, encoding="latin1").load()
    except _Tensors:
        raise
    except _Refused as error:
        raise _refusal(path, error) from error
    except Exception as error:  # a damaged pickle can fail in any way
        raise InputError(f"{path} is not a readable pickle ({type(error).__name__}: {error}).") from error


def _refusal(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} asks for '{error}' while loading and was refused; only plain numbers, text and numpy arrays are read, "
        "so get the original file, or save the data as .npy or .csv."
    )


def _with_tensors(path: Path) -> Any:
    import torch

    dtypes = {type(np.dtype(code)) for code in "?bBhHiIlLqQefdSUO"}
    numpy_names: list[Any] = [_ARRAY, _SCALAR, np.ndarray, np.dtype, encode, *sorted(dtypes, key=repr)]
    try:
        with torch.serialization.safe_globals(numpy_names):
            value = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch reports refusals and damage alike
        reason = str(error).split("\n", 1)[0]
        raise InputError(f"{path} cannot be read as plain data ({reason}); save the labels as .npy or .csv.") from error
    return _as_arrays(value)


def _as_arrays(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_arrays(item) for key, item in value.items()}
    return value.detach().numpy() if hasattr(value, "detach") else value
