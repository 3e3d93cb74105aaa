"""Small pictures and the files they are tested in."""

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image


def noise(size: tuple[int, int] = (8, 8), mode: str = "RGB", seed: int = 0) -> Image.Image:
    width, height = size
    rgb = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(rgb).convert(mode)


def save(path: Path, size: tuple[int, int] = (8, 8), mode: str = "RGB", seed: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise(size, mode, seed).save(path)
    return path


def png(size: tuple[int, int] = (8, 8), mode: str = "RGB", seed: int = 0) -> bytes:
    buffer = BytesIO()
    noise(size, mode, seed).save(buffer, "PNG")
    return buffer.getvalue()
