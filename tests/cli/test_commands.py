"""Everything but training: help, version, doctor, demo, evaluate, predict; and the real program."""

import json
import os
import struct
import subprocess
import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from twincl import __version__
from twincl.cli.terminal import duration, epoch_line, table
from twincl.results.finished import load_run


@pytest.fixture(scope="module")
def run(photos, tmp_path_factory):
    """A trained run."""
    from twincl.config import build_config
    from twincl.runs.train import train

    output = tmp_path_factory.mktemp("run") / "photos"
    settings = {"data.path": str(photos), "optim.epochs": 6, "optim.batch_size": 8, "amp": False}
    train(build_config(settings=settings), output)
    return output


@pytest.fixture
def program(tmp_path):
    """`python -m twincl` in an empty folder."""

    def execute(*arguments, **options):
        command = [sys.executable, "-m", "twincl", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, **options)

    return execute


# help


def test_help_lists_the_commands(twincl):
    for arguments in ((), ("--help",)):
        outcome = twincl(*arguments)
        assert (outcome.code, outcome.err) == (0, "")
        listed = outcome.out.partition("Commands:")[2].partition("Start with:")[0].splitlines()
        assert [line.split()[0] for line in listed if line.strip()] == [
            *("demo", "clean", "issues", "report", "correct", "export"),
            *("train", "finetune", "predict", "evaluate", "embed", "noise"),
            *("settings", "doctor"),
        ]
        assert not any(line.endswith("...") for line in listed), "a summary that is cut off teaches nothing"
    assert outcome.out.startswith("Usage: ")


def test_help_of_training_lists_the_flags(twincl):
    outcome = twincl("train", "--help")
    flags = (
        "model epochs batch-size lr weight-decay img-size workers seed device amp no-amp augment output resume force "
    )
    flags += "config set labels true-labels noise noise-rate test method preset image-column label-column"
    for flag in flags.split():
        assert f"--{flag}" in outcome.out


def test_version(twincl):
    assert twincl("--version") == (0, f"twincl {__version__}\n", "")


def test_doctor(twincl):
    outcome = twincl("doctor")
    assert (outcome.code, outcome.err) == (0, "")
    subjects = [line.split()[0] for line in outcome.out.splitlines()]
    assert subjects[:6] == ["twincl", "python", "torch", "device", "threads", "bfloat16"]
    assert {"numpy", "pillow", "pyarrow"} <= set(subjects)
    assert outcome.out.count("extra ") == 2


# demo


def test_demo(twincl, tmp_path):
    output = tmp_path / "runs" / "demo"
    outcome = twincl("demo", "--output", output, "--epochs", 1, "--noise-rate", "0.3", "--seed", 2)
    assert (outcome.code, outcome.err) == (0, "")
    assert sorted(path.name for path in output.iterdir()) == ["cross-entropy", "tcl"]
    for method in ("tcl", "cross-entropy"):
        summary = json.loads((output / method / "summary.json").read_text())
        assert (summary["method"], summary["seed"], summary["epochs"]) == (method, 2, 1)
        assert summary["noise_rate_actual"] == pytest.approx(0.27, abs=0.03)
        (row,) = [line.split() for line in outcome.out.splitlines() if line.startswith(f"{method} ")]
        assert row[1] == f"{summary['test_accuracy_last5_mean']:.2%}"
        assert row[2] == f"{summary['detection_auroc']:.4f}"
        assert row[3] == f"{summary['noise_rate_estimate']:.1%}"
        assert row[4] == f"{summary['noise_rate_actual']:.1%}"
    assert outcome.out.count("epoch 1/1") == 2
    assert str(output / "tcl" / "label_issues.csv") in outcome.out

    again = twincl("demo", "--output", output, "--epochs", 1)
    assert (again.code, again.out) == (2, "")
    assert "--force" in again.err
    resumed = twincl("demo", "--output", output, "--epochs", 1, "--noise-rate", "0.3", "--seed", 2, "--resume")
    assert (resumed.code, resumed.err) == (0, "")
    assert resumed.out.count("is complete") == 2


# evaluate


def test_evaluate(twincl, run, picture_folder, tmp_path):
    data = picture_folder(tmp_path / "new", per_class=4, seed=5)
    outcome = twincl("evaluate", run, data)
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(twincl("evaluate", run, data, "--json").out)
    assert outcome.out.startswith(f"accuracy {found['accuracy']:.2%} on 12 samples\n")
    assert found["num_images"] == 12
    assert found["num_skipped"] == 0
    assert list(found["per_class"]) == ["blue", "green", "red"]
    assert found["accuracy"] == pytest.approx(np.mean([one["accuracy"] for one in found["per_class"].values()]))
    predictions = predict(twincl, run, data)
    right = predictions["file"].str.split("/").str[0] == predictions["predicted_label"]
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["accuracy"] > 0.6


def predict(twincl, run, data, *options) -> pd.DataFrame:
    outcome = twincl("predict", run, data, *options)
    assert (outcome.code, outcome.err) == (0, "")
    return pd.read_csv(StringIO(outcome.out), dtype={"file": str})


def test_evaluate_with_labels_of_a_file(twincl, run, photos, tmp_path, colours):
    predictions = predict(twincl, run, photos)
    predictions.rename(columns={"predicted_label": "label"}).to_csv(tmp_path / "said.csv", index=False)
    assert json.loads(twincl("evaluate", run, photos, "--labels", tmp_path / "said.csv", "--json").out)["accuracy"] == 1
    numbers = np.array([(colours.index(name) + 1) % 3 for name in predictions["predicted_label"]])
    np.save(tmp_path / "off.npy", numbers)
    assert json.loads(twincl("evaluate", run, photos, "--labels", tmp_path / "off.npy", "--json").out)["accuracy"] == 0


def test_evaluate_needs_labels_that_the_model_knows(twincl, run, photos, tmp_path):
    outcome = twincl("evaluate", run, photos / "red")
    assert outcome.code == 2
    assert "has no labels to evaluate against" in outcome.err
    (tmp_path / "data" / "pink").mkdir(parents=True)
    (tmp_path / "data" / "pink" / "a.png").write_bytes((photos / "red" / "00.png").read_bytes())
    outcome = twincl("evaluate", run, tmp_path / "data")
    assert outcome.code == 2
    assert "pink are not among the 3 classes (blue, green, red)" in outcome.err


def test_splits_by_name(twincl, run, picture_folder, tmp_path):
    for kind, count in (("train", 4), ("val", 3), ("test", 2)):
        picture_folder(tmp_path / "data" / kind, per_class=count)
    for options, count in (((), 6), (("--split", "train"), 12), (("--split", "val"), 9), (("--split", "test"), 6)):
        assert json.loads(twincl("evaluate", run, tmp_path / "data", "--json", *options).out)["num_images"] == count
        assert len(predict(twincl, run, tmp_path / "data", *options)) == count
    outcome = twincl("evaluate", run, tmp_path / "data", "--split", "tset")
    assert outcome.code == 2
    assert "has no split 'tset'; did you mean 'test'?" in outcome.err
    assert twincl("evaluate", run, tmp_path / "data" / "val", "--split", "test").code == 2


# predict


def test_predict_images_without_labels(twincl, run, photos, tmp_path):
    file = tmp_path / "said.csv"
    outcome = twincl("predict", run, photos / "red", "--output", file)
    assert outcome == (0, f"{file}: 12 samples\n", "")
    said = pd.read_csv(file)
    assert list(said.columns) == ["file", "predicted_label", "confidence"]
    assert said["file"].tolist() == [f"{number:02}.png" for number in range(12)]
    assert set(said["predicted_label"]) <= {"blue", "green", "red"}
    assert said["confidence"].between(1 / 3, 1).all()
    assert file.read_text() == twincl("predict", run, photos / "red").out, "the same on stdout"

    refused = twincl("predict", run, photos, "--output", file)
    assert (refused.code, refused.out) == (2, "")
    assert f"{file} exists; pass --force" in refused.err
    assert twincl("predict", run, photos, "--output", file, "--force").code == 0
    assert len(pd.read_csv(file)) == 36


def test_predict_says_what_training_said(twincl, run, photos):
    issues = pd.read_csv(run / "label_issues.csv").set_index("file_name")
    said = predict(twincl, run, photos).set_index("file")
    assert (said.loc[issues.index, "predicted_label"] == issues["predicted_label"]).all()
    judged = load_run(run)
    sure = pd.Series(judged.class_probabilities.max(1), judged.table["file_name"])
    np.testing.assert_allclose(said["confidence"], sure.loc[said.index], atol=1e-3, err_msg="and is as sure of it")


def test_predict_images_of_another_size_and_kind(twincl, run, tmp_path, pictures):
    pixels, _ = pictures(5, size=30)
    np.save(tmp_path / "grey.npy", pixels[..., 0])
    said = predict(twincl, run, tmp_path / "grey.npy")
    assert said["file"].tolist() == ["0", "1", "2", "3", "4"]


# the terminal


def test_epoch_line():
    record = {"epoch": 3, "loss": 1.23456, "seconds": 2.34}
    assert epoch_line(record, 40) == "epoch  3/40  loss 1.235  2.3 s"
    record |= {"test_accuracy": 0.9876, "noise_rate_estimate": 0.5, "detection_auroc": None}
    assert epoch_line(record, 3) == "epoch 3/3  loss 1.235  test accuracy 98.76%  wrong labels 50.0%  2.3 s"
    assert "AUROC 0.9900" in epoch_line(record | {"detection_auroc": 0.99}, 3)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 seconds"), (89, "89 seconds"), (150, "2 minutes"), (7200, "2.0 hours")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_table():
    assert table([("a", "bb"), ("long", "1")]).splitlines() == ["a     bb", "----  --", "long   1"]


# the real program


def test_program_help_and_errors(program, tmp_path):
    done = program("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"twincl {__version__}\n", "")
    done = program("train", "nowhere", "--output", "run")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "twincl: there is no file or folder at 'nowhere'; give the path of a data set, or 'digits' for a trial.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_fault_of_the_disk(photos, tmp_path):
    command = [sys.executable, "-m", "twincl", "train", str(photos), "-o", str(tmp_path / "run"), "--epochs", "3"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (1, b"")  # quietly, as other programs before a pipe


def test_program_trains_and_predicts(program, photos, tmp_path):
    done = program("train", photos, "--output", "runs/mine", "--epochs", 1, "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "epoch 1/1" in done.stdout
    environment = json.loads((tmp_path / "runs" / "mine" / "environment.json").read_text())
    assert environment["command"][1:4] == ["train", str(photos), "--output"]
    # an output that knows no umlauts and no "±" must not end a training
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = program("train", photos, "--output", "runs/ascii", "--epochs", 1, "--seed", 3, env=ascii_only)
    assert done.returncode == 0, done.stderr
    weights = [(tmp_path / "runs" / name / "model.safetensors").read_bytes() for name in ("mine", "ascii")]
    assert weights[0] == weights[1], "the same seed in two processes"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_progress_bar(photos, tmp_path):
    import fcntl
    import termios

    outer, inner = os.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))  # as wide as a bar needs
    command = [sys.executable, "-m", "twincl", "train", str(photos), "-o", str(tmp_path / "run"), "--epochs", "2"]
    process = subprocess.Popen(command, stdout=inner, stderr=inner)
    os.close(inner)
    said = b""
    while chunk := _read(outer):
        said += chunk
    assert process.wait(timeout=120) == 0, said
    text = said.decode()
    assert "step/s]" in text
    assert "\r100%|" in text
    assert text.count("epoch 1/2") == text.count("epoch 2/2") == 1
    assert "about " in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""
