"""Small data that can be learned, for all tests."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

COLOURS = ("blue", "green", "red")  # in the order that class names are sorted in


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)


def paint(count: int, *, size: int = 16, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(N, size, size, 3) noisy pictures of one bright colour each, and its number in COLOURS, in turn."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    pixels = rng.integers(0, 80, (count, size, size, 3), dtype=np.uint8)
    pixels[np.arange(count), :, :, 2 - labels] += 150
    return pixels, labels


def paint_folder(folder: Path, *, per_class: int = 12, size: int = 16, seed: int = 0) -> Path:
    """The pictures as `folder/colour/00.png`."""
    for row, (pixels, label) in enumerate(zip(*paint(3 * per_class, size=size, seed=seed), strict=True)):
        file = folder / COLOURS[label] / f"{row // 3:02}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(file)
    return folder


class Meeting:
    """Does `work`, but the first calls wait for each other, so that so many `threads` must be at it at once.

    `seen` has their names; numbers of threads are given again.
    """

    def __init__(self, work: Callable[..., Any], threads: int) -> None:
        self.seen: set[str] = set()
        self._work = work
        self._first = list(range(threads))
        self._barrier = threading.Barrier(threads, timeout=20)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.seen.add(threading.current_thread().name)
        if self._first:
            self._first.pop()
            self._barrier.wait()
        return self._work(*arguments, **named)


@pytest.fixture(scope="session")
def meeting() -> type[Meeting]:
    return Meeting


@pytest.fixture(scope="session")
def colours() -> tuple[str, ...]:
    return COLOURS


@pytest.fixture(scope="session")
def pictures():
    return paint


@pytest.fixture(scope="session")
def picture_folder():
    return paint_folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory) -> Path:
    """A folder of 3 x 12 pictures that no test changes."""
    return paint_folder(tmp_path_factory.mktemp("photos"))
