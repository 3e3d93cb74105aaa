"""The most suspect images, each beside the images that speak for and against its label."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from twincl.core.neighbors import nearest

Labels = NDArray[np.int64]
Flags = NDArray[np.bool_]
Embeddings = NDArray[np.float32]


class Suspect(NamedTuple):
    """Rows of the run's table."""

    row: int
    like_given: list[int]  # unflagged images of its given label, the nearest first
    like_suggested: list[int]  # unflagged images of the label suggested for it


def most_suspect(quality: NDArray[np.float64], flagged: Flags, limit: int) -> Labels:
    """The flagged rows of lowest quality, the lowest first."""
    rows = np.flatnonzero(flagged)
    return rows[np.argsort(quality[rows], kind="stable")[:limit]]


def with_neighbours(
    rows: Labels, given: Labels, suggested: Labels, flagged: Flags, embeddings: Embeddings, *, count: int = 3
) -> list[Suspect]:
    """Each of `rows` with the `count` unflagged images of both labels that are nearest by cosine, or as many as are."""
    like_given = _nearest_of_class(rows, given[rows], given, flagged, embeddings, count)
    like_suggested = _nearest_of_class(rows, suggested[rows], given, flagged, embeddings, count)
    return [Suspect(*found) for found in zip(rows.tolist(), like_given, like_suggested, strict=True)]


def _nearest_of_class(
    rows: Labels, wanted: Labels, given: Labels, flagged: Flags, embeddings: Embeddings, count: int
) -> list[list[int]]:
    """For each of `rows` the nearest unflagged images whose given label is the `wanted` one of that row."""
    found: list[list[int]] = [[] for _ in rows]
    for label in np.unique(wanted):
        members = np.flatnonzero((given == label) & ~flagged)
        places = np.flatnonzero(wanted == label)
        queries, keys = (torch.from_numpy(embeddings[part]) for part in (rows[places], members))
        _, index = nearest(queries, keys, min(count, len(members)))
        for place, neighbours in zip(places, index.numpy(), strict=True):
            found[place] = members[neighbours].tolist()
    return found
