from io import BytesIO

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter
from sklearn.datasets import load_digits

from twincl.report import duplicates
from twincl.report.duplicates import close_hashes, conflicting_duplicates, fingerprint


def picture(seed: int, side: int = 128) -> np.ndarray:
    """A smooth picture, like no other."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8))
    return np.asarray(coarse.resize((side, side), Image.Resampling.BICUBIC))


def saved_again(pixels: np.ndarray, quality: int = 70) -> np.ndarray:
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer))


def groups(samples, labels, embeddings=None):
    count = len(samples)
    embeddings = np.ones((count, 1), dtype=np.float32) if embeddings is None else embeddings
    prints = [None if sample is None else fingerprint(sample) for sample in samples]
    return conflicting_duplicates(prints, np.asarray(labels), embeddings)


hashes = st.integers(0, 2**64 - 1)
flips = st.lists(st.integers(0, 63), max_size=4)


@given(st.lists(st.tuples(hashes, flips), max_size=12))
@settings(max_examples=200, deadline=None)
def test_close_hashes_match_a_comparison_of_all_pairs(seeds):
    values = []
    for value, bits in seeds:  # each with a neighbour at a small distance
        neighbour = value
        for bit in bits:
            neighbour ^= 1 << bit
        values += [value, neighbour]
    expected = {
        (i, j)
        for i in range(len(values))
        for j in range(i + 1, len(values))
        if (values[i] ^ values[j]).bit_count() <= 2
    }
    assert {tuple(sorted(pair)) for pair in close_hashes(np.array(values, dtype=np.uint64))} == expected


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=20))
@settings(max_examples=50, deadline=None)
def test_identical_samples_are_grouped_exactly_where_labels_differ(items):
    samples = [np.full((4, 4, 3), value, dtype=np.uint8) for value, _ in items]
    expected = []
    for value in {value for value, _ in items}:
        rows = [row for row, (other, _) in enumerate(items) if other == value]
        if len({items[row][1] for row in rows}) > 1:
            expected.append(rows)
    found = groups(samples, [label for _, label in items])
    assert sorted(group.rows for group in found) == sorted(expected)
    assert all(group.identical for group in found)


def test_nearly_identical_pictures_are_found_and_others_are_not():
    originals = [picture(seed) for seed in range(30)]
    again = saved_again(originals[3])
    smaller = np.asarray(Image.fromarray(originals[7]).resize((112, 112), Image.Resampling.LANCZOS))
    softer = np.asarray(Image.fromarray(originals[9]).filter(ImageFilter.GaussianBlur(0.8)))
    samples = [*originals, again, smaller, softer, originals[11]]
    found = groups(samples, [0] * 30 + [1] * 4)
    assert [group.rows for group in found] == [[11, 33], [3, 30], [7, 31], [9, 32]]
    assert [group.identical for group in found] == [True, False, False, False]


def test_what_the_network_tells_apart_is_not_nearly_the_same():
    embeddings = np.eye(2, dtype=np.float32)
    assert groups([picture(0), saved_again(picture(0))], [0, 1], embeddings) == []
    assert len(groups([picture(0), picture(0)], [0, 1], embeddings)) == 1  # identical whatever it thinks


def test_the_same_picture_in_other_colours_is_another():
    pixels = picture(0).copy()
    shaded = np.stack([pixels[..., 0]] * 3, axis=2)
    red, blue = shaded * np.array([1, 0, 0], np.uint8), shaded * np.array([0, 0, 1], np.uint8)
    assert groups([red, blue], [0, 1]) == []


def test_equal_labels_are_no_conflict_unless_a_copy_joins_them():
    one, again = picture(1), saved_again(picture(1), 60)
    assert groups([one, one, again], [0, 0, 0]) == []
    (found,) = groups([one, one, again], [0, 0, 1])
    assert found.rows == [0, 1, 2]
    assert not found.identical


def test_small_and_flat_pictures_are_compared_exactly():
    small = [picture(seed, side=8) for seed in range(2)]
    nearly = small[0].copy()
    nearly[0, 0, 0] ^= 1
    assert fingerprint(small[0]).shades is None
    assert [group.rows for group in groups([*small, nearly, small[1]], [0, 1, 2, 3])] == [[1, 3]]
    flat = [np.full((32, 32, 3), shade, dtype=np.uint8) for shade in (10, 11, 200)]
    assert groups(flat, [0, 1, 2]) == []


def test_feature_vectors_are_compared_exactly():
    rows = np.random.default_rng(0).normal(size=(4, 300)).astype(np.float32)
    rows[2] = rows[0]
    rows[3] = np.nextafter(rows[1], np.float32(9))
    assert [group.rows for group in groups(list(rows), [0, 1, 2, 3])] == [[0, 2]]


def test_what_cannot_be_read_is_passed_over():
    assert [group.rows for group in groups([picture(0), None, None, picture(0)], [0, 1, 2, 1])] == [[0, 3]]
    assert groups([], []) == []


def test_crowded_buckets_are_passed_over(monkeypatch):
    monkeypatch.setattr(duplicates, "FULLEST", 3)
    assert list(close_hashes(np.zeros(4, dtype=np.uint64))) == []
    assert len(set(close_hashes(np.zeros(3, dtype=np.uint64)))) == 3


def test_two_digits_of_one_kind_are_not_the_same_picture():
    """Handwriting on black is the hard case: its hashes are alike, and a network finds all sevens alike."""
    digits = load_digits()
    samples = [
        np.asarray(
            Image.fromarray((image * 15).astype(np.uint8)).resize((32, 32), Image.Resampling.BICUBIC).convert("RGB")
        )
        for image in digits.images
    ]
    by_class = np.eye(10, dtype=np.float32)[digits.target]
    assert len(groups(samples, np.arange(len(samples)), by_class)) <= 3
