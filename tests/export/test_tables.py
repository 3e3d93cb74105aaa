import csv

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from twincl.data.labels import read_labels
from twincl.errors import InputError
from twincl.results.corrections import Policy, correct
from twincl.results.finished import load_run
from twincl.runs.export import export

COLUMNS = ["file", "given", "corrected", "action", "confidence", "label_quality", "split"]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_corrected_table(digits, tmp_path, format):
    output = tmp_path / f"labels.{format}"
    policy = Policy(relabel_above=0.5)
    said = export(digits, format, output, policy=policy)
    run = load_run(digits)
    table = pd.read_csv(output, dtype=dict.fromkeys(COLUMNS[:4], str)) if format == "csv" else pd.read_parquet(output)
    assert list(table.columns) == COLUMNS
    decided = correct(run.table, policy)
    for name in ("file", "given", "corrected", "action"):
        assert table[name].astype(str).tolist() == decided[name].tolist()
    np.testing.assert_allclose(table["confidence"], decided["confidence"])
    np.testing.assert_allclose(table["label_quality"], run.table["label_quality"])
    assert table["split"].tolist() == run.table["split"].tolist()
    assert said.startswith(f"{len(run.table)} labels: {(decided['action'] == 'keep').sum()} kept, ")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_both_serve_as_labels(photo_run, tmp_path, format):
    output = tmp_path / f"labels.{format}"
    export(photo_run, format, output)
    table = load_run(photo_run).table
    labels = read_labels(output, key="corrected", names=table["file_name"].tolist())
    assert labels.tolist() == correct(table, Policy())["corrected"].tolist()


def test_parquet_holds_every_class_as_a_dictionary(photo_run, tmp_path, colours):
    export(photo_run, "parquet", tmp_path / "labels.parquet")
    table = pq.read_table(tmp_path / "labels.parquet")
    for name in ("given", "corrected"):
        assert table.schema.field(name).type == pa.dictionary(pa.int32(), pa.string())
        assert table[name].chunk(0).dictionary.to_pylist() == list(colours)
    assert table.schema.field("confidence").type == pa.float64()


HOSTILE = ["=1+1.png", "+a.png", "-a.png", "@a.png", 'quo"te.png', "com,ma.png", "tab\there.png", "über.png"]


@pytest.fixture
def hostile(picture_folder, run_on, tmp_path):
    """Files and a class whose names a spreadsheet would run."""
    data = picture_folder(tmp_path / "data", per_class=len(HOSTILE))
    (data / "red").rename(data / "=HYPERLINK(A1)")
    for folder in data.iterdir():
        for file, name in zip(sorted(folder.iterdir()), HOSTILE, strict=True):
            file.rename(folder / name)
    return run_on(tmp_path / "run", data)


def test_csv_holds_no_formula_and_reads_back_as_it_was(hostile, tmp_path):
    export(hostile, "csv", tmp_path / "labels.csv")
    table = load_run(hostile).table
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, quoting=csv.QUOTE_NONNUMERIC))  # fails on text without quotes
    assert [row[0].removeprefix("'") for row in rows[1:]] == table["file_name"].tolist()
    assert not any(cell[0] in "=+-@\t\r" for row in rows for cell in row if isinstance(cell, str))
    assert "=HYPERLINK(A1)/=1+1.png" in table["file_name"].tolist()
    assert {type(cell) for row in rows[1:] for cell in row[4:6]} == {float}
    labels = read_labels(tmp_path / "labels.csv", key="given", names=table["file_name"].tolist())
    assert labels.tolist() == table["given_label"].tolist()


def test_names_of_another_encoding(picture_folder, run_on, tmp_path):
    data = picture_folder(tmp_path / "data", per_class=2)
    name = b"caf\xe9.png".decode("utf-8", "surrogateescape")
    (data / "red" / "00.png").rename(data / "red" / name)
    run = run_on(tmp_path / "run", data)
    export(run, "csv", tmp_path / "labels.csv")
    assert b'"red/caf\xe9.png"' in (tmp_path / "labels.csv").read_bytes()
    with pytest.raises(InputError, match=r"parquet cannot hold the name .* export csv"):
        export(run, "parquet", tmp_path / "labels.parquet")
    assert not (tmp_path / "labels.parquet").exists()
