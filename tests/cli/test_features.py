"""Feature vectors on the command line: train, predict, evaluate."""

import io

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def clouds(tmp_path):
    """Two clouds of 30 points in five dimensions, their labels in a file beside."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    np.save(tmp_path / "x.npy", rng.normal(size=(60, 5)) + 4 * labels[:, None])
    pd.DataFrame({"label": np.where(labels, "high", "low")}).to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path / "x.npy"


def test_train_predict_evaluate(train, twincl, clouds, tmp_path):
    run = train(clouds, "--labels", tmp_path / "labels.csv", epochs=6)
    np.save(tmp_path / "new.npy", np.array([[4.0] * 5, [0.0] * 5]))
    outcome = twincl("predict", run, tmp_path / "new.npy")
    assert outcome.code == 0, outcome.err
    assert pd.read_csv(io.StringIO(outcome.out))["predicted_label"].tolist() == ["high", "low"]
    np.savez(tmp_path / "new.npz", x=np.load(clouds), y=np.where(np.arange(60) % 2, "high", "low"))
    outcome = twincl("evaluate", run, tmp_path / "new.npz")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("accuracy 100.00% on 60")


def test_a_model_is_given_what_it_was_not_trained_on(train, twincl, clouds, photos, tmp_path):
    vectors = train(clouds, "--labels", tmp_path / "labels.csv")
    images = train(photos)
    np.save(tmp_path / "wide.npy", np.zeros((2, 6)))
    for run, data, sentence in (
        (vectors, tmp_path / "wide.npy", "feature vectors of 6 values were given where feature vectors of 5 values"),
        (vectors, photos, "images were given where feature vectors of 5 values are needed"),
        (images, clouds, "feature vectors of 5 values were given where images of 16x16x3 are needed"),
    ):
        outcome = twincl("predict", run, data)
        assert outcome.code == 2
        assert sentence in outcome.err
        assert outcome.err.count("\n") == 1


def test_a_bad_row_is_named(twincl, clouds, tmp_path):
    values = np.load(clouds)
    values[17, 2] = np.nan
    np.save(tmp_path / "bad.npy", values)
    outcome = twincl("train", tmp_path / "bad.npy", "--labels", tmp_path / "labels.csv", "-o", tmp_path / "run")
    assert outcome.code == 2
    assert "row 17 of" in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
