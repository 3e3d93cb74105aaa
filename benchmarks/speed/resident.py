"""Resident memory, measured in a process of its own: what was freed before would hide what is taken now."""

import resource
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def in_child(function: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """`function(...)` in a fresh process that ends with it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def peak_bytes() -> int:
    """The most memory that this process has held.

    Where there is no /proc, getrusage: it may count what the parent held when it started this process.
    """
    if _STATUS.is_file():
        return _status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def additional_bytes(work: Callable[[], Any]) -> int:
    """The most memory that this process holds during `work`, beyond what it holds before."""
    before = peak_bytes()
    if _CLEAR.is_file():
        _CLEAR.write_text("5")  # forget the peak so far
        before = _status("VmRSS")
    work()
    return max(0, peak_bytes() - before)


def _status(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{_STATUS} has no {field}")
