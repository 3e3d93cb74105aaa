"""The two trainings of the demonstration: TCL and plain cross-entropy on digits of which many labels are wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twincl.config import build_config
from twincl.results.folder import check_output
from twincl.runs.listener import Listener
from twincl.runs.train import train

METHODS = ("tcl", "cross-entropy")


def demo(
    output: Path, *, noise_rate: float, epochs: int, seed: int, force: bool, resume: bool, listener: Listener
) -> Iterator[dict[str, Any]]:
    """Train one method after the other on the same noisy digits; yields the summary of each."""
    for method in METHODS:
        check_output(output / method, force=force, resume=resume)
    for method in METHODS:
        settings = {
            "method": method,
            "seed": seed,
            "data.path": "digits",
            "noise.type": "symmetric",
            "noise.rate": noise_rate,
            "optim.epochs": epochs,
        }
        yield train(build_config(settings=settings), output / method, force=force, resume=resume, listener=listener)
