"""Who is told how a training goes."""

from typing import Protocol

from twincl.runs.prepare import Progress
from twincl.runs.records import Record


class Listener(Protocol):
    """Whoever wants to know how the training goes: the terminal, a notebook, nobody."""

    progress: Progress  # wraps a long iteration over images, like tqdm

    def note(self, text: str) -> None:
        """A sentence for the user."""

    def step(self, step: int, steps: int) -> None:
        """A step of the current epoch is done."""

    def epoch(self, record: Record, epochs: int) -> None:
        """An epoch is done; `record` is its line in metrics.jsonl."""


class Silence:
    """A listener that says nothing."""

    progress: Progress = None

    def note(self, text: str) -> None:
        """Ignore."""

    def step(self, step: int, steps: int) -> None:
        """Ignore."""

    def epoch(self, record: Record, epochs: int) -> None:
        """Ignore."""
