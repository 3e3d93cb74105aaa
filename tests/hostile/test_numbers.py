"""Feature vectors and labels at the edges: each goes through `clean`, and everything that comes out is finite."""

import json

import numpy as np
import pandas as pd
import pytest

from twincl.config import build_config
from twincl.errors import InputError
from twincl.results.finished import load_run
from twincl.runs.clean import clean

RNG = np.random.default_rng(0)


def clusters(count, classes, width=8, spread=6.0):
    """Vectors in clusters, one a class, and their labels in turn."""
    labels = np.arange(count) % classes
    centres = RNG.normal(size=(classes, width)) * spread
    return (centres[labels] + RNG.normal(size=(count, width))).astype(np.float32), labels


@pytest.fixture
def cleaned(tmp_path):
    """Clean vectors with their labels; everything written must be finite."""

    def run(vectors, labels, **settings):
        np.savez(tmp_path / "d.npz", x=vectors, y=labels)
        given = {"data.path": str(tmp_path / "d.npz"), "optim.epochs": 2, "data.holdout": 0.0, "amp": False}
        found = clean(
            build_config(settings=given | settings), tmp_path / "run", relabel_above=0.8, drop_below=0.2, force=True
        )
        run = load_run(tmp_path / "run")
        table = run.table
        assert len(table) == len(labels)
        numbers = table.select_dtypes("number").to_numpy(dtype=float)
        assert np.isfinite(numbers).all()
        for name in ("clean_probability", "label_quality", "suggestion_confidence"):
            assert table[name].between(0, 1).all()
        assert np.isfinite(run.class_probabilities).all()
        assert np.allclose(run.class_probabilities.sum(1), 1, atol=1e-3)
        assert np.isfinite(run.embeddings).all()
        for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
            assert all(np.isfinite(value) for value in json.loads(line, parse_constant=_refuse).values())
        json.loads((tmp_path / "run" / "summary.json").read_text(), parse_constant=_refuse)
        assert (tmp_path / "run" / "report.html").is_file()
        assert sum(found.actions.values()) == len(labels)
        return table

    return run


def _refuse(constant):
    raise AssertionError(f"{constant} in JSON")


def ordinary(count=48):
    return clusters(count, 2)


EXTREMES = {
    "zeros": lambda x: np.zeros_like(x),
    "all the same": lambda x: np.full_like(x, 3.5),
    "duplicates": lambda x: np.repeat(x[:2], len(x) // 2, axis=0),
    "one row of zeros": lambda x: np.concatenate([np.zeros_like(x[:1]), x[1:]]),
    "a constant column": lambda x: np.concatenate([x[:, :1] * 0 + 7, x[:, 1:]], axis=1),
    "1e30": lambda x: x * np.float32(1e30),
    "largest": lambda x: np.sign(x) * np.float32(1e37),
    "one huge value": lambda x: np.concatenate([np.full_like(x[:1], 1e37), x[1:]]),
    "denormals": lambda x: x * np.float32(1e-42),
    "1e-30": lambda x: x * np.float32(1e-30),
    "1e30 beside 1e-30": lambda x: x * np.geomspace(1e-30, 1e30, x.shape[1]).astype(np.float32),
    "a single feature": lambda x: x[:, :1],
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_vectors(cleaned, name):
    vectors, labels = ordinary()
    cleaned(EXTREMES[name](vectors), labels)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.finfo(np.float32).max, -2e37])
def test_what_is_no_number_is_refused_by_its_row(tmp_path, value):
    vectors, labels = ordinary()
    vectors[17, 3] = value
    np.savez(tmp_path / "d.npz", x=vectors, y=labels)
    pd.DataFrame({"embedding": list(vectors), "label": labels}).to_parquet(tmp_path / "d.parquet")
    np.save(tmp_path / "d.npy", vectors)
    for name, row in (("d.npz", 17), ("d.parquet", 18), ("d.npy", 17)):  # arrays count from 0, tables from 1
        config = build_config(settings={"data.path": str(tmp_path / name)})
        with pytest.raises(InputError, match=rf"row {row} of .*NaN, infinite"):
            clean(config, tmp_path / "run", relabel_above=0.8, drop_below=0.2)
    assert not (tmp_path / "run").exists()


def test_beyond_float32(tmp_path):
    vectors, labels = ordinary()
    np.savez(tmp_path / "d.npz", x=vectors.astype(np.float64) * 1e300, y=labels)
    with pytest.raises(InputError, match=r"row 0 of .* beyond float32"):
        clean(
            build_config(settings={"data.path": str(tmp_path / "d.npz")}),
            tmp_path / "r",
            relabel_above=0.8,
            drop_below=0.2,
        )


def test_two_classes(cleaned):
    cleaned(*clusters(40, 2))


def test_a_thousand_classes(cleaned):
    cleaned(*clusters(2000, 1000), **{"optim.epochs": 1})


def test_heavy_imbalance(cleaned):
    vectors, labels = clusters(400, 2)
    keep = np.flatnonzero((labels == 0) | (np.cumsum(labels) <= 2))
    assert (labels[keep] == 1).sum() == 2
    cleaned(vectors[keep], labels[keep])


def test_all_labels_right(cleaned):
    vectors, labels = clusters(300, 3, spread=20)
    table = cleaned(vectors, labels, **{"optim.epochs": 10})
    assert table["is_label_issue"].mean() < 0.1


def test_all_labels_wrong(cleaned):
    """Every class under the name of the next one: there is nothing left to tell that from the truth by."""
    vectors, labels = clusters(300, 3)
    cleaned(vectors, (labels + 1) % 3)


def test_labels_at_random(cleaned):
    vectors, _ = clusters(300, 3)
    cleaned(vectors, RNG.integers(0, 3, 300))
