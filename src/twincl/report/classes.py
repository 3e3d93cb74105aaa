"""Which classes the suspect labels are in, and which classes are taken for each other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Flags = NDArray[np.bool_]


class ClassNoise(NamedTuple):
    """How many of the images given one label are suspect."""

    name: str
    images: int
    flagged: int

    @property
    def share(self) -> float:
        """Flagged of all."""
        return self.flagged / self.images


class Confusion(NamedTuple):
    """Images of one given label for which one other label is suggested."""

    given: str
    suggested: str
    images: int
    share: float  # of all images of the given label


def noise_by_class(given: Labels, flagged: Flags, classes: tuple[str, ...]) -> list[ClassNoise]:
    """One entry a given label that occurs, the highest share flagged first, at equal shares the larger class."""
    images = np.bincount(given, minlength=len(classes))
    suspects = np.bincount(given[flagged], minlength=len(classes))
    found = [ClassNoise(classes[k], int(images[k]), int(suspects[k])) for k in np.flatnonzero(images)]
    return sorted(found, key=lambda one: (-one.share, -one.images))


def transitions(given: Labels, suggested: Labels, num_classes: int) -> Labels:
    """(K, K) number of images by given label (row) and suggested label (column)."""
    cells = np.bincount(given * num_classes + suggested, minlength=num_classes**2)
    return cells.reshape(num_classes, num_classes).astype(np.int64)


def most_confused(matrix: Labels, limit: int) -> Labels:
    """The `limit` classes that take part in most confusions, or all there are, in the order of the classes."""
    wrong = matrix - np.diag(np.diag(matrix))
    involved = wrong.sum(0) + wrong.sum(1)
    return np.sort(np.argsort(-involved, kind="stable")[:limit])


def top_confusions(matrix: Labels, classes: tuple[str, ...], limit: int) -> list[Confusion]:
    """The cells off the diagonal that hold most images, the fullest first; empty ones are left out."""
    wrong = matrix - np.diag(np.diag(matrix))
    total = matrix.sum(1)
    order = np.argsort(-wrong, axis=None, kind="stable")[:limit]
    cells = zip(*np.unravel_index(order, matrix.shape), strict=True)
    return [
        Confusion(classes[i], classes[j], int(wrong[i, j]), float(wrong[i, j] / total[i]))
        for i, j in cells
        if wrong[i, j] > 0
    ]
