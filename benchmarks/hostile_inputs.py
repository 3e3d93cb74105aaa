"""Input that no one should give, of every kind that twincl reads: how to draw it, and how it is handed to its reader.

`tests/hostile` tries a few of each kind in every run of the tests, `benchmarks.fuzz` as many as it is given time for.
"""

import gzip
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
import yaml
from hypothesis import strategies as st
from PIL import Image

from twincl.cli import main
from twincl.config import build_config, valid_keys
from twincl.data.decode import BrokenImage, decode, read_header
from twincl.data.images import load_images
from twincl.data.labels import read_labels
from twincl.data.pickles import read_pickle, read_torch
from twincl.data.read import read_dataset
from twincl.errors import InputError

Draw = st.DrawFn
Files = dict[str, bytes]  # name -> content
Read = Callable[[Path], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of input: `files` to lay into an empty folder, and `read`, which returns, or raises InputError."""

    files: st.SearchStrategy[Files]
    read: Read


def attempt(kind: Kind, files: Files, folder: Path) -> bool:
    """Lay out `files` in the empty `folder` and read them; whether they were accepted. What else escapes is a bug."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    try:
        kind.read(folder)
    except (InputError, BrokenImage) as error:
        if not str(error).strip() or len(str(error)) > 2000:
            raise AssertionError(f"a refusal of {len(str(error))} characters") from error
        return False
    return True


# parts

_ODD_TEXT = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(
    [
        "",
        "NaN",
        "=1+1",
        "../../etc/passwd",
        "/etc/passwd",
        "\u202egpj.exe",
        "<script>",
        "a\nb",
        "\ud800",
        "\0",
        "x" * 3000,
    ]
)
_ODD_NUMBER = st.integers() | st.floats() | st.sampled_from([2**63, -(2**63) - 1, 10**400, 1e308, -0.0])
_ODD_VALUE = st.recursive(
    st.none() | st.booleans() | _ODD_NUMBER | _ODD_TEXT | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_ODD_TEXT, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def _damaged(draw: Draw, whole: bytes) -> bytes:
    """The content with a few bytes changed, put in, taken out or cut off."""
    content = bytearray(whole)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 4]))):
        place = draw(st.integers(0, len(content)))
        match draw(st.sampled_from(["change", "insert", "remove", "cut"])):
            case "change" if place < len(content):
                content[place] = draw(st.integers(0, 255))
            case "insert":
                content[place:place] = draw(st.binary(min_size=1, max_size=8))
            case "remove":
                del content[place : place + draw(st.integers(1, 16))]
            case "cut":
                del content[place:]
    return bytes(content)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# configuration


@st.composite
def _configuration(draw: Draw) -> Files:
    if draw(st.booleans()):
        return {
            "c.yaml": draw(st.binary(max_size=60) | _ODD_TEXT.map(_encoded) | _damaged(b"optim: {epochs: 3, lr: .1}"))
        }
    settings: dict[str, Any] = {}
    for key in draw(st.lists(st.sampled_from(valid_keys()), max_size=4)):
        section, _, name = key.partition(".")
        value = draw(_ODD_VALUE)
        if name:
            inner = settings.setdefault(section, {})
            if isinstance(inner, dict):
                inner[name] = value
        else:
            settings[section] = value
    return {"c.yaml": _encoded(yaml.safe_dump(settings, allow_unicode=draw(st.booleans())))}


# tables and labels

_COLUMNS = st.sampled_from(["file_name", "path", "image", "label", "split", "id", "index", "embedding", "", "=x"])
_CELL = st.sampled_from(["a.png", "./a.png", "b\\a.png", "cat", "train", "test", "0", "1", ""]) | _ODD_TEXT


@st.composite
def _delimited(draw: Draw) -> bytes:
    separator = draw(st.sampled_from([",", ";", "\t"]))
    names, rows = draw(_rows())
    cells = [names, *([str(cell) for cell in row] for row in rows)]
    quoted = (separator.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells)
    return draw(_damaged(_encoded("\n".join(quoted))) | st.binary(max_size=80))


@st.composite
def _rows(draw: Draw, odd: st.SearchStrategy[Any] = _ODD_TEXT) -> tuple[list[str], list[list[Any]]]:
    """A table of two images, which are there, with a label each; then anything else in it."""
    names = ["file_name", draw(_COLUMNS)]
    rows: list[list[Any]] = [[name, draw(st.sampled_from(["cat", "dog", "0"]))] for name in ("a.png", "b.png")]
    for column in draw(st.lists(_COLUMNS, max_size=2)):
        names.append(column)
        for row in rows:
            row.append(draw(_CELL | odd))
    if draw(st.booleans()):
        rows[draw(st.integers(0, 1))][draw(st.integers(0, 1))] = draw(_CELL | odd)
    return names, rows


@st.composite
def _json_lines(draw: Draw) -> bytes:
    names, rows = draw(_rows(_ODD_VALUE.filter(_is_json)))
    return draw(_damaged("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows).encode()))


def _is_json(value: Any) -> bool:
    try:
        return bool(json.dumps(value))
    except (TypeError, ValueError):
        return False


def _table_files(suffix: str, content: st.SearchStrategy[bytes]) -> st.SearchStrategy[Files]:
    return content.map(lambda table: {f"t{suffix}": table, "a.png": _PICTURES["png"], "b.png": _PICTURES["gif"]})


# arrays

_SHAPES = st.sampled_from([(2, 4, 4), (2, 4, 4, 3), (2, 3), (2,), (0, 4, 4), ()])
_KINDS = st.sampled_from(["|u1", "<f4", "<i8", ">f8", "|b1", "<U3", "|S2"])


@st.composite
def _npy(draw: Draw, shapes: st.SearchStrategy[tuple[int, ...]] = _SHAPES) -> bytes:
    """An array, whose header may claim anything."""
    array = np.zeros(draw(shapes), draw(_KINDS))
    buffer = io.BytesIO()
    np.save(buffer, array)
    honest = buffer.getvalue()
    if draw(st.booleans()):
        return draw(_damaged(honest))
    odd_size = st.integers(-2, 5) | st.sampled_from([2**31, 2**62, 2**64, -(2**63)])
    shape = draw(st.lists(odd_size, max_size=5) | st.just(list(array.shape)))
    kind = draw(_KINDS | st.sampled_from(["|O", "<U0", "|V9999999999", "<M8[s]", "nonsense", "<c16"]))
    order = draw(st.booleans())
    header = f"{{'descr': {kind!r}, 'fortran_order': {order}, 'shape': ({', '.join(f'{size}' for size in shape)},), }}"
    padded = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded.encode() + array.tobytes()


@st.composite
def _npz(draw: Draw) -> bytes:
    buffer = io.BytesIO()
    method = draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(draw(st.sampled_from(["x.npy", "embeddings.npy", "../x.npy", "x"])), draw(_npy()))
        if draw(st.booleans()):
            archive.writestr("y.npy", draw(_npy(st.just((2,)))))
    return draw(_damaged(buffer.getvalue()))


@st.composite
def _idx(draw: Draw, *, labels: bool) -> bytes:
    sizes = [2] if labels else [2, 4, 4]
    axes = draw(st.sampled_from([len(sizes)] * 4 + [2, 0, 255]))
    content = bytes(prod(sizes))
    if draw(st.booleans()):
        sizes[draw(st.integers(0, len(sizes) - 1))] = draw(st.sampled_from([0, 1, 3, 2**31, 2**32 - 1]))
    header = bytes([0, 0, 8, axes]) + b"".join(size.to_bytes(4, "big") for size in sizes)
    return draw(_damaged(header + content))


@st.composite
def _idx_files(draw: Draw) -> Files:
    packed = draw(st.booleans())
    files = {}
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        content = draw(_idx(labels="labels" in name))
        files[name + ".gz" * packed] = draw(_damaged(gzip.compress(content))) if packed else content
    return files


# parquet

_ARROW = st.sampled_from(
    [
        pa.array(["a.png", None]),
        pa.array([b"\x89PNG", b""]),
        pa.array([{"bytes": b"x", "path": "p"}, None]),
        pa.array([{"bytes": 1}, {"bytes": 2}]),
        pa.array([[1.0, 2.0], [3.0]]),
        pa.array([[1.0, None], [3.0, 4.0]]),
        pa.array([[[1]], [[2]]]),
        pa.array([1, -1]),
        pa.array([2**62, 0]),
        pa.array([1.5, float("nan")]),
        pa.array([None, None]),
        pa.array([True, False]),
        pa.array(["x", "y"]).dictionary_encode(),
        pa.array([0, 2**62], pa.timestamp("ms")),
        pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0, 3.0, 4.0]), 2),
    ]
)


@st.composite
def _parquet(draw: Draw) -> bytes:
    columns = [pa.array(["a.png", "b.png"]), *draw(st.lists(_ARROW, max_size=3))]
    names = [draw(_COLUMNS) if draw(st.booleans()) else "file_name", *(draw(_COLUMNS) for _ in columns[1:])]
    table = pa.Table.from_arrays(columns, names=names)
    if draw(st.booleans()):
        classes = draw(
            st.lists(_ODD_TEXT.filter(lambda text: _is_json(text)), max_size=3) | _ODD_VALUE.filter(_is_json)
        )
        about = {"info": {"features": {name: {"names": classes} for name in names}}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(about)})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return draw(_damaged(buffer.getvalue()))


# pickles

_PLAIN = {"labels": np.arange(3), "text": np.array(["a", "b"]), "list": [1, 2.5, "x", None], "data": b"\0" * 8}


def _saved(*, zipped: bool) -> bytes:
    buffer = io.BytesIO()
    torch.save({"labels": torch.arange(3), "other": np.arange(2)}, buffer, _use_new_zipfile_serialization=zipped)
    return buffer.getvalue()


_PICKLES = [
    pickle.dumps({"labels": ["cat", "dog"]}),
    pickle.dumps(np.arange(2), protocol=2),
    *(pickle.dumps(_PLAIN, protocol=number) for number in (0, 2, 4)),
    _saved(zipped=True),
    _saved(zipped=False),
]
_OPERATION = st.sampled_from([bytes([code]) for code in pickle._Unpickler.dispatch])
_ARGUMENT = st.sampled_from([b"", b"\x00", b"\x02ab", b"1\n", b"\xff\xff\xff\x7f", b"os\nsystem\n", b"numpy\ndtype\n"])


@st.composite
def _program(draw: Draw) -> bytes:
    """A pickle of any instructions in any order."""
    steps = draw(st.lists(st.tuples(_OPERATION, _ARGUMENT), max_size=12))
    return b"\x80\x04" + b"".join(step + argument for step, argument in steps) + b"."


_PICKLED = st.sampled_from(_PICKLES).flatmap(_damaged) | _program() | st.binary(max_size=40)


# images


def _picture(kind: str) -> bytes:
    pixels = np.arange(12 * 10 * 3, dtype=np.uint8).reshape(12, 10, 3)
    image = Image.fromarray(pixels)
    buffer = io.BytesIO()
    (image.convert("P") if kind == "gif" else image).save(buffer, kind)
    return buffer.getvalue()


_PICTURES = {kind: _picture(kind) for kind in ("png", "jpeg", "gif", "bmp", "tiff", "webp", "ppm")}
_IMAGE = st.sampled_from(list(_PICTURES.values())).flatmap(_damaged) | st.binary(max_size=60)


def _decode(folder: Path) -> None:
    content = (folder / "i").read_bytes()
    read_header(content)
    decode(content, size=8, channels=3)


# command line

_WORDS = st.sampled_from(
    [
        *(
            "train",
            "clean",
            "noise",
            "evaluate",
            "predict",
            "embed",
            "issues",
            "correct",
            "export",
            "report",
            "settings",
        ),
        *("--output", "out", "--set", "optim.epochs=1", "data.path=x", "--epochs", "-1", "1e9", "--preset", "paper"),
        *(
            "--labels",
            "t.csv:label",
            "--config",
            "t.csv",
            "--format",
            "csv",
            "--force",
            "--resume",
            "--help",
            "--",
            "-",
        ),
        *("--device", "cuda:99", "--noise", "matrix", "--noise-rate", "2", "--img-size", "~nobody/x", ".", "t.csv"),
    ]
)
_ARGUMENTS = st.lists(_WORDS | _ODD_TEXT.map(lambda text: text.replace("\0", "")), max_size=8)


def _command(folder: Path) -> None:
    arguments = json.loads((folder / "arguments.json").read_text())
    (folder / "t.csv").write_text("file_name,label\nnone.png,x\n")
    said, complained = io.StringIO(), io.StringIO()
    arguments = [str(folder / word) if word in ("out", "t.csv", ".") else word for word in arguments]
    try:
        with redirect_stdout(said), redirect_stderr(complained):
            main(arguments)
    except SystemExit as end:
        sentence = complained.getvalue()
        if end.code in (1, 2) and sentence.startswith("twincl: ") and sentence.count("\n") == 1:
            raise InputError(sentence[:1000]) from None
        if end.code:
            raise AssertionError(f"exit code {end.code} and {len(sentence)} characters") from None


# all of them


def _dataset(name: str) -> Read:
    def read(folder: Path) -> None:
        data = read_dataset(str(folder / name))
        load_images(data.train, size=None, channels=None)

    return read


def _labels(name: str) -> Read:
    return lambda folder: read_labels(folder / name, key=None, names=["a.png", "b.png"])


def _files(name: str, content: st.SearchStrategy[bytes]) -> st.SearchStrategy[Files]:
    return content.map(lambda it: {name: it})


KINDS: dict[str, Kind] = {
    "configuration": Kind(_configuration(), lambda folder: build_config(file=folder / "c.yaml", settings={})),
    "csv": Kind(_table_files(".csv", _delimited()), _dataset("t.csv")),
    "json lines": Kind(_table_files(".jsonl", _json_lines()), _dataset("t.jsonl")),
    "labels as csv": Kind(_table_files(".csv", _delimited()), _labels("t.csv")),
    "labels as json lines": Kind(_table_files(".jsonl", _json_lines()), _labels("t.jsonl")),
    "labels as text": Kind(_files("t.txt", st.binary(max_size=60)), _labels("t.txt")),
    "labels as npy": Kind(_files("t.npy", _npy()), _labels("t.npy")),
    "labels as npz": Kind(_files("t.npz", _npz()), _labels("t.npz")),
    "labels as parquet": Kind(_files("t.parquet", _parquet()), _labels("t.parquet")),
    "labels as pt": Kind(_files("t.pt", _PICKLED), _labels("t.pt")),
    "npy": Kind(_files("t.npy", _npy()), _dataset("t.npy")),
    "npz": Kind(_files("t.npz", _npz()), _dataset("t.npz")),
    "idx": Kind(_idx_files(), _dataset(".")),
    "parquet": Kind(_table_files(".parquet", _parquet()), _dataset("t.parquet")),
    "pickle": Kind(_files("p", _PICKLED), lambda folder: read_pickle(folder / "p")),
    "torch file": Kind(_files("p.pt", _PICKLED), lambda folder: read_torch(folder / "p.pt")),
    "image": Kind(_files("i", _IMAGE), _decode),
    "arguments": Kind(_ARGUMENTS.map(lambda words: {"arguments.json": json.dumps(words).encode()}), _command),
}
