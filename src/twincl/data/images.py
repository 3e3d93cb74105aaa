"""`RawSplit` -> samples of one shape, with the images that do not decode left out and listed."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from twincl.data.convert import convert
from twincl.data.dataset import RawSplit
from twincl.data.decode import BrokenImage, decode, is_grey, read_header
from twincl.data.label_values import brief
from twincl.data.stores import FileImages, Images, MemoryFeatures, MemoryImages
from twincl.errors import InputError
from twincl.shapes import Shape, describe_shape, is_vector

_CHUNK = 8  # images per task: an interrupt waits for no more of them
_AHEAD = 8  # tasks per thread that are begun before the first is asked for
_SQUARISH = 1.5  # longest ratio of sides at which small images keep their own size
_LARGEST_NATIVE = 96  # side that is kept as it is

__all__ = [
    "FileImages",
    "Images",
    "Loaded",
    "MemoryFeatures",
    "MemoryImages",
    "attempt_each",
    "load_images",
    "load_like",
]

Header = tuple[str, tuple[int, int]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Loaded:
    """The images of a split that decoded; `images` has one entry for each of `kept`."""

    images: Images
    kept: np.ndarray  # (M,) sorted indices into the split
    broken: list[tuple[str, str]]  # (name, reason) of each other image, in the order of the split


def load_images(
    raw: RawSplit,
    *,
    size: int | None,
    channels: int | None,
    memory_limit: int = 2 * 2**30,
    default_size: int = 224,
    workers: int = 0,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Loaded:
    """Decode every image once; keep the pixels if they fit into memory, otherwise only verify them.

    Args:
        raw: the split; an array is used as it is, but for a `size` or `channels` it does not have. Features are
            used as they are.
        size: side of the squares; None keeps a common native size up to 96, else takes `default_size`.
        channels: 1, 3 or 4; None is 1 if every image is grey, else 3.
        memory_limit: bytes of decoded pixels to hold at most.
        default_size: side for images that differ in size or are larger.
        workers: threads to decode with; 0 uses the calling one.
        progress: wraps the iterable of image numbers, as `tqdm` does.

    Raises:
        InputError: the split is empty, not one image decodes, or feature vectors are to have a size or channels.
    """
    if not len(raw):
        raise InputError("the data set holds no images; point to one that has some.")
    if isinstance(raw.pixels, np.ndarray) and raw.is_features:
        if size is not None or channels is not None:
            raise InputError("the data are feature vectors, which have no image size or channels; leave those out.")
        return Loaded(MemoryFeatures(raw.pixels), np.arange(len(raw)), [])
    if isinstance(raw.pixels, np.ndarray):
        return Loaded(MemoryImages(convert(raw.pixels, size, channels)), np.arange(len(raw)), [])
    sources = raw.pixels
    if size is None or channels is None:
        headers = list(attempt_each(lambda row: read_header(sources[row]), len(sources), workers))
        good = [header for header in headers if not isinstance(header, BrokenImage)]
        if not good:
            raise _all_broken(raw.names, [str(header) for header in headers])
        channels = channels or _common_channels(good)
        size = size or _common_size(good, default_size)
    pixels = None
    if len(sources) * channels * size * size <= memory_limit:
        pixels = torch.empty((len(sources), channels, size, size), dtype=torch.uint8)
    view = None if pixels is None else pixels.numpy()

    def verify(row: int) -> None:
        image = decode(sources[row], size=size, channels=channels)
        if view is not None:
            view[row] = image.transpose(2, 0, 1)

    order: Iterable[int] = range(len(sources))
    reasons = {}
    with closing(attempt_each(verify, len(sources), workers)) as outcomes:  # an interrupt leaves nothing to be done
        for row in progress(order) if progress else order:
            outcome = next(outcomes)
            if isinstance(outcome, BrokenImage):
                reasons[row] = str(outcome)
    if len(reasons) == len(sources):
        raise _all_broken(raw.names, list(reasons.values()))
    kept = np.array([row for row in range(len(sources)) if row not in reasons], dtype=np.int64)
    broken = [(raw.names[row], reason) for row, reason in reasons.items()]
    if pixels is not None:
        return Loaded(MemoryImages(pixels[torch.from_numpy(kept)] if broken else pixels), kept, broken)
    rest = raw.subset(kept)
    assert not isinstance(rest.pixels, np.ndarray)
    return Loaded(FileImages(rest.pixels, rest.names, size=size, channels=channels), kept, broken)


def load_like(
    raw: RawSplit,
    shape: Shape,
    *,
    memory_limit: int = 2 * 2**30,
    workers: int = 0,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Loaded:
    """Load a split in the shape that other data had: images are brought to it, feature vectors must have it.

    Memory, workers and progress are those of `load_images`.

    Raises:
        InputError: the split is of the other kind, or its vectors of another length; or as `load_images`.
    """
    if raw.is_features or is_vector(shape):
        own = raw.pixels.shape[1:] if isinstance(raw.pixels, np.ndarray) and raw.is_features else None
        if own != shape:
            given = describe_shape(own) if own else "images"
            raise InputError(
                f"{given} were given where {describe_shape(shape)} are needed; give data like those of the training."
            )
        return load_images(raw, size=None, channels=None)
    channels, size, _ = shape
    return load_images(raw, size=size, channels=channels, memory_limit=memory_limit, workers=workers, progress=progress)


def attempt_each(
    work: Callable[[int], Result], count: int, workers: int
) -> Generator[Result | BrokenImage, None, None]:
    """The result of `work` on 0..count-1 in order, or the `BrokenImage` it raised.

    With `workers` it is done by so many threads, not much ahead of what has been asked for, so that few results wait;
    without, by the calling one. Whatever else `work` raises is raised in its place.
    """

    def attempt(rows: range) -> list[Result | BrokenImage]:
        return [_attempt(work, row) for row in rows]

    if workers <= 0:
        for row in range(count):
            yield _attempt(work, row)
        return
    ahead: deque[Future[list[Result | BrokenImage]]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for start in range(0, count, _CHUNK):
            if len(ahead) == _AHEAD * workers:
                yield from ahead.popleft().result()
            ahead.append(pool.submit(attempt, range(start, min(start + _CHUNK, count))))
        while ahead:
            yield from ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _attempt(work: Callable[[int], Result], row: int) -> Result | BrokenImage:
    try:
        return work(row)
    except BrokenImage as error:
        return error


def _common_channels(headers: list[Header]) -> int:
    return 1 if all(is_grey(mode) for mode, _ in headers) else 3


def _common_size(headers: list[Header], default_size: int) -> int:
    sizes = {size for _, size in headers}
    longest, shortest = max(max(size) for size in sizes), min(min(size) for size in sizes)
    keeps_native = len(sizes) == 1 and longest <= _LARGEST_NATIVE and longest <= _SQUARISH * shortest
    return longest if keeps_native else default_size


def _all_broken(names: list[str], reasons: list[str]) -> InputError:
    first = brief([f"{name}: {reason}" for name, reason in zip(names, reasons, strict=True)])
    return InputError(f"none of the {len(names)} images can be decoded ({first}); check the files.")
