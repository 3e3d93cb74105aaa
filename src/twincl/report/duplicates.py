"""The same picture under two labels: at least one of them is wrong, whatever any network thinks.

Identical images are found by a digest of their pixels. Nearly identical ones (saved again, resized a little) must
agree in three things: a hash of their shades from left to right (dHash, 64 bits), their shrunken colours, and their
representations. Time grows with the number of images, not with the number of pairs.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Sample = NDArray[np.uint8] | NDArray[np.float32]

LEAST_SIDE = 16  # pixels; smaller images have too little detail for the hash and are compared exactly
DISTANCE = 2  # bits of the hash that may differ
COSINE = 0.98  # least similarity of the representations
CORRELATION = 0.997  # least correlation of the shrunken images; two shirts, or two sevens, easily reach 0.99
FULLEST = 1000  # a bucket with more images than this holds images without detail, and is passed over
_BANDS = ((0, 22), (22, 21), (43, 21))  # (first bit, bits): two flipped bits leave one of three bands as it was
_SKETCH = 16  # side of the shrunken image
_BITS = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


class Fingerprint(NamedTuple):
    """What is kept of a sample to compare it with all others."""

    digest: bytes
    shades: int | None  # dHash; None where only identical samples are looked for
    sketch: NDArray[np.uint8] | None  # the shrunken image, (16 * 16 * 3,)


class Group(NamedTuple):
    """Samples that are one and the same, under more than one label."""

    rows: list[int]
    identical: bool  # otherwise nearly


def conflicting_duplicates(
    prints: Sequence[Fingerprint | None], labels: NDArray[np.int64], embeddings: NDArray[np.float32]
) -> list[Group]:
    """Groups of equal or nearly equal samples whose labels differ, the identical and then the largest first.

    Args:
        prints: what `fingerprint` says of N samples; None for what cannot be read.
        labels: (N,) given labels.
        embeddings: (N, D) unit rows.
    """
    same: dict[bytes, list[int]] = defaultdict(list)
    for row, one in enumerate(prints):
        if one is not None:
            same[one.digest].append(row)
    firsts = [rows[0] for rows in same.values()]
    joined = _Sets(len(prints))
    for rows in same.values():
        for row in rows[1:]:
            joined.join(rows[0], row)
    for pair in _near_pairs(prints, firsts, embeddings):
        joined.join(*pair)
    groups = [
        Group(rows, len({prints[row].digest for row in rows}) == 1)  # type: ignore[union-attr]  # joined rows have one
        for rows in joined.groups()
        if len(np.unique(labels[rows])) > 1
    ]
    return sorted(groups, key=lambda group: (not group.identical, -len(group.rows), group.rows[0]))


def fingerprint(sample: Sample) -> Fingerprint:
    """Digest of an image (H, W, 3) or a feature vector (D,) and, for an image with enough pixels, hash and sketch."""
    header = f"{sample.shape}{sample.dtype}".encode()
    digest = hashlib.blake2b(header + np.ascontiguousarray(sample).tobytes(), digest_size=16).digest()
    if sample.ndim != 3 or min(sample.shape[:2]) < LEAST_SIDE:
        return Fingerprint(digest, None, None)
    image = Image.fromarray(sample)
    grey = np.asarray(image.convert("L").resize((9, 8), Image.Resampling.BOX), dtype=np.int16)
    bits = np.packbits(grey[:, 1:] > grey[:, :-1])
    sketch = np.asarray(image.resize((_SKETCH, _SKETCH), Image.Resampling.BOX)).ravel()
    return Fingerprint(digest, int.from_bytes(bits.tobytes(), "big"), sketch)


def close_hashes(hashes: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    """Pairs i < j of 64-bit hashes that differ in at most `DISTANCE` bits; a pair may come up to three times.

    By the pigeonhole principle such hashes agree in at least one band, so only those that share one are compared.
    """
    for first, width in _BANDS:
        band = (hashes >> np.uint64(first)) & np.uint64(2**width - 1)
        order = np.argsort(band, kind="stable")
        edges = np.flatnonzero(np.diff(band[order])) + 1
        for bucket in np.split(order, edges):
            if 2 <= len(bucket) <= FULLEST:
                left, right = np.triu_indices(len(bucket), 1)
                near = _hamming(hashes[bucket[left]], hashes[bucket[right]]) <= DISTANCE
                yield from zip(bucket[left[near]].tolist(), bucket[right[near]].tolist(), strict=True)


def _near_pairs(
    prints: Sequence[Fingerprint | None], rows: list[int], embeddings: NDArray[np.float32]
) -> Iterator[tuple[int, int]]:
    """Pairs among `rows` that are alike in hash, sketch and representation."""
    kept = [(row, one) for row in rows if (one := prints[row]) is not None and one.shades is not None]
    hashes = np.array([one.shades for _, one in kept], dtype=np.uint64)
    for i, j in close_hashes(hashes):
        (first, left), (second, right) = kept[i], kept[j]
        assert left.sketch is not None
        assert right.sketch is not None
        if embeddings[first] @ embeddings[second] >= COSINE and _correlation(left.sketch, right.sketch) >= CORRELATION:
            yield first, second


def _hamming(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number of bits in which two (M,) arrays of hashes differ."""
    return np.asarray(_BITS[(left ^ right).view(np.uint8).reshape(len(left), 8)].sum(1, dtype=np.int64))


def _correlation(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> float:
    """Pearson's; zero for a flat image, which is like every other flat one."""
    a, b = left - left.mean(), right - right.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale > 0 else 0.0


class _Sets:
    """Disjoint sets of the numbers 0..count-1 (union-find)."""

    def __init__(self, count: int):
        self.parent = list(range(count))

    def find(self, one: int) -> int:
        while self.parent[one] != one:
            self.parent[one] = self.parent[self.parent[one]]
            one = self.parent[one]
        return one

    def join(self, one: int, other: int) -> None:
        one, other = sorted((self.find(one), self.find(other)))
        self.parent[other] = one

    def groups(self) -> list[list[int]]:
        """The sets of two members and more, members in order."""
        members: dict[int, list[int]] = defaultdict(list)
        for one in range(len(self.parent)):
            members[self.find(one)].append(one)
        return [group for group in members.values() if len(group) > 1]
