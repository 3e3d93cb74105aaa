"""The command line in this process, and what it said."""

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

import pytest

from twincl.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def twincl(capsys):
    def run(*arguments) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return Outcome(end.value.code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def twincl_module():
    """The same for fixtures that serve a whole module."""

    def run(*arguments) -> Outcome:
        with (
            redirect_stdout(io.StringIO()) as out,
            redirect_stderr(io.StringIO()) as err,
            pytest.raises(SystemExit) as end,
        ):
            main([str(argument) for argument in arguments])
        return Outcome(end.value.code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def train(twincl, tmp_path_factory):
    """`twincl train` of one epoch into a new folder; it must succeed."""
    folder = tmp_path_factory.mktemp("runs")

    def run(data, *options, epochs=1):
        output = folder / f"run{len(list(folder.iterdir()))}"
        flags = ("--output", output, "--epochs", epochs, "--batch-size", 8, "--no-amp")
        outcome = twincl("train", data, *flags, *options)
        assert outcome.code == 0, outcome.err
        assert outcome.err == ""
        return output

    return run
