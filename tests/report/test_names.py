import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from twincl.report.names import shortened, shown

any_text = st.text(st.characters(exclude_categories=()))  # surrogates too


@given(any_text)
def test_whatever_the_name_it_can_be_written_on_one_line(name):
    text = shown(name)
    text.encode("utf-8")
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in text)


def test_what_can_be_shown_is_kept():
    assert shown("猫 😀 שלום \u200f👩\u200d🔬 <b>") == "猫 😀 שלום \u200f👩\u200d🔬 <b>"
    assert shown("a\nb\udcffc") == r"a\nb\udcffc"


def test_shortened():
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"
