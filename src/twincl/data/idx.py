"""IDX files, the format of MNIST, Fashion-MNIST and EMNIST."""

import gzip
import re
import zlib
from math import prod
from pathlib import Path

import numpy as np

from twincl.archives import check_unpacked
from twincl.data.dataset import RawSplit
from twincl.data.splits import Found
from twincl.errors import InputError

_NAME = re.compile(r"(?P<prefix>.*)(?P<split>train|t10k|test)-images[.-]idx3-ubyte(\.gz)?", re.IGNORECASE)


def find_idx(path: Path) -> Path | None:
    """The file of training images: `path` itself, or the one in that folder or in its folder `raw`; else None.

    Raises:
        InputError: the folder holds several data sets.
    """
    if path.is_file():
        return path if _NAME.fullmatch(path.name) else None
    for folder in (path, path / "raw"):
        found = {}
        for file in sorted(folder.glob("*-ubyte*")):
            match = _NAME.fullmatch(file.name)
            if match and match["split"].lower() == "train" and file.is_file():
                found[match["prefix"]] = file  # compressed or not: the same data
        if len(found) > 1:
            names = ", ".join(file.name for file in found.values())
            raise InputError(f"{folder} holds several data sets ({names}); point to one of these files.")
        if found:
            return next(iter(found.values()))
    return None


def read_idx_dataset(images: Path) -> Found:
    """The split whose image file is given, with its labels and the test files beside it if they are there.

    Raises:
        InputError: the labels are missing, or a file is damaged or does not fit the other.
    """
    match = _NAME.fullmatch(images.name)
    if match is None:
        raise InputError(f"{images} is not named like an IDX image file; expected train-images-idx3-ubyte[.gz].")
    splits = {"train": _split(images)}
    if match["split"].lower() == "train":
        for name in ("t10k", "test"):
            other = _sibling(images, f"{match['prefix']}{name}-images-idx3-ubyte")
            if other is not None:
                splits["test"] = _split(other)
                break
    return Found(splits, augment_hint="symbols")


def read_idx(path: Path) -> np.ndarray:
    """The array of unsigned bytes in an IDX file, gzipped or not, of at most three axes.

    Raises:
        InputError: the magic number is wrong, the type is not unsigned byte, or the size is not what the header says.
    """
    packed = path.suffix == ".gz"
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            shape = _shape(path, file.read(4 + 4 * 3))
            start, length = 4 + 4 * len(shape), prod(shape)
            present = path.stat().st_size - start
            if packed:
                check_unpacked(path, length)
            elif length != present:
                raise _wrong_size(path, shape, present)
            file.seek(start)
            content = file.read(length + 1)  # one more than there should be
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}); download it again.") from error
    if len(content) != length:
        raise _wrong_size(path, shape, len(content))
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _shape(path: Path, header: bytes) -> tuple[int, ...]:
    """The lengths of the axes, as the first bytes of the file state them."""
    if len(header) < 4 or header[:2] != b"\0\0" or header[2] != 0x08:
        raise InputError(f"{path} is not an IDX file of unsigned bytes (wrong magic number); download it again.")
    axes = header[3]
    if not 1 <= axes <= 3 or len(header) < 4 + 4 * axes:
        raise InputError(f"{path} has the wrong number of dimensions; expected labels, or images x rows x columns.")
    shape = tuple(int.from_bytes(header[place : place + 4], "big") for place in range(4, 4 + 4 * axes, 4))
    if 0 in shape[1:]:
        raise InputError(f"{path} holds images of {' x '.join(map(str, shape[1:]))} pixels; download it again.")
    return shape


def _wrong_size(path: Path, shape: tuple[int, ...], present: int) -> InputError:
    return InputError(
        f"{path} should hold {' x '.join(map(str, shape))} bytes after its header but has "
        f"{'more' if present > prod(shape) else max(present, 0)}; download it again."
    )


def _split(images: Path) -> RawSplit:
    pixels = read_idx(images)
    file = _sibling(images, images.name.replace("-images", "-labels").replace("idx3", "idx1"))
    if file is None:
        raise InputError(
            f"the labels that belong to {images} are not beside it; put the -labels-idx1-ubyte file there."
        )
    labels = read_idx(file)
    if pixels.ndim != 3 or labels.ndim != 1:
        raise InputError(f"{images} or {file} has the wrong number of dimensions; expected images x rows x columns.")
    if len(pixels) != len(labels):
        raise InputError(f"{images} has {len(pixels)} images but {file} has {len(labels)} labels; download both again.")
    return RawSplit(pixels, labels.astype(np.int64), [str(row) for row in range(len(pixels))])


def _sibling(file: Path, name: str) -> Path | None:
    """The file `name` beside `file`, whichever of '-idx' or '.idx' and plain or gzip it is written with."""
    stem = re.sub(r"[.-]idx(\d)-ubyte(\.gz)?$", "", name)
    kind = "idx3-ubyte" if "-images" in stem else "idx1-ubyte"
    spellings = (file.with_name(f"{stem}{dot}{kind}{gz}") for dot in "-." for gz in ("", ".gz"))
    return next((path for path in spellings if path.is_file()), None)
