"""Keep, relabel or drop: the rule in closed form and as a property, and the file that it leaves in a run."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twincl.errors import InputError
from twincl.results.corrections import ACTIONS, Policy, correct, count_actions

Rows = list[tuple[bool, float, float]]  # issue, clean probability, confidence of the suggestion


def table_of(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "file_name": [f"{row}.png" for row in range(len(rows))],
            "given_label": "ant",
            "is_label_issue": [issue for issue, _, _ in rows],
            "clean_probability": [clean for _, clean, _ in rows],
            "suggested_label": ["bee" if issue else "ant" for issue, _, _ in rows],
            "suggestion_confidence": [sure for _, _, sure in rows],
        }
    )


def test_the_rule():
    rows = [
        (False, 0.01, 0.99),  # no issue: kept whatever the numbers
        (True, 0.40, 0.80),  # just sure enough
        (True, 0.05, 0.99),  # relabelled before it is dropped
        (True, 0.19, 0.79),
        (True, 0.20, 0.79),  # neither sure nor hopeless
    ]
    found = correct(table_of(rows), Policy())
    assert list(found.columns) == ["file", "given", "corrected", "action", "confidence"]
    assert found["file"].tolist() == ["0.png", "1.png", "2.png", "3.png", "4.png"]
    assert found["given"].tolist() == ["ant"] * 5
    assert found["corrected"].tolist() == ["ant", "bee", "bee", "ant", "ant"], "what is dropped keeps its label"
    assert found["action"].tolist() == ["keep", "relabel", "relabel", "drop", "keep"]
    assert found["confidence"].tolist() == pytest.approx([0.01, 0.80, 0.99, 0.81, 0.20])
    assert count_actions(found) == {"keep": 2, "relabel": 2, "drop": 1}


share = st.floats(0, 1)


@given(rows=st.lists(st.tuples(st.booleans(), share, share), min_size=1), relabel_above=share, drop_below=share)
def test_every_row_meets_one_action_for_a_reason(rows, relabel_above, drop_below):
    found = correct(table_of(rows), Policy(relabel_above, drop_below))
    assert len(found) == len(rows)
    assert sum(count_actions(found).values()) == len(rows)
    for (issue, clean, sure), row in zip(rows, found.itertuples(), strict=True):
        assert row.action in ACTIONS
        assert 0 <= row.confidence <= 1
        assert (row.corrected != row.given) == (row.action == "relabel")
        if row.action == "relabel":
            assert issue
            assert sure >= relabel_above
        elif row.action == "drop":
            assert issue
            assert sure < relabel_above
            assert clean < drop_below
        else:
            assert not issue or (sure < relabel_above and clean >= drop_below)


@given(rows=st.lists(st.tuples(st.booleans(), share, share), min_size=1), low=share, high=share)
def test_a_stricter_policy_changes_fewer_labels(rows, low, high):
    low, high = sorted((low, high))
    table = table_of(rows)
    lenient, strict = (count_actions(correct(table, Policy(relabel_above=above))) for above in (low, high))
    assert strict["relabel"] <= lenient["relabel"]
    careful, eager = (count_actions(correct(table, Policy(drop_below=below))) for below in (low, high))
    assert careful["drop"] <= eager["drop"]
    assert count_actions(correct(table, Policy(drop_below=0)))["drop"] == 0


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["relabel_above", "drop_below"])
def test_a_threshold_is_a_probability(name, value):
    with pytest.raises(InputError, match=f"--{name.replace('_', '-')} is a probability, .* from 0 to 1"):
        Policy(**{name: value})
