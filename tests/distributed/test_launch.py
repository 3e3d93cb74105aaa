import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from twincl import __version__
from twincl.cli.launch import launch, run_ranks
from twincl.errors import InputError

CHILD = """
import json, os, pathlib, signal, sys, time
folder, rank = pathlib.Path(sys.argv[1]), int(os.environ["RANK"])
def note(word):
    with open(folder / f"{rank}.txt", "a") as file:
        print(word, file=file)
def stop(number, frame):
    note(signal.Signals(number).name)
    time.sleep(0.5 + rank)  # long enough for a second signal to be seen
    sys.exit(128 + number)
def wait():
    time.sleep(600)
"""
STOPPABLE = CHILD + "signal.signal(signal.SIGTERM, stop); signal.signal(signal.SIGINT, stop); note('ready')\n"


def children(code: str, folder: Path) -> list[str]:
    return [sys.executable, "-c", code, str(folder)]


def noted(folder: Path, rank: int) -> list[str]:
    file = folder / f"{rank}.txt"
    return file.read_text().split() if file.exists() else []


def wait_until_ready(folder: Path, count: int) -> None:
    for _ in range(600):
        if all("ready" in noted(folder, rank) for rank in range(count)):
            return
        time.sleep(0.1)
    pytest.fail("the ranks have not started")


def test_all_is_well_when_every_rank_ends_well(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code = CHILD + "(folder / f'{rank}.json').write_text(json.dumps(dict(os.environ)))"
    assert run_ranks(3, children(code, tmp_path)) == 0
    places = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(3)]
    cores = len(os.sched_getaffinity(0))
    for rank, place in enumerate(places):
        assert (place["RANK"], place["LOCAL_RANK"]) == (str(rank), str(rank))
        assert (place["WORLD_SIZE"], place["LOCAL_WORLD_SIZE"]) == ("3", "3")
        assert (place["MASTER_ADDR"], place["MASTER_PORT"]) == ("127.0.0.1", places[0]["MASTER_PORT"])
        assert place["OMP_NUM_THREADS"] == str(max(1, cores // 3))
    assert "RANK" not in os.environ


def test_a_number_of_threads_that_was_asked_for_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert run_ranks(2, children(CHILD + "sys.exit(os.environ['OMP_NUM_THREADS'] != '5')", tmp_path)) == 0


def test_the_first_failure_ends_the_others_and_is_the_answer(tmp_path):
    code = STOPPABLE + (
        "if rank != 1:\n    wait()\n"
        "while not all((folder / f'{r}.txt').exists() for r in range(3)):\n    time.sleep(0.05)\n"
        "sys.exit(3)"
    )
    assert run_ranks(3, children(code, tmp_path)) == 3
    assert noted(tmp_path, 0) == ["ready", "SIGTERM"]
    assert noted(tmp_path, 2) == ["ready", "SIGTERM"]


def test_a_rank_that_is_killed_counts_as_failed(tmp_path):
    code = CHILD + "os.kill(os.getpid(), signal.SIGKILL) if rank == 1 else wait()"
    assert run_ranks(2, children(code, tmp_path)) == 137


def test_a_rank_that_will_not_end_is_killed(tmp_path):
    code = CHILD + (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); note(os.getpid())\n"
        "if rank == 1:\n    wait()\n"
        "while not (folder / '1.txt').exists():\n    time.sleep(0.05)\n"
        "sys.exit(3)"
    )
    assert run_ranks(2, children(code, tmp_path), grace=0.5) == 3
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted(tmp_path, 1)[0]), 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_passed_on_once_and_the_ranks_are_waited_for(tmp_path, number):
    program = (
        "import sys\nfrom twincl.cli.launch import run_ranks\nsys.exit(run_ranks(2, [sys.executable, *sys.argv[1:]]))"
    )
    command = children(STOPPABLE + "wait()", tmp_path)[1:]
    parent = subprocess.Popen([sys.executable, "-c", program, *command], stderr=subprocess.PIPE, text=True)
    try:
        wait_until_ready(tmp_path, 2)
        parent.send_signal(number)
        _, said = parent.communicate(timeout=60)
    finally:
        parent.kill()
    assert parent.returncode == 128 + number
    assert said == ""
    assert noted(tmp_path, 0) == noted(tmp_path, 1) == ["ready", number.name]


def test_handlers_are_put_back(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    run_ranks(1, children(CHILD, tmp_path))
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)] == before


def test_what_cannot_be_started_is_a_sentence(tmp_path):
    with pytest.raises(InputError, match="2 processes cannot be started"):
        run_ranks(2, [str(tmp_path / "missing")])


def test_twincl_itself_is_launched(capfd, tmp_path, monkeypatch):
    (tmp_path / "twincl.py").write_text("raise SystemExit('data of the user, not the program')")
    monkeypatch.chdir(tmp_path)
    assert launch(2, ["--version"]) == 0
    assert capfd.readouterr().out.splitlines() == [f"twincl {__version__}"] * 2
    assert launch(2, ["no-such-command"]) == 2
    assert "Traceback" not in capfd.readouterr().err
