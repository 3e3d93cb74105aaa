"""A training by two processes is the training of one: same losses, mixture, w and issue table."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import torch

from twincl.results.folder import CHECKPOINTS
from twincl.training.checkpoint import find_checkpoints

ALONE = [sys.executable, "-m", "twincl"]
ELASTIC = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
METHODS = {
    "tcl": ["--method", "tcl", "--set", "tcl.sigma=per_class"],
    "all views mixed": ["--set", "tcl.mix_sources=all", "--set", "tcl.forward_unmixed=true"],
    "cross-entropy": ["--method", "cross-entropy"],
    "mixup": ["--method", "mixup", *("--set", "mixup.bootstrap=0.2"), *("--set", "mixup.label_epochs=1")],
    "moco, ensemble": ["--contrast", "moco", *("--set", "tcl.targets=ensemble"), *("--set", "tcl.label_epochs=1")],
    "epochs on a sample": ["--epochs", "3", "--set", "optim.steps_per_epoch=2", "--set", "optim.estep=sample"],
}


def flags(photos, output, *more) -> list[str]:
    noise = ["--noise", "pair", "--noise-rate", "0.3"]
    small_steps = ["--lr", 0.001]  # rounding differs by the number of ranks; large steps would make much of it
    given = ["train", photos, "-o", output, "--batch-size", 8, "--no-amp", "--epochs", 2, *noise, *small_steps, *more]
    return [str(flag) for flag in given]


def run(command) -> subprocess.CompletedProcess:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done


def newest(run) -> dict:
    return torch.load(find_checkpoints(run / CHECKPOINTS)[0], weights_only=True)


def assert_same(one, two):
    lines = [[json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()] for run in (one, two)]
    for mine, theirs in zip(*lines, strict=True):
        assert mine.keys() == theirs.keys()
        for key in mine:
            if key.startswith("loss"):
                assert mine[key] == pytest.approx(theirs[key], abs=2e-3), key
    mine, theirs = newest(one), newest(two)
    assert mine["net"].keys() == theirs["net"].keys()
    for part in ("net", "method"):
        for name in mine[part]:
            torch.testing.assert_close(mine[part][name], theirs[part][name], atol=2e-3, rtol=2e-3, msg=name)
    assert torch.equal(mine["generator"], theirs["generator"]), "the same numbers were drawn"
    assert torch.equal(mine["global_generator"], theirs["global_generator"])
    tables = [pd.read_csv(run / "label_issues.csv").sort_values("index") for run in (one, two)]
    assert tables[0]["file_name"].tolist() == tables[1]["file_name"].tolist(), "every image once"
    numbers = ["label_quality", "clean_probability", "suggestion_confidence"]
    np.testing.assert_allclose(tables[0][numbers], tables[1][numbers], atol=5e-3)
    sure = (tables[0]["suggestion_confidence"] > 0.6).to_numpy()
    assert (tables[0]["suggested_label"].to_numpy() == tables[1]["suggested_label"].to_numpy())[sure].all()


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_train_as_one(photos, tmp_path, method):
    run([*ALONE, *flags(photos, tmp_path / "one", *METHODS[method])])
    done = run([*ALONE, *flags(photos, tmp_path / "two", *METHODS[method], "--devices", 2)])
    said = re.findall(r"^epoch (\d)/(\d) ", done.stdout, re.MULTILINE)
    assert [int(number) for number, _ in said] == list(range(1, int(said[0][1]) + 1)), "one of them speaks"
    assert "batch 8 by 2 processes, peak learning rate " in done.stdout
    assert done.stderr == ""
    assert_same(tmp_path / "one", tmp_path / "two")


def test_what_two_have_begun_one_completes(photos, tmp_path):
    run([*ALONE, *flags(photos, tmp_path / "one")])
    options = flags(photos, tmp_path / "two", "--checkpoint-minutes", 0)
    training = subprocess.Popen(
        [*ALONE, *options, "--devices", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in training.stdout:
        if line.startswith("epoch 1/2"):
            break
    training.send_signal(signal.SIGTERM)
    _, said = training.communicate(timeout=120)
    if training.returncode:  # it may have been done already
        assert training.returncode == 143, said
        assert "all is saved: go on with the same command and --resume" in said
        run([*ALONE, *options, "--resume"])
    assert_same(tmp_path / "one", tmp_path / "two")


def test_a_killed_rank_is_started_again_and_the_group_goes_on(photos, tmp_path):
    run([*ALONE, *flags(photos, tmp_path / "whole", "--epochs", 12, "--devices", 2)])
    output = tmp_path / "two"
    command = [*ELASTIC, "--max-restarts", "1", "-m", "twincl"]
    command += flags(photos, output, "--epochs", 12, "--checkpoint-minutes", 0)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    group = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    )
    try:
        said = []
        for line in group.stdout:
            said.append(line)
            if line.startswith("epoch  2/12"):
                os.kill(_worker(group.pid), signal.SIGKILL)
                break
        said += group.communicate(timeout=300)[0].splitlines(keepends=True)
    finally:
        if group.poll() is None:
            os.killpg(group.pid, signal.SIGKILL)
    assert group.returncode == 0, "".join(said)
    assert any(line.startswith("going on after ") for line in said)
    for name in ("model.safetensors", "label_issues.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (output / name).read_bytes()


def _worker(agent: int) -> int:
    """A rank that is not the first, by its process number."""
    for _ in range(100):
        children = subprocess.run(["pgrep", "-P", str(agent)], capture_output=True, text=True, check=False)
        for child in map(int, children.stdout.split()):
            with open(f"/proc/{child}/environ", "rb") as file:  # noqa: PTH123
                if b"\0RANK=1\0" in file.read():
                    return child
        time.sleep(0.1)
    pytest.fail("torchrun has no second rank")


def test_bad_input_is_said_once(photos, tmp_path):
    for wrong, sentence in (
        (["--batch-size", "7"], "a batch of 7 cannot be shared equally by 2 processes; pass --batch-size 6"),
        (["--labels", str(tmp_path / "none.csv")], "none.csv"),
    ):
        command = [*ALONE, *flags(photos, tmp_path / "run"), *wrong, "--devices", "2"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1, done.stderr
        assert sentence in done.stderr
        assert not (tmp_path / "run").exists()


def test_clean_by_two_processes_reports_once(photos, tmp_path):
    command = flags(photos, tmp_path / "run", "--devices", 2)
    done = run([*ALONE, "clean", *command[1:]])
    assert done.stdout.count("look at ") == 1
    assert {"report.html", "corrected_labels.csv"} <= {path.name for path in (tmp_path / "run").iterdir()}
