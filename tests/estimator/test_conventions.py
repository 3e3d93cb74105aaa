"""TwinClassifier is a scikit-learn estimator: every one of its own checks, and the company it keeps."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from twincl import TwinClassifier


@parametrize_with_checks([TwinClassifier(epochs=3)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_a_number_repeats_the_training_and_none_does_not(blobs):
    first, again, other, fresh = (
        TwinClassifier(epochs=2, random_state=seed).fit(blobs.X, blobs.given).predict_proba(blobs.X)
        for seed in (7, 7, np.random.RandomState(7), None)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, fresh)
    np.random.seed(3)  # noqa: NPY002  # what scikit-learn's random_state=None listens to
    seeded = TwinClassifier(epochs=2).fit(blobs.X, blobs.given).predict_proba(blobs.X)
    np.random.seed(3)  # noqa: NPY002
    assert np.array_equal(seeded, TwinClassifier(epochs=2).fit(blobs.X, blobs.given).predict_proba(blobs.X))


def test_nothing_of_the_caller_is_disturbed(blobs):
    def state():
        return (
            torch.get_rng_state().tolist(),
            np.random.get_state()[1].tolist(),  # noqa: NPY002
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.backends.cudnn.deterministic,
            torch.backends.cudnn.benchmark,
            torch.utils.deterministic.fill_uninitialized_memory,
        )

    before = state()
    fitted = TwinClassifier(epochs=1, random_state=0).fit(blobs.X, blobs.given)
    fitted.predict(blobs.X)
    assert state() == before
    torch.use_deterministic_algorithms(True)
    try:
        before = state()
        with pytest.raises(ValueError, match="unknown encoder"):
            clone(fitted).set_params(model="nonsense").fit(blobs.X, blobs.given)
        assert state() == before
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_pickle_and_a_clone_know_what_they_should(blobs):
    fitted = TwinClassifier(epochs=2, random_state=0, settings={"tcl.tau": 0.3}).fit(blobs.X, blobs.given)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(loaded.predict_proba(blobs.X), fitted.predict_proba(blobs.X))
    assert np.array_equal(loaded.transform(blobs.X), fitted.transform(blobs.X))
    pd.testing.assert_frame_equal(loaded.label_issues_, fitted.label_issues_)
    copied = clone(fitted)
    assert copied.get_params() == fitted.get_params()
    assert not hasattr(copied, "classes_")


def test_searched_piped_and_cross_validated(blobs):
    search = GridSearchCV(TwinClassifier(random_state=0), {"epochs": np.array([1, 3])}, cv=2, error_score="raise")
    assert search.fit(blobs.X, blobs.given).best_params_["epochs"] in (1, 3)
    piped = make_pipeline(StandardScaler(), TwinClassifier(epochs=5, random_state=0))
    assert piped.fit(blobs.X, blobs.given).score(blobs.X, blobs.true) > 0.9
    said = cross_val_predict(piped, blobs.X, blobs.given, cv=3, method="predict_proba")
    assert said.shape == (90, 3)
    assert said.dtype == np.float64


def test_tables_in_and_tables_out(blobs):
    table = pd.DataFrame(blobs.X, columns=["a", "b", "c", "d"])
    twin = TwinClassifier(epochs=1, settings={"model.feat_dim": 8}).set_output(transform="pandas")
    out = twin.fit_transform(table, pd.Series(blobs.given))
    assert twin.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert out.columns.tolist() == [f"twinclassifier{k}" for k in range(8)]
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 1, atol=1e-6)
