"""Real trainings in processes of their own, to be treated badly."""

import functools
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


class Started:
    """A training that says what it does."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "twincl", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # background jobs ignore it
        )

    def wait_for(self, beginning: str) -> None:
        """Read its output up to the line that begins like this."""
        for line in self.process.stdout:
            if line.startswith(beginning):
                return
        pytest.fail(f"it ended without '{beginning}': {self.process.stderr.read()}")

    def end(self) -> tuple[int, str, str]:
        """Exit code, the rest of its output, its errors."""
        out, err = self.process.communicate(timeout=120)
        return self.process.returncode, out, err


@pytest.fixture
def start() -> Callable[..., Started]:
    started: list[Started] = []

    def run(*arguments: object) -> Started:
        started.append(Started(*arguments))
        return started[-1]

    yield run
    for each in started:
        each.process.kill()
        each.process.communicate()


@pytest.fixture
def photo_flags(photos: Path) -> tuple:
    """A training of many short epochs."""
    return ("train", photos, "--epochs", 300, "--batch-size", 8, "--no-amp", "--device", "cpu")
