"""A run folder is read as it was written; what a spreadsheet or an editor made of it is one sentence."""

import shutil

import pandas as pd
import pytest

from twincl.config import build_config
from twincl.errors import InputError
from twincl.results.finished import COLUMNS, load_run
from twincl.runs.train import train


@pytest.fixture(scope="module")
def finished(photos, tmp_path_factory):
    run = tmp_path_factory.mktemp("finished") / "run"
    train(build_config(settings={"data.path": str(photos), "optim.epochs": 1, "optim.batch_size": 8}), run)
    return run


@pytest.fixture
def run(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def edit(run, change) -> None:
    table = pd.read_csv(run / "label_issues.csv")
    change(table).to_csv(run / "label_issues.csv", index=False)


def test_every_column_is_there(run):
    assert set(load_run(run).table.columns) == set(COLUMNS)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table.drop(columns="suggestion_confidence"), "no column 'suggestion_confidence'"),
        (lambda table: table.assign(given_label="ten"), "'ten' as given_label, which is no class"),
        (lambda table: table.assign(label_quality="high"), "something else than numbers as label_quality"),
        (lambda table: table.assign(index=0), "of different runs"),
    ],
)
def test_a_table_that_was_changed(run, change, reason):
    edit(run, change)
    with pytest.raises(InputError, match=reason):
        load_run(run)


@pytest.mark.parametrize("text", ["", "- a list\n", "data: none\n", "data: {limit: 3}\n"])
def test_a_configuration_that_was_changed(run, text):
    (run / "config.yaml").write_text(text)
    with pytest.raises(InputError, match="cannot be read"):
        load_run(run)
