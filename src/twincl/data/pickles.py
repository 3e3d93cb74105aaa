"""Pickles from strangers: a reader that builds numbers, text, containers and arrays and can call nothing else.

A pickle is a program for a small machine. This machine has only the instructions that make plain data, and where a
pickle names a class or a function it gets one of the stand-ins of `pickle_parts`, or is refused.
"""

import functools
import io
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from twincl.archives import check_zip, is_zip
from twincl.data.pickle_parts import NUMPY, TORCH, Array, Dtype, Function, Refused, Storage, StorageType, settle
from twincl.errors import InputError

_INSTRUCTIONS = (  # what builds plain data: no objects (INST, OBJ, NEWOBJ), sets, extensions or buffers
    *("PROTO", "FRAME", "STOP", "MARK", "POP", "POP_MARK", "DUP", "NONE", "NEWTRUE", "NEWFALSE"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("LIST", "EMPTY_LIST", "TUPLE", "EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT"),
    *("GET", "BINGET", "LONG_BINGET", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"),
    *("GLOBAL", "STACK_GLOBAL", "PERSID", "BINPERSID"),
)
_LEGACY_TORCH = 0x1950A86A20F9469CFC6C  # the first of five pickles in a file by torch.save before 1.6

Names = Mapping[tuple[str, str], Any]


def read_pickle(path: Path) -> Any:
    """The object in a pickle file of plain data; text and arrays of Python 2 are read as latin-1.

    Raises:
        InputError: the file is no pickle, or asks for anything but plain data, none of which is then executed.
    """
    return _read(path, lambda content: settle(_Reader(io.BytesIO(content), NUMPY).load(), {}))


def read_torch(path: Path) -> Any:
    """The object in a file by `torch.save` (zip or legacy) or `pickle.dump`, with tensors turned into numpy arrays.

    Raises:
        InputError: as `read_pickle`, or the file unpacks to far more than it is.
    """
    return _read(path, lambda content: _from_zip(content) if is_zip(path) else _from_legacy(content))


def _read(path: Path, parse: Callable[[bytes], Any]) -> Any:
    try:
        content = path.read_bytes()
        if is_zip(path):
            check_zip(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}).") from error
    try:
        return parse(content)
    except Refused as error:
        raise InputError(
            f"{path} asks for '{str(error)[:200]}' while loading and was refused; only plain numbers, text and arrays "
            "are read, so get the original file, or save the data as .npy or .csv."
        ) from error
    except Exception as error:  # a damaged pickle can fail in any way
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError(f"{path} is not a readable pickle ({reason}); save the data as .npy or .csv.") from error


def _from_zip(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        name = next((name for name in names if name.rsplit("/", 1)[-1] == "data.pkl"), None)
        if name is None:
            raise ValueError("a zip archive, but not one by torch.save")
        folder = name.removesuffix("data.pkl")
        order = archive.read(f"{folder}byteorder") if f"{folder}byteorder" in names else b"little"
        value = _Reader(io.BytesIO(archive.read(name)), TORCH).load()
        fetch = functools.cache(lambda key: archive.read(f"{folder}data/{key}"))
        return settle(value, {}, fetch, ">" if order == b"big" else "<")


def _from_legacy(content: bytes) -> Any:
    file = io.BytesIO(content)
    value = _Reader(file, TORCH).load()
    if not isinstance(value, int) or value != _LEGACY_TORCH:
        return settle(value, {})
    for _ in ("version of the format", "machine that wrote it"):
        _Reader(file, {}).load()
    reader = _Reader(file, TORCH)
    value, keys = reader.load(), _Reader(file, {}).load()
    storages: dict[str, memoryview] = {}
    for key in keys:  # the number of elements, then the elements
        length = int.from_bytes(file.read(8), "little") * np.dtype(reader.codes[key]).itemsize
        start = file.tell()
        storages[key] = memoryview(content)[start : start + length]
        file.seek(start + len(storages[key]))
    return settle(value, {}, storages.__getitem__)


class _Machine(dict[int, Any]):
    """What each instruction does; any other is refused."""

    def __missing__(self, code: int) -> Any:
        if code in pickle._Unpickler.dispatch:
            raise Refused(f"the pickle instruction {code:#x}")
        raise pickle.UnpicklingError(f"no pickle instruction has the number {code:#x}")


class _Reader(pickle._Unpickler):  # the one in C runs every instruction, and allocates what it is told to
    """Plain data and the stand-ins of `names`."""

    stack: list[Any]  # of the base class
    pop_mark: Callable[[], list[Any]]
    dispatch = _Machine(
        (code[0], pickle._Unpickler.dispatch[code[0]]) for code in (getattr(pickle, name) for name in _INSTRUCTIONS)
    )

    def __init__(self, file: io.BytesIO, names: Names) -> None:
        super().__init__(file, encoding="latin1")
        self._names = names
        self.codes: dict[str, str] = {}  # dtype of the storages that were asked for, by key

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in of that name."""
        if (module, name) not in self._names:
            raise Refused(f"{module}.{name}")
        return self._names[module, name]

    def persistent_load(self, pid: Any) -> Any:
        """A storage; nothing else lies outside a pickle that is read here."""
        if not isinstance(pid, tuple) or len(pid) < 5 or not isinstance(pid[1], StorageType):
            raise Refused("something outside it")
        self.codes[str(pid[2])] = pid[1].code
        return Storage(pid[1].code, str(pid[2]))

    def _call(self) -> None:
        arguments, function = self.stack.pop(), self.stack[-1]
        if not isinstance(function, Function):
            raise Refused("a call of what is no function")
        self.stack[-1] = function.call(*arguments)

    def _build(self) -> None:
        state, thing = self.stack.pop(), self.stack[-1]
        if not isinstance(thing, Array | Dtype):
            raise Refused(f"the state of a {type(thing).__name__}")
        thing.set_state(*state)

    def _append(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list):
            raise Refused(f"items of a {type(target).__name__}")
        target.extend(items)

    def _set_items(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise Refused(f"items of a {type(target).__name__}")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str | bytes | int | float | None):
                raise Refused(f"a {type(key).__name__} as key")  # hashing a deep tuple would end the interpreter
            target[key] = value

    def _set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value])

    def _make_dict(self) -> None:
        items = self.pop_mark()
        self.stack.append({})
        self._set_items(items)

    dispatch[pickle.REDUCE[0]] = _call
    dispatch[pickle.BUILD[0]] = _build
    dispatch[pickle.APPEND[0]] = lambda self: self._append([self.stack.pop()])
    dispatch[pickle.APPENDS[0]] = lambda self: self._append(self.pop_mark())
    dispatch[pickle.SETITEM[0]] = _set_item
    dispatch[pickle.SETITEMS[0]] = lambda self: self._set_items(self.pop_mark())
    dispatch[pickle.DICT[0]] = _make_dict
