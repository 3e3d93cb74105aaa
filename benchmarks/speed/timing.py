"""Clocks: rivals timed in turn, so that a busy moment of the machine meets them all; the parts of a step."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def best_in_turn(repeats: int, rivals: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Shortest seconds of each rival over `repeats` rounds in which each runs once."""
    best = dict.fromkeys(rivals, float("inf"))
    for _ in range(repeats):
        for name, work in rivals.items():
            best[name] = min(best[name], seconds(work))
    return best


def seconds(work: Callable[[], Any]) -> float:
    """How long `work` takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Stopwatch:
    """Seconds spent in each of several functions."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def wrap(self, name: str, function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        """`function`, its time counted under `name`."""

        def timed(*positional: Arguments.args, **named: Arguments.kwargs) -> Result:
            start = time.perf_counter()
            try:
                return function(*positional, **named)
            finally:
                self.seconds[name] += time.perf_counter() - start

        return timed
