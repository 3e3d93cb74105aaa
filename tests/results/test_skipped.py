"""Images that could not be decoded, kept with their labels."""

import pandas as pd
import pytest

from twincl.errors import InputError
from twincl.results.corrections import drop_skipped
from twincl.results.skipped import Skipped, read_skipped, write_skipped

SKIPPED = [
    Skipped("a,b.png", 'said "no"', "NA", "train"),
    Skipped("=c.png", "empty", "-1", "test"),
    Skipped(b"caf\xe9.png".decode("utf-8", "surrogateescape"), "empty", "", "train"),
]


def test_what_is_read_is_what_was_written(tmp_path):
    write_skipped(tmp_path, [])
    assert not any(tmp_path.iterdir())
    assert read_skipped(tmp_path) == []
    write_skipped(tmp_path, SKIPPED)
    assert read_skipped(tmp_path) == SKIPPED
    assert b'"caf\xe9.png","empty"' in (tmp_path / "skipped_images.csv").read_bytes(), "names keep their bytes"
    assert pd.read_csv(tmp_path / "skipped_images.csv", encoding_errors="ignore")["file_name"][1] == "'=c.png"


def test_those_of_the_training_split_are_dropped_as_they_came():
    table = drop_skipped(SKIPPED)
    assert table["file"].tolist() == [SKIPPED[0].file_name, SKIPPED[2].file_name]
    assert table["given"].tolist() == table["corrected"].tolist() == ["NA", ""]
    assert set(table["action"]) == {"drop"}
    assert drop_skipped([]).columns.tolist() == table.columns.tolist()


def test_a_file_that_does_not_know_the_labels_is_refused(tmp_path):
    (tmp_path / "skipped_images.csv").write_text("file_name,reason\na.png,empty\n")
    with pytest.raises(InputError, match="has no column 'given_label'; train the run again"):
        read_skipped(tmp_path)
