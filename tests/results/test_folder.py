"""What a run folder may replace, and what it never touches."""

import json

import pandas as pd
import pytest
import torch

from twincl.errors import InputError
from twincl.results.folder import (
    CONFIG,
    EVERYTHING,
    check_output,
    open_folder,
    write_environment,
    write_issues,
    write_metrics,
)


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in EVERYTHING:
        (folder / name).write_text('{"twincl": "0.1"}')
    return folder


@pytest.mark.parametrize(("force", "resume"), [(False, False), (False, True), (True, False)])
def test_new_and_empty_folders_are_free(tmp_path, force, resume):
    check_output(tmp_path / "new" / "run", force=force, resume=resume)
    check_output(tmp_path, force=force, resume=resume)
    assert list(tmp_path.iterdir()) == [], "looking creates nothing"


def test_a_run_is_replaced_only_by_force(run):
    with pytest.raises(InputError, match=r"holds a run; pass --resume .* or --force"):
        check_output(run, force=False, resume=False)
    check_output(run, force=False, resume=True)
    check_output(run, force=True, resume=False)
    with pytest.raises(InputError, match="pass one of them"):
        check_output(run, force=True, resume=True)
    assert len(list(run.iterdir())) == len(EVERYTHING)


def test_a_new_run_removes_the_files_of_the_old_one_and_no_others(run):
    checkpoints = run / "checkpoints"
    checkpoints.mkdir()
    (checkpoints / "00009-0000000-0123456789abcdef.pt").write_bytes(b"old")
    (run / "notes.txt").write_text("mine")
    (run / "plots").mkdir()
    (run / "plots" / "a.png").write_text("mine")
    open_folder(run, anew=True)
    assert sorted(path.name for path in run.iterdir()) == ["notes.txt", "plots"]
    assert (run / "plots" / "a.png").read_text() == "mine"


def test_a_run_that_goes_on_loses_nothing(run):
    open_folder(run, anew=False)
    assert len(list(run.iterdir())) == len(EVERYTHING)


@pytest.mark.parametrize(
    "files",
    [["thesis.tex"], [CONFIG], [CONFIG, "environment.json"], [CONFIG, "main.py"], ["summary.json"], [".hidden"]],
)
@pytest.mark.parametrize(("force", "resume"), [(False, False), (False, True), (True, False)])
def test_a_folder_of_something_else_is_refused(tmp_path, files, force, resume):
    for name in files:
        (tmp_path / name).write_text("not ours")
    with pytest.raises(InputError, match="holds other files and no run"):
        check_output(tmp_path, force=force, resume=resume)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)


def test_a_file_in_the_way(tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InputError, match="is a file; choose a folder"):
        check_output(file, force=True, resume=False)
    with pytest.raises(InputError, match="file is no folder to write in"):
        check_output(file / "runs" / "run", force=False, resume=False)
    with pytest.raises(InputError, match="cannot be written"):
        open_folder(file / "run", anew=True)
    assert file.read_text() == "x"


def test_files_are_what_they_say(tmp_path):
    write_metrics(tmp_path, [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": None}])
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": None}]
    with pytest.raises(ValueError):
        write_metrics(tmp_path, [{"loss": float("nan")}])
    assert (tmp_path / "metrics.jsonl").read_text().splitlines() == lines, "whole or not at all"

    write_environment(tmp_path, torch.device("cpu"), amp=False)
    about = json.loads((tmp_path / "environment.json").read_text())
    assert about["packages"]["torch"] == torch.__version__
    assert about["threads"] == torch.get_num_threads()
    assert {"twincl", "python", "platform", "processor", "cores", "device", "amp", "started", "command"} <= about.keys()


def test_file_names_keep_their_bytes(tmp_path):
    """A name in another encoding must not end a training in its last second."""
    name = b"caf\xe9.png".decode("utf-8", "surrogateescape")
    write_issues(tmp_path, pd.DataFrame({"file_name": pd.Series([name, "ü.png"], dtype=object)}))
    assert (tmp_path / "label_issues.csv").read_bytes() == b'"file_name"\n"caf\xe9.png"\n"\xc3\xbc.png"\n'
