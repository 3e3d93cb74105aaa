"""The table of suspect labels: cleanlab's columns and direction."""

import numpy as np
import pytest
import torch

from twincl.methods.method import Verdict
from twincl.results.issues import corrected_labels, is_issue, issue_table

CLASSES = ("ant", "bee", "cow")
#                 0     1     2     3     4
QUALITY = [0.90, 0.10, 0.05, 0.40, 0.10]
CLEAN = [0.95, 0.10, 0.20, 0.49, 0.50]
GIVEN = np.array([0, 1, 2, 1, 2])
ROWS = np.array([10, 20, 30, 40, 50])
SAID = torch.tensor(
    [
        [0.8, 0.1, 0.1],  # agrees, clean
        [0.7, 0.2, 0.1],  # wrong: ant
        [0.1, 0.2, 0.7],  # not clean, but the classifier says the same
        [0.1, 0.3, 0.6],  # wrong: cow
        [0.6, 0.3, 0.1],  # clean enough
    ]
)
VERDICT = Verdict(torch.tensor(QUALITY), torch.tensor(CLEAN), SAID)


def test_an_issue_is_not_clean_and_has_another_suggestion():
    assert is_issue(VERDICT, GIVEN).tolist() == [False, True, False, True, False]
    assert corrected_labels(VERDICT, GIVEN).tolist() == [0, 0, 2, 2, 2]


def test_table_as_users_are_promised_it():
    table = issue_table(VERDICT, GIVEN, list("vwxyz"), ROWS, CLASSES)
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
    ]
    assert table["index"].tolist() == [30, 20, 50, 40, 10], "worst first, ties by place"
    assert table["file_name"].tolist() == list("xwzyv")
    assert table["given_label"].tolist() == ["cow", "bee", "cow", "bee", "ant"]
    assert table["predicted_label"].tolist() == ["cow", "ant", "ant", "cow", "ant"]
    assert table["is_label_issue"].tolist() == [False, True, False, True, False]
    assert table["is_label_issue"].dtype == bool
    assert table["label_quality"].tolist() == pytest.approx([0.05, 0.1, 0.1, 0.4, 0.9])
    assert table["clean_probability"].tolist() == pytest.approx([0.2, 0.1, 0.5, 0.49, 0.95])
    assert table["suggested_label"].tolist() == ["cow", "ant", "cow", "cow", "ant"]
    assert table["suggestion_confidence"].tolist() == pytest.approx([0.7, 0.7, 0.1, 0.6, 0.8])


def test_qualities_that_look_alike_in_print_keep_their_order():
    quality = torch.tensor([3e-9, 1e-9, 2e-9])
    said = torch.full((3, 2), 0.5)
    table = issue_table(
        Verdict(quality, torch.zeros(3), said), np.zeros(3, np.int64), list("abc"), np.arange(3), ("x", "y")
    )
    assert table["file_name"].tolist() == ["b", "c", "a"]
    assert table["label_quality"].tolist() == [0, 0, 0], "six digits are printed"
