"""SIGTERM and Ctrl-C finish the step, save, say how to go on and exit as the shell expects."""

import signal

import pytest

from twincl.cli import main
from twincl.config import build_config
from twincl.errors import Stopped
from twincl.runs.keeping import StopRequest, stop_requests
from twincl.runs.listener import Silence
from twincl.runs.train import train


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_and_says_how_to_go_on(start, photo_flags, tmp_path, number, code):
    training = start(*photo_flags, "--output", tmp_path / "run")
    training.wait_for("epoch   1/300")
    training.process.send_signal(number)
    returned, _, said = training.end()
    assert returned == code
    assert said.startswith("twincl: stopped after step ")
    assert said.endswith("; all is saved: go on with the same command and --resume\n")
    assert said.count("\n") == 1
    assert not (tmp_path / "run" / "summary.json").exists()
    assert not list((tmp_path / "run").rglob(".*")), "nothing half-written"
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) >= 1
    going_on = start(*photo_flags, "--output", tmp_path / "run", "--resume")
    going_on.wait_for("going on after ")


def test_before_training_begins_a_signal_ends_at_once(monkeypatch, capsys, photos, tmp_path):
    monkeypatch.setattr("twincl.runs.train.prepare", lambda *_: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(SystemExit) as end:
        main(["train", str(photos), "--output", str(tmp_path / "run")])
    said = capsys.readouterr().err
    assert (end.value.code, said.count("\n")) == (143, 1)
    assert said.startswith("twincl: stopped")
    assert not (tmp_path / "run").exists()


class Raise(Silence):
    """Sends a signal to this process in the second step of the second epoch."""

    done = 0

    def epoch(self, record, epochs):
        self.done = record["epoch"]

    def step(self, step, steps):
        if (self.done, step) == (1, 2):
            signal.raise_signal(signal.SIGTERM)


def test_the_state_saved_in_the_middle_of_an_epoch_is_whole(photos, tmp_path):
    settings = {"data.path": str(photos), "optim.epochs": 3, "optim.batch_size": 8, "amp": False}
    config = build_config(settings=settings | {"noise.type": "pair", "noise.rate": 0.3})
    train(config, tmp_path / "whole")
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped, match="after step 2 of 3 in epoch 2") as stop:
        train(config, tmp_path / "parts", listener=Raise())
    assert stop.value.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
    train(config, tmp_path / "parts", resume=True)
    for name in ("model.safetensors", "label_issues.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_the_second_signal_does_not_wait():
    with stop_requests() as request:
        signal.raise_signal(signal.SIGTERM)
        assert request.signal == signal.SIGTERM
        with pytest.raises(Stopped, match="at once"):
            signal.raise_signal(signal.SIGTERM)
    assert StopRequest.signal is None
