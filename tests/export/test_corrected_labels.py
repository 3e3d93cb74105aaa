"""corrected_labels.csv in a run: complete, and good as labels of the next training."""

import shutil

import pandas as pd
import pytest

from twincl.config import build_config
from twincl.data.labels import read_labels
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.results.corrections import Policy
from twincl.results.finished import load_run
from twincl.runs.corrections import write_corrections
from twincl.runs.train import train


@pytest.fixture
def run(photo_run, tmp_path):
    return shutil.copytree(photo_run, tmp_path / "run")


def test_one_row_an_image_in_the_order_of_the_data(run):
    counts = write_corrections(run, Policy(relabel_above=0.7))
    table = pd.read_csv(run / "corrected_labels.csv")
    judged = load_run(run).table
    assert list(table.columns) == ["file", "given", "corrected", "action", "confidence"]
    assert table["file"].tolist() == judged["file_name"].tolist()
    assert table["given"].tolist() == judged["given_label"].tolist()
    assert counts == table["action"].value_counts().to_dict()
    assert min(counts.values()) > 0, "the example shows all three"


def test_it_serves_as_labels(run, photos, tmp_path):
    write_corrections(run, Policy(relabel_above=0.7))
    file, names = run / "corrected_labels.csv", read_dataset(str(photos)).train.names
    labels = read_labels(file, key="corrected", names=names)
    assert labels.tolist() == pd.read_csv(file)["corrected"].tolist()
    settings = {"data.path": str(photos), "data.labels": f"{file}:corrected", "optim.epochs": 1, "amp": False}
    train(build_config(settings=settings), tmp_path / "next")
    again = load_run(tmp_path / "next").table
    corrected = dict(zip(names, labels, strict=True))
    assert again["given_label"].tolist() == [corrected[name] for name in again["file_name"]]


def test_nothing_is_replaced_unasked(run):
    write_corrections(run, Policy())
    before = (run / "corrected_labels.csv").read_bytes()
    with pytest.raises(InputError, match=r"corrected_labels.csv exists; pass --force"):
        write_corrections(run, Policy(relabel_above=0))
    assert (run / "corrected_labels.csv").read_bytes() == before
    write_corrections(run, Policy(relabel_above=0), force=True)
    assert (run / "corrected_labels.csv").read_bytes() != before


def test_what_is_no_run_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="holds no finished run"):
        write_corrections(tmp_path, Policy())
