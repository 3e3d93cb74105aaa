"""Samples behind one small interface: images or features all in memory, or images decoded on demand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from twincl.data.decode import BrokenImage, decode
from twincl.errors import InputError
from twincl.shapes import Shape


class Images(Protocol):
    """N samples of one shape: images, or the feature vectors that stand for them."""

    @property
    def shape(self) -> Shape:
        """(C, H, W) of images, (D,) of feature vectors."""

    @property
    def in_memory(self) -> bool:
        """Whether `batch` is a mere copy."""

    def __len__(self) -> int: ...

    def batch(self, index: np.ndarray) -> torch.Tensor:
        """The samples at `index` (B,) on the CPU: (B, C, H, W) uint8, or (B, D) float32."""

    def subset(self, index: np.ndarray) -> "Images":
        """The samples at `index` (M,) as a set of their own."""


class MemoryImages:
    """Images held in one uint8 tensor (N, C, H, W)."""

    in_memory = True

    def __init__(self, pixels: torch.Tensor | np.ndarray) -> None:
        """Wrap a tensor (N, C, H, W), or an array (N, H, W) or (N, H, W, C) without copying it."""
        if isinstance(pixels, np.ndarray):
            pixels = torch.from_numpy(pixels if pixels.flags.writeable else pixels.copy())
            pixels = pixels.unsqueeze(1) if pixels.ndim == 3 else pixels.permute(0, 3, 1, 2)
        if pixels.ndim != 4 or pixels.dtype != torch.uint8:
            raise ValueError(f"expected (N, C, H, W) uint8, got {tuple(pixels.shape)} {pixels.dtype}")
        self.tensor = pixels

    @property
    def shape(self) -> tuple[int, int, int]:
        """(C, H, W)."""
        _, channels, height, width = self.tensor.shape
        return channels, height, width

    def __len__(self) -> int:
        return len(self.tensor)

    def batch(self, index: np.ndarray) -> torch.Tensor:
        """The images at `index` (B,), as (B, C, H, W) uint8."""
        return self.tensor.index_select(0, torch.as_tensor(index, dtype=torch.int64))

    def subset(self, index: np.ndarray) -> "MemoryImages":
        """The images at `index` (M,) as a set of their own."""
        return MemoryImages(self.batch(index))


class MemoryFeatures:
    """Feature vectors held in one float32 tensor (N, D)."""

    in_memory = True

    def __init__(self, features: torch.Tensor | np.ndarray) -> None:
        """Wrap a tensor or an array (N, D) without copying it."""
        if isinstance(features, np.ndarray):
            features = torch.from_numpy(features if features.flags.writeable else features.copy())
        if features.ndim != 2 or features.dtype != torch.float32:
            raise ValueError(f"expected (N, D) float32, got {tuple(features.shape)} {features.dtype}")
        self.tensor = features

    @property
    def shape(self) -> tuple[int]:
        """(D,)."""
        return (self.tensor.shape[1],)

    def __len__(self) -> int:
        return len(self.tensor)

    def batch(self, index: np.ndarray) -> torch.Tensor:
        """The vectors at `index` (B,), as (B, D) float32."""
        return self.tensor.index_select(0, torch.as_tensor(index, dtype=torch.int64))

    def subset(self, index: np.ndarray) -> "MemoryFeatures":
        """The vectors at `index` (M,) as a set of their own."""
        return MemoryFeatures(self.batch(index))


class FileImages:
    """Images decoded from files, or from their encoded content, each time they are asked for."""

    in_memory = False

    def __init__(
        self, sources: Sequence[Path] | Sequence[bytes], names: list[str], *, size: int, channels: int
    ) -> None:
        self._sources = sources
        self._names = names
        self.shape = (channels, size, size)

    def __len__(self) -> int:
        return len(self._sources)

    def batch(self, index: np.ndarray) -> torch.Tensor:
        """The images at `index` (B,), as (B, C, H, W) uint8.

        Raises:
            InputError: an image cannot be decoded (any more); the message names it.
        """
        channels, size, _ = self.shape
        out = np.empty((len(index), *self.shape), dtype=np.uint8)
        for place, row in enumerate(index):
            try:
                pixels = decode(self._sources[row], size=size, channels=channels)
            except BrokenImage as error:
                raise InputError(
                    f"the image {self._names[row]} can no longer be decoded ({error}); restore it and run again."
                ) from error
            out[place] = pixels.transpose(2, 0, 1)
        return torch.from_numpy(out)

    def subset(self, index: np.ndarray) -> "FileImages":
        """The images at `index` (M,) as a set of their own."""
        channels, size, _ = self.shape
        sources, names = [self._sources[row] for row in index], [self._names[row] for row in index]
        return FileImages(sources, names, size=size, channels=channels)
