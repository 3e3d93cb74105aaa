import numpy as np

from twincl.report.layout import lay_out


def points(count, dim=6, seed=0):
    return np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)


def test_the_same_seed_draws_the_same_map_of_a_sample():
    first, second = (lay_out(points(60), seed=3, limit=40) for _ in range(2))
    assert first.rows.shape == (40,)
    assert first.points.shape == (40, 2)
    assert np.isfinite(first.points).all()
    assert np.array_equal(first.rows, np.unique(first.rows))
    assert np.array_equal(first.rows, second.rows)
    assert np.array_equal(first.points, second.points)


def test_no_map_of_few_or_equal_images():
    assert lay_out(points(5), seed=0) is None
    assert lay_out(np.ones((50, 4), dtype=np.float32), seed=0) is None
    assert lay_out(points(50, dim=1), seed=0) is None
