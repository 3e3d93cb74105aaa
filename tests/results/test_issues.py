"""The table of suspect labels: cleanlab's columns and direction."""

import numpy as np
import pytest

from twincl.results.issues import issue_table
from twincl.results.judgement import Judgement

CLASSES = ("ant", "bee", "cow")
#                          0     1     2     3     4
QUALITY = np.array([0.90, 0.10, 0.05, 0.40, 0.10], np.float32)
CLEAN = np.array([0.95, 0.10, 0.60, 0.20, 0.50], np.float32)
CONFIDENCE = np.array([0.95, 0.85, 0.60, 0.75, 0.50], np.float32)
GIVEN, SUGGESTED, PREDICTED = np.array([0, 1, 2, 1, 2]), np.array([0, 0, 2, 2, 2]), np.array([0, 0, 1, 2, 0])
ROWS = np.array([10, 20, 30, 40, 50])
JUDGEMENT = Judgement(GIVEN, QUALITY, CLEAN, SUGGESTED, CONFIDENCE, np.zeros((3, 3)))
HELD_OUT = np.array([False, True, False, False, True])


def test_table_as_users_are_promised_it():
    table = issue_table(JUDGEMENT, PREDICTED, names=list("vwxyz"), rows=ROWS, held_out=HELD_OUT, classes=CLASSES)
    assert table["index"].tolist() == [30, 20, 50, 40, 10], "worst first, ties by place"
    assert table["file_name"].tolist() == list("xwzyv")
    assert table["given_label"].tolist() == ["cow", "bee", "cow", "bee", "ant"]
    assert table["predicted_label"].tolist() == ["bee", "ant", "ant", "cow", "ant"]
    assert table["is_label_issue"].tolist() == [False, True, False, True, False]
    assert table["is_label_issue"].dtype == bool
    assert table["label_quality"].tolist() == pytest.approx([0.05, 0.1, 0.1, 0.4, 0.9])
    assert table["clean_probability"].tolist() == pytest.approx([0.6, 0.1, 0.5, 0.2, 0.95])
    assert table["suggested_label"].tolist() == ["cow", "ant", "cow", "cow", "ant"]
    assert table["suggestion_confidence"].tolist() == pytest.approx([0.6, 0.85, 0.5, 0.75, 0.95])
    assert table["split"].tolist() == ["train", "held_out", "held_out", "train", "train"]
    assert list(table.columns) == [
        "index",
        "file_name",
        "given_label",
        "predicted_label",
        "is_label_issue",
        "label_quality",
        "clean_probability",
        "suggested_label",
        "suggestion_confidence",
        "split",
    ]


def test_qualities_that_look_alike_in_print_keep_their_order():
    zeros, labels = np.zeros(3, np.float32), np.zeros(3, np.int64)
    judgement = Judgement(labels, np.array([3e-9, 1e-9, 2e-9], np.float32), zeros, labels, zeros, np.zeros((2, 2)))
    table = issue_table(
        judgement, labels, names=list("abc"), rows=np.arange(3), held_out=np.zeros(3, bool), classes=("x", "y")
    )
    assert table["file_name"].tolist() == ["b", "c", "a"]
    assert table["label_quality"].tolist() == [0, 0, 0], "six digits are printed"
