"""What a reader returns: images or features as they lie on disk or in an array, labels as given; nothing is decoded."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

Pixels = np.ndarray | list[Path] | list[bytes]
"""Images (N, H, W) or (N, H, W, C) uint8, or feature vectors (N, D) float32 | N image files | N encoded images."""


@dataclass(frozen=True)
class RawSplit:
    """One split as read: `pixels`, `labels` and `names` describe the same N samples in the same order."""

    pixels: Pixels
    labels: np.ndarray | None  # (N,) int64, or object holding str; None where the data carries no labels
    names: list[str]  # shown to the user: relative path with '/', an id, or the row index as text

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_features(self) -> bool:
        """Whether these are feature vectors, not images."""
        return isinstance(self.pixels, np.ndarray) and self.pixels.ndim == 2

    def subset(self, index: np.ndarray) -> "RawSplit":
        """The samples at `index`, (M,) integers or an (N,) mask, in that order."""
        rows = np.arange(len(self))[index]
        whole = self.pixels
        pixels: Pixels = whole[rows] if isinstance(whole, np.ndarray) else [whole[row] for row in rows]
        labels = None if self.labels is None else self.labels[rows]
        return RawSplit(pixels, labels, [self.names[row] for row in rows])


@dataclass(frozen=True)
class RawDataset:
    """A data set as read."""

    train: RawSplit
    test: RawSplit | None
    classes: tuple[str, ...] | None  # names of the integer labels 0..K-1 where the format carries them
    augment_hint: str = "natural"  # "symbols" for digits: mirroring them changes their class
    ignored: int = 0  # files passed over because they are hidden, not images or of no known split
    unused: tuple[str, ...] = ()  # splits that are neither learned from nor tested on
