"""Stand-ins for what pickles of plain data name: numpy's arrays and dtypes, PyTorch's tensors.

The real ones trust what they are handed: a forged dtype turns bytes into pointers, a shape alone allocates. A stand-in
only notes what it is told; `settle` makes arrays of them once every length is known to fit the bytes that are there.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

_DTYPE = re.compile(r"b1|[iu][1248]|f[248]|[SU]\d{1,6}|O8?")
_STORAGES = {
    **{"Bool": "?", "Byte": "u1", "Char": "i1", "Short": "i2", "Int": "i4", "Long": "i8"},
    **{"Half": "f2", "Float": "f4", "Double": "f8"},
}


class Refused(Exception):
    """A pickle asks for something that is not plain data; the message is its name."""


@dataclass(frozen=True)
class Function:
    """What a pickle may call."""

    call: Callable[..., Any]


@dataclass(frozen=True)
class StorageType:
    """`torch.LongStorage` and its like."""

    code: str


@dataclass(frozen=True)
class Storage:
    """The numbers of a tensor, which lie outside the pickle."""

    code: str
    key: str


@dataclass(frozen=True)
class Tensor:
    """A tensor: a view of a storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self, content: bytes | memoryview, order: str) -> np.ndarray:
        """The view as an array; ValueError if it does not lie in `content`."""
        kind = np.dtype(order + self.storage.code)
        count = len(content) // kind.itemsize
        reach = self.offset + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))
        if min(self.offset, *self.shape, *self.strides, 0) < 0 or prod(self.shape) > count or reach >= max(count, 1):
            raise ValueError(f"a tensor of shape {self.shape} in a storage of {count} elements")
        if 0 in self.shape:
            return np.empty(self.shape, kind)
        flat = np.frombuffer(content, kind, count=count)[self.offset :]
        steps = tuple(stride * kind.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False)


@dataclass
class Dtype:
    """`numpy.dtype`, of numbers, text and objects."""

    code: str
    order: str = "="

    def set_state(self, version: int, order: str, *rest: Any) -> None:
        """Take the byte order; the rest says again what the code says."""
        if order not in ("<", ">", "|", "="):
            raise Refused("an unknown byte order")
        if any(part is not None for part in rest[:3]):
            raise Refused("a structured dtype")
        self.order = order

    def actual(self) -> np.dtype[Any]:
        """Numpy's own."""
        return np.dtype(self.code).newbyteorder(self.order)  # type: ignore[arg-type]


@dataclass
class Array:
    """`numpy.ndarray`, empty until its state is set."""

    shape: tuple[int, ...] = (0,)
    kind: Dtype = field(default_factory=lambda: Dtype("f8"))
    fortran: bool = False
    raw: Any = b""  # bytes, or a list of objects

    def set_state(self, version: int, shape: Any, kind: Any, fortran: Any, raw: Any) -> None:
        """Take shape, type and content."""
        raw = _bytes(raw)
        if not isinstance(kind, Dtype) or not isinstance(raw, list if kind.code[0] == "O" else bytes):
            raise Refused("an array of another content than its type")
        self.shape, self.kind, self.fortran, self.raw = tuple(map(int, shape)), kind, bool(fortran), raw

    def array(self) -> np.ndarray:
        """The array, read-only where it shares the pickle's bytes; ValueError if shape and content do not agree."""
        kind = self.kind.actual()
        if kind.hasobject:
            flat = np.fromiter(self.raw, dtype=object, count=len(self.raw))
        else:
            flat = np.frombuffer(self.raw, kind) if self.raw else np.empty(0, kind)
        if min(self.shape, default=0) < 0 or prod(self.shape) != len(flat):
            raise ValueError(f"an array of shape {self.shape} with {len(flat)} elements")
        return flat.reshape(self.shape, order="F" if self.fortran else "C")


def settle(
    value: Any, seen: dict[int, Any], fetch: Callable[[str], bytes | memoryview] | None = None, order: str = "<"
) -> Any:
    """The value with arrays in the place of stand-ins.

    Args:
        value: what the pickle made; lists and dicts are changed in place.
        seen: what is done already, by identity, for pickles that refer to themselves.
        fetch: the content of the storage of that key.
        order: the byte order of storages.

    Raises:
        Refused: something is there that is no data.
        ValueError: an array or tensor does not fit its content.
    """
    if id(value) in seen:
        return seen[id(value)]
    if isinstance(value, Array):
        if isinstance(value.raw, list):
            seen[id(value)] = None  # an array that holds itself
            value.raw = [settle(item, seen, fetch, order) for item in value.raw]
        seen[id(value)] = value.array()
    elif isinstance(value, Tensor):
        if fetch is None:
            raise ValueError("a tensor without its storage")
        seen[id(value)] = value.array(fetch(value.storage.key), order)
    elif isinstance(value, list):
        seen[id(value)] = value
        value[:] = [settle(item, seen, fetch, order) for item in value]
    elif isinstance(value, dict):
        seen[id(value)] = value
        for key, item in value.items():
            value[key] = settle(item, seen, fetch, order)
    elif isinstance(value, tuple):
        seen[id(value)] = tuple(settle(item, seen, fetch, order) for item in value)
    elif isinstance(value, Dtype | Storage | StorageType | Function):
        raise Refused(f"a {type(value).__name__.lower()}, which is no data")
    return seen.get(id(value), value)


def _make_dtype(code: Any, *_: Any) -> Dtype:
    text = code.decode() if isinstance(code, bytes) else code
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise Refused(f"numpy.dtype({str(code)[:50]})")
    return Dtype(text)


def _make_scalar(kind: Any, raw: Any) -> Any:
    if not isinstance(kind, Dtype) or kind.code[0] == "O":
        raise Refused("a number of an unknown type")
    return np.frombuffer(_bytes(raw), kind.actual(), count=1)[0]


def _make_tensor(storage: Any, offset: int, shape: Any, strides: Any, *_: Any) -> Tensor:
    if not isinstance(storage, Storage):
        raise Refused("a tensor without a storage")
    return Tensor(storage, int(offset), tuple(map(int, shape)), tuple(map(int, strides)))


def _encode(text: str, encoding: str) -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise Refused(f"the encoding {encoding}")
    return text.encode("latin1")


def _bytes(raw: Any) -> Any:
    """Python 2 did not tell bytes from text."""
    return raw.encode("latin1") if isinstance(raw, str) else raw


NUMPY: dict[tuple[str, str], Any] = {  # module and name in the pickle -> what it gets
    ("numpy", "ndarray"): None,  # only ever an argument
    ("numpy", "dtype"): Function(_make_dtype),
    ("_codecs", "encode"): Function(_encode),
    **{(f"numpy.{core}.multiarray", "_reconstruct"): Function(lambda *_: Array()) for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): Function(_make_scalar) for core in ("core", "_core")},
}
TORCH = NUMPY | {
    ("torch._utils", "_rebuild_tensor_v2"): Function(_make_tensor),
    ("collections", "OrderedDict"): Function(lambda *_: {}),
    **{("torch", f"{name}Storage"): StorageType(code) for name, code in _STORAGES.items()},
}
