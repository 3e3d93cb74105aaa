"""One command, many processes: starts the ranks of a training on this machine and ends as they end."""

import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType

from twincl.errors import InputError

GRACE = 30.0  # seconds that the other ranks have to end after one has failed
_LOOK_EVERY = 0.1  # seconds


def launch(devices: int, arguments: list[str]) -> int:
    """Run `twincl` with `arguments` as `devices` ranks; returns the exit code of the first that fails, else 0."""
    # -P: as in the program `twincl`, what lies in the current folder is data, not modules
    return run_ranks(devices, [sys.executable, "-P", "-m", "twincl", *arguments])


def run_ranks(count: int, command: list[str], *, grace: float = GRACE) -> int:
    """Run `command` as `count` ranks with the environment that torchrun would give them, and wait for all.

    SIGTERM, SIGINT and SIGHUP are passed on, each once: the ranks are out of reach of the terminal's Ctrl-C. When one
    fails, the others are asked to end, unless a signal has done so already, and killed after `grace` seconds.

    Returns:
        0, or the code of the first rank that fails; 128 + s if the signal s ended it.

    Raises:
        InputError: the processes cannot be started.
    """
    children: list[subprocess.Popen[bytes]] = []
    received: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        received.append(number)
        for child in children:
            child.send_signal(number)

    signals = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
        signals.append(signal.SIGHUP)
    before = [(number, signal.signal(number, pass_on)) for number in signals]
    try:
        group = _group(count)
        for rank in range(count):
            place = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            child = subprocess.Popen(command, env={**os.environ, **group, **place}, start_new_session=True)
            children.append(child)
            if received:  # perhaps before this child was in the list
                child.send_signal(received[-1])
                break
        return _wait(children, received, grace)
    except OSError as error:
        raise InputError(f"{count} processes cannot be started ({error.strerror}); try fewer --devices") from error
    finally:
        for child in children:
            child.kill()
        for number, handler in before:
            signal.signal(number, handler)


def _group(count: int) -> dict[str, str]:
    """What the environment of all ranks says alike."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(max(1, cores // count))),
    }


def _wait(children: list[subprocess.Popen[bytes]], received: list[int], grace: float) -> int:
    failure = 0
    deadline = float("inf")
    while None in (codes := [child.poll() for child in children]):
        if not failure and any(codes):
            failure = next(code for code in codes if code)
            deadline = time.monotonic() + grace
            if not received:
                for child in children:
                    child.terminate()
        if time.monotonic() > deadline:
            for child in children:
                child.kill()
        time.sleep(_LOOK_EVERY)
    failure = failure or next((code for code in codes if code), 0)
    return 128 - failure if failure < 0 else failure
