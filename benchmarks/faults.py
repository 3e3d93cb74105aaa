"""A training killed at random moments (SIGKILL) and resumed, again and again: does it end as if nothing had happened?

    python -m benchmarks.faults --kills 25 --json FILE

One training of digits runs through for reference. Then the same command is started with `--resume`, killed after a
random time, started again, until it completes; then anew, until there were enough kills. Every completed training must
have the same weights, issue table, outputs and metrics as the reference, bit for bit.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from twincl.files import write_json
from twincl.results.folder import CHECKPOINTS, environment
from twincl.training.checkpoint import find_checkpoints

TRAINING = ["digits", "--noise", "symmetric", "--noise-rate", "0.5", "--epochs", "3", "--no-amp", "--seed", "1"]
TRAINING += ["--checkpoint-minutes", "0", "--set", "data.limit=400"]


@dataclass
class Kill:
    """One kill: how long the process had lived, and the newest checkpoint it left."""

    seconds: float
    checkpoint: str | None


def command(output: Path, *options: str) -> list[str]:
    """The training as a process of its own."""
    return [sys.executable, "-m", "twincl", "train", *TRAINING, "--output", str(output), *options]


def result_of(run: Path) -> dict[str, Any]:
    """Everything that a finished training says, without what the clock says."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    summary = json.loads((run / "summary.json").read_text())
    timeless = [{key: value for key, value in each.items() if "second" not in key} for each in (*lines, summary)]
    with np.load(run / "outputs.npz") as outputs:
        arrays = {name: outputs[name].tobytes() for name in outputs.files}
    files = {name: (run / name).read_bytes() for name in ("model.safetensors", "model.json", "label_issues.csv")}
    return {"records": timeless, "outputs": arrays, **files}


def killed_trainings(folder: Path, kills: int, seed: int, longest: float) -> tuple[list[Kill], list[bool]]:
    """Kill and resume until there were `kills` kills and the last training is complete.

    Args:
        folder: to work in; the reference is in `folder / "whole"`.
        kills: how often.
        seed: of the moments.
        longest: kills come uniformly between zero and so many seconds after a start.

    Returns:
        The kills, and for each completed training whether it equals the reference.
    """
    moments = random.Random(seed)
    reference, output = result_of(folder / "whole"), folder / "killed"
    done: list[Kill] = []
    equal: list[bool] = []
    while len(done) < kills or not equal or output.exists():
        wait = moments.uniform(0, longest) if len(done) < kills else None
        process = subprocess.Popen(
            command(output, "--resume"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        try:
            _, said = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            newest = find_checkpoints(output / CHECKPOINTS)[:1]
            done.append(Kill(wait or 0.0, newest[0].name if newest else None))
            continue
        if process.returncode:
            raise SystemExit(f"the resumed training failed: {said.decode()}")
        equal.append(result_of(output) == reference)
        shutil.rmtree(output)
    return done, equal


def main() -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        subprocess.run(command(folder / "whole"), check=True, stdout=subprocess.DEVNULL)
        whole = time.perf_counter() - start
        kills, equal = killed_trainings(folder, arguments.kills, arguments.seed, longest=whole)
    about = environment(torch.device("cpu"), amp=False)
    del about["command"]
    result = {
        "kills": [asdict(kill) for kill in kills],
        "completed": len(equal),
        "bit_identical": sum(equal),
        "seconds_uninterrupted": round(whole, 1),
        "environment": about,
    }
    print(f"{len(kills)} kills, {len(equal)} trainings completed, {sum(equal)} bit-identical to the uninterrupted one")
    if arguments.json:
        write_json(arguments.json, result)
    if not all(equal):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
