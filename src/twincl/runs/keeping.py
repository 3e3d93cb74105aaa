"""Nothing of a training is lost: when checkpoints are written, and how a training ends that is asked to."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from twincl.errors import Stopped, TrainingError
from twincl.ranks import Ranks
from twincl.runs.records import Record
from twincl.training.checkpoint import save_checkpoint
from twincl.training.loop import TrainState


class StopRequest:
    """Remembers a signal until it suits; the second one does not wait."""

    signal: int | None = None

    def receive(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.signal is not None:
            raise Stopped("stopped at once; what the last checkpoint holds is safe: go on with --resume", number)
        self.signal = number


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Inside the block SIGTERM and Ctrl-C are requests.

    A signal that is ignored, as in a job in the background, stays so. Outside the main thread, where no handler can be
    set, signals do what they did before.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    heeded = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heeded:
        signal.signal(number, request.receive)
    try:
        yield request
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)


class Keeper:
    """Writes a checkpoint at every epoch's end, every so many minutes between, and when the training is to stop."""

    def __init__(
        self,
        folder: Path,
        state: TrainState,
        history: list[Record],
        *,
        minutes: float,
        request: StopRequest,
        ranks: Ranks,
    ) -> None:
        self.folder, self.state, self.history = folder, state, history
        self.seconds, self.request, self.ranks = 60 * minutes, request, ranks
        self.saved_at = time.monotonic()

    def save(self) -> None:
        """Write a checkpoint now; all ranks are in the same state, so one does it."""
        if self.ranks.first:
            save_checkpoint(self.folder, self.state, self.history)
        self.saved_at = time.monotonic()

    def after_step(self, step: int, steps: int) -> None:
        """Save if it is time; stop if that was asked for.

        Raises:
            Stopped: after saving.
        """
        stop = self.ranks.any(self.request.signal is not None)  # all ranks end after the same step
        if stop or time.monotonic() - self.saved_at >= self.seconds:
            self.save()
        if stop:
            self.ranks.barrier()  # nobody leaves before all is saved
            where = f"after step {step} of {steps} in epoch {self.state.epoch + 1}"
            raise Stopped(
                f"stopped {where}; all is saved: go on with the same command and --resume",
                self.request.signal or signal.SIGTERM,
            )


@contextmanager
def writing_to(output: Path) -> Iterator[None]:
    """Turn an error of the file system, such as a full disk, into a sentence that says what to do.

    Raises:
        TrainingError: in place of an OSError.
    """
    try:
        yield
    except BrokenPipeError:  # of the terminal, not of the disk: the reader of our output has gone
        raise
    except OSError as error:
        raise TrainingError(
            f"{error.filename or output} cannot be written ({error.strerror or error}); the checkpoints in {output} "
            "are intact: make room or restore access, then go on with the same command and --resume"
        ) from error
