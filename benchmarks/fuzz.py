"""`python -m benchmarks.fuzz [KIND ...] [--seconds 60] [--json FILE]`: hostile input for as long as there is time.

Every kind of `hostile_inputs` gets an equal share of the seconds. An input must be accepted, or refused in a sentence;
any other exception is a crash and more than ten seconds are a hang: either is printed with the input that caused it,
kept in the file, and makes the exit code 1.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks.hostile_inputs import KINDS, Files, Kind, attempt
from twincl.files import write_json
from twincl.results.folder import environment

ROUND = 200  # inputs drawn from one seed
LONGEST = 10  # seconds that an input may take

Count = dict[str, Any]


class Hang(Exception):
    """An input took too long."""


def fuzz(kind: Kind, seconds: float, first_seed: int) -> Count:
    """Try inputs of one kind; how many were tried, accepted and refused, and every different crash once."""
    count: Count = {"tried": 0, "accepted": 0, "refused": 0, "slowest_seconds": 0.0, "crashes": []}
    end, number = time.monotonic() + seconds, first_seed

    def read(files: Files) -> None:
        if time.monotonic() > end:
            return
        began, folder = time.monotonic(), Path(tempfile.mkdtemp())
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        try:
            count["accepted" if attempt(kind, files, folder) else "refused"] += 1
        except Exception as error:  # whatever it is, it is what we are looking for
            crash = _describe(error, files)
            if crash["where"] not in {known["where"] for known in count["crashes"]}:
                count["crashes"].append(crash)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            shutil.rmtree(folder, ignore_errors=True)
            count["tried"] += 1
            count["slowest_seconds"] = round(max(count["slowest_seconds"], time.monotonic() - began), 3)

    while time.monotonic() < end:
        options = settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        seed(number)(options(given(kind.files)(read)))()
        number += 1
    return count


def main(arguments: list[str] | None = None) -> int:
    """Fuzz the kinds named, or all; returns the number of different crashes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; none: all")
    parser.add_argument("--seconds", type=float, default=60, help="for all kinds together")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same inputs")
    parser.add_argument("--json", type=Path, help="file to write")
    chosen = parser.parse_args(arguments)
    names = chosen.kinds or list(KINDS)
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        parser.error(f"unknown kind '{unknown[0]}': choose from {', '.join(KINDS)}")
    signal.signal(signal.SIGALRM, _ring)
    warnings.filterwarnings("ignore", module="PIL")  # as on the command line
    about = environment(torch.device("cpu"), amp=False)
    del about["command"]
    counts: dict[str, Count] = {}
    for name in names:
        counts[name] = count = fuzz(KINDS[name], chosen.seconds / len(names), chosen.seed)
        figures = ", ".join(f"{count[key]} {key}" for key in ("tried", "accepted", "refused"))
        print(f"{name}: {figures}, {len(count['crashes'])} crashes", flush=True)
        for crash in count["crashes"]:
            print(f"  {crash['error']} at {crash['where']}: {crash['files']}", flush=True)
    crashes = sum(len(count["crashes"]) for count in counts.values())
    tried = sum(count["tried"] for count in counts.values())
    print(f"{tried} inputs, {crashes} crashes")
    if chosen.json:
        result = {"seconds": chosen.seconds, "seed": chosen.seed, "tried": tried, "crashes": crashes, "kinds": counts}
        write_json(chosen.json, result | {"environment": about})
    return crashes


def _ring(number: int, frame: FrameType | None) -> None:
    raise Hang(f"more than {LONGEST} seconds")


def _describe(error: Exception, files: Files) -> dict[str, str]:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return {
        "error": f"{type(error).__name__}: {str(error)[:200]}",
        "where": f"{Path(last.filename).name}:{last.lineno}",
        "files": repr(files)[:1000],
    }


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
