import csv
import io
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twincl.data.csv_text import guard, guarded, unguard, unguarded

NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?")
texts = st.text(st.sampled_from("'=+-@;\t\r\n\0 a1.,|e\uff1d\uff0b")) | st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-x.png", "'-x.png"),
        ("+", "'+"),
        ("\t=1", "'\t'=1"),
        ("\r=1", "'\r'=1"),
        ("\uff1d1", "'\uff1d1"),
        ("a;=cmd|' /C calc'!A1", "a;'=cmd|' /C calc'!A1"),  # a new cell where ; separates cells
        ("a\n=1", "a\n'=1"),
        ("'=x", "''=x"),
        *((same, same) for same in ("-1", "+2.5e-3", "a-b", "a=b", "it's", "'quoted'", "cat/-1.png", "", "ünï 🐈")),
    ],
)
def test_what_is_written(text, written):
    assert guard(text) == written
    assert unguard(written) == text


@given(texts)
def test_nothing_is_lost_and_no_cell_begins_a_formula(text):
    cell = guard(text)
    assert unguard(cell) == text
    if not NUMBER.fullmatch(cell):
        parts = re.split("[;\t\r\n]", cell)
        assert not any(part[0] in "=+-@" for part in parts if part)


@given(st.lists(texts, unique=True))
def test_no_two_texts_are_written_alike(different):
    assert len({guard(text) for text in different}) == len(different)


def test_tables():
    table = pd.DataFrame({"n": [-1, 2], "ok": [True, False], "text": pd.Series(["=1", "b\udce9"], dtype=object)})
    written = guarded(table)
    assert written["text"].tolist() == ["'=1", "b\udce9"]
    assert written["n"].tolist() == [-1, 2]
    assert written["ok"].tolist() == [True, False]
    assert table["text"].tolist() == ["=1", "b\udce9"], "the table itself is left alone"
    assert unguarded(written)["text"].tolist() == table["text"].tolist()
    file = io.StringIO()
    written[:1].to_csv(file, index=False)
    assert list(csv.reader(io.StringIO(file.getvalue())))[1] == ["-1", "True", "'=1"]
