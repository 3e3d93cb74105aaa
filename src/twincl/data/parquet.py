"""Parquet files as a `Table`: columns are read one at a time, images stay encoded, vectors become one array."""

import functools
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from twincl.archives import check_unpacked
from twincl.data.splits import split_kind
from twincl.data.text_table import Table
from twincl.errors import InputError, first_line

SUFFIXES = (".parquet", ".pq")
_BATCH = 1024  # rows decoded at a time


def read_parquet(files: list[Path]) -> Table:
    """One table out of `files` with a common schema, in their order; rows count from 1 across the files.

    Raises:
        InputError: a file is not parquet, or the files have different columns.
    """
    shards = [_shard(file) for file in files]
    schema = shards[0].schema
    for shard in shards:
        if shard.schema.names != schema.names:
            raise InputError(
                f"{shard.file} and {files[0]} have different columns; keep files of one table in a folder."
            )
    structs = frozenset(
        entry.name for entry in schema if pa.types.is_struct(entry.type) and "bytes" in {sub.name for sub in entry.type}
    )

    def read(name: str) -> list[Any]:
        column, _, member = (name, "", "") if name in schema.names else name.rpartition(".")
        values: list[Any] = []
        for shard in shards:
            chunks = _column(shard, column)
            with _damage(shard.file):
                part = pc.struct_field(chunks, member) if member else chunks
                values.extend(part.to_pylist())
        return values

    count = sum(shard.rows for shard in shards)
    vectors = {
        entry.name: functools.partial(_read_vectors, shards, entry.name) for entry in schema if _is_vector(entry.type)
    }
    return Table(files[0], list(schema.names), range(1, count + 1), read, structs, _class_names(schema), vectors)


def split_files(folder: Path) -> tuple[dict[str, list[Path]], int]:
    """The parquet files in `folder` or its `data` folder by split, and how many were passed over.

    A file name that starts with a split's name (`train-00000-of-00002.parquet`) says which; where no name does,
    all files are `train`. Beside named splits, a file of any other name (`extra-...`) is passed over.
    """
    for place in (folder, folder / "data"):
        files = sorted(file for file in place.glob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
        files = [file for file in files if not file.name.startswith(".")]
        if files:
            break
    else:
        return {}, 0
    splits: dict[str, list[Path]] = {}
    for file in files:
        kind = split_kind(re.split(r"[^A-Za-z]", file.stem, maxsplit=1)[0])
        if kind is not None:
            splits.setdefault(kind, []).append(file)
    if not splits:
        return {"train": files}, 0
    return splits, len(files) - sum(map(len, splits.values()))


@dataclass(frozen=True)
class _Shard:
    """What a file announces; it is opened anew for each column: there may be more files than can be open at once."""

    file: Path
    schema: pa.Schema
    rows: int


def _shard(file: Path) -> _Shard:
    with _damage(file), pq.ParquetFile(file) as opened:
        if opened.metadata.num_rows < 0:
            raise ValueError(f"{opened.metadata.num_rows} rows")
        return _Shard(file, opened.schema_arrow, opened.metadata.num_rows)


def _column(shard: _Shard, name: str) -> pa.ChunkedArray:
    """The values of a column, whose number must be that of the rows; read bit by bit, as few bytes can stand for many.

    Raises:
        InputError: the file is damaged, or unpacks to far more than it is.
    """
    chunks: list[pa.Array] = []
    unpacked = 0
    with _damage(shard.file), pq.ParquetFile(shard.file) as opened:
        kind = _decoded(pa.array([], shard.schema.field(name).type)).type
        for batch in opened.iter_batches(batch_size=_BATCH, columns=[name]):
            chunks.append(_decoded(batch.column(0)))
            unpacked += chunks[-1].nbytes
            check_unpacked(shard.file, unpacked)
        column = pa.chunked_array(chunks, kind)
        if len(column) != shard.rows:
            raise ValueError(f"{len(column)} rows where {shard.rows} were announced")
    return column


def _decoded(values: pa.Array) -> pa.Array:
    """The values written out where they are stored as numbers of a list of them, so that they can be measured."""
    if pa.types.is_dictionary(values.type):
        return _decoded(values.dictionary_decode())
    if pa.types.is_struct(values.type):
        members = [_decoded(member) for member in values.flatten()]
        return pa.StructArray.from_arrays(members, [member.name for member in values.type], mask=values.is_null())
    if "dictionary<" in str(values.type):
        raise ValueError(f"values of the type {values.type}")
    return values


@contextmanager
def _damage(file: Path) -> Iterator[None]:
    """Whatever a damaged file raises, as one sentence; what the system refuses is another matter."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # damaged files raise errors of every kind
        if isinstance(error, OSError) and error.errno:
            raise InputError(f"{file} cannot be read ({error.strerror}).") from error
        raise InputError(
            f"{file} is not a readable parquet file ({first_line(error)}); download or write it again."
        ) from error


def _is_vector(kind: pa.DataType) -> bool:
    """Whether a column holds lists of numbers."""
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    numbers = (pa.types.is_floating, pa.types.is_integer)
    return any(is_list(kind) for is_list in lists) and any(is_number(kind.value_type) for is_number in numbers)


def _read_vectors(shards: list[_Shard], name: str) -> np.ndarray:
    """The lists of a column as one array (N, D) float32, a missing number as NaN; never as Python objects.

    Raises:
        InputError: a row has no list or an empty one, or one of another length than the first.
    """
    count, length, start = sum(shard.rows for shard in shards), 0, 0
    vectors = np.empty((0, 0), dtype=np.float32)
    for shard in shards:
        for chunk in _column(shard, name).chunks:
            with _damage(shard.file):
                lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
            if not length and len(lengths):
                length = int(lengths[0])
                for stated in shards:
                    check_unpacked(stated.file, stated.rows * length * vectors.itemsize)
                vectors = np.empty((count, length), dtype=np.float32)
            odd = np.flatnonzero((lengths != length) | (lengths == 0))
            if len(odd):
                raise InputError(
                    f"row {start + int(odd[0]) + 1} of {shards[0].file} has a vector of {lengths[odd[0]]} values in "
                    f"the column '{name}'; give every row a vector of the same length."
                )
            with np.errstate(over="ignore"), _damage(shard.file):
                vectors[start : start + len(chunk)] = chunk.flatten().to_numpy(zero_copy_only=False).reshape(-1, length)
            start += len(chunk)
    return vectors


def _class_names(schema: pa.Schema) -> dict[str, tuple[str, ...]]:
    """The names of integer classes per column, as Hugging Face `datasets` stores them in the schema."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {
            column: tuple(str(name) for name in feature["names"])
            for column, feature in features.items()
            if isinstance(feature, dict) and isinstance(feature.get("names"), list)
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}  # no such metadata, or none that is meant for us
