"""cleanlab's own classes work with the estimator."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from twincl import TwinClassifier

pytest.importorskip("cleanlab")


def test_clean_learning_trains_it(blobs):
    from cleanlab.classification import CleanLearning

    learner = CleanLearning(TwinClassifier(epochs=5, random_state=0), cv_n_folds=3, verbose=False)
    issues = learner.find_label_issues(blobs.X, blobs.given)
    wrong = blobs.given != blobs.true
    assert wrong[issues["is_label_issue"]].mean() > 0.8
    assert learner.fit(blobs.X, blobs.given, label_issues=issues).score(blobs.X, blobs.true) > 0.9
    own = TwinClassifier(epochs=5, random_state=0).find_label_issues(blobs.X, blobs.given)
    assert set(issues.columns) - {"sample_weight"} <= set(own.columns)


def test_datalab_reads_what_it_says(blobs):
    from cleanlab import Datalab

    twin = TwinClassifier(epochs=5, random_state=0)
    held_out = cross_val_predict(twin, blobs.X, blobs.given, cv=3, method="predict_proba")
    features = twin.fit_transform(blobs.X, blobs.given)
    wrong = blobs.given != blobs.true
    for said in (held_out, twin.predict_proba(blobs.X)):
        lab = Datalab({"y": blobs.given}, label_name="y", verbosity=0)
        lab.find_issues(pred_probs=said, features=features, issue_types={"label": {}, "outlier": {}})
        score = lab.get_issues("label")["label_score"].to_numpy()
        assert np.median(score[wrong]) < np.median(score[~wrong])
