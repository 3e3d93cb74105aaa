"""A flat map of the representations: t-SNE after PCA, on a sample."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

LIMIT = 3000  # points drawn; more take minutes and only cover each other
LEAST = 12  # fewer points make no map


class Layout(NamedTuple):
    """Where the sampled images lie on the map."""

    rows: NDArray[np.int64]  # (M,) of the N images, in their order
    points: NDArray[np.float32]  # (M, 2)


def lay_out(embeddings: NDArray[np.float32], *, seed: int, limit: int = LIMIT) -> Layout | None:
    """Map at most `limit` of the N rows, drawn by `seed`; None where they are too few or all the same."""
    count = len(embeddings)
    rng = np.random.default_rng(seed)
    rows = np.arange(count) if count <= limit else np.sort(rng.choice(count, limit, replace=False))
    sample = embeddings[rows].astype(np.float64)
    if len(rows) < LEAST or sample.shape[1] < 2 or sample.std(0).max() < 1e-9:
        return None
    reduced = PCA(min(50, *sample.shape), random_state=seed).fit_transform(sample)
    points = TSNE(perplexity=min(30, (len(rows) - 1) / 3), max_iter=500, random_state=seed).fit_transform(reduced)
    return Layout(rows, points)
