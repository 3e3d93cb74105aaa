"""Does bfloat16 cost accuracy? The same TCL trainings in float32 and under bfloat16 autocast.

    python -m benchmarks.precision --cifar10 FOLDER

scikit-learn's digits, symmetric 50 %, 20 epochs, three seeds; the first 10,000 images of CIFAR-10, symmetric 50 %, seed
0 (float32 also with seed 1, for the size of the noise). Test accuracy is the mean of the last five epochs. Without
bfloat16 arithmetic the processor emulates it: the numbers are the same, the time is not.
"""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from benchmarks.cells import RESULTS, Cell, find_result, plain_ending, run_cells
from benchmarks.over_seeds import spread
from twincl.files import write_text

NOISE: dict[str, Any] = {"noise.type": "symmetric", "noise.rate": 0.5}
KINDS = {"float32": False, "bfloat16": True}


class Data(NamedTuple):
    """What is trained on, and with which seeds in which precision."""

    title: str
    settings: dict[str, Any]
    seeds: dict[str, list[int]]


DATA = {
    "digits": Data(
        "digits, 20 epochs",
        {"data.path": "digits", "optim.epochs": 20},
        {"float32": [0, 1, 2], "bfloat16": [0, 1, 2]},
    ),
    "cifar-10": Data(
        "CIFAR-10, 10,000 images, 6 epochs",
        {"data.limit": 10_000, "model.name": "small", "augment.name": "natural", "optim.epochs": 6},
        {"float32": [0, 1], "bfloat16": [0]},
    ),
}


def cells(name: str, kind: str, path: str | None = None) -> Iterator[Cell]:
    """One training for each seed; they can be found, if not trained, without a path."""
    for seed in DATA[name].seeds[kind]:
        settings = DATA[name].settings | NOISE | {"seed": seed, "amp": KINDS[kind]}
        yield Cell("precision", f"{name}-{kind}-seed{seed}", settings, places={"data.path": path} if path else {})


def render() -> str:
    """The table of all cells that have been run."""
    lines = [
        f"# TCL in bfloat16 and in float32 ({datetime.now(UTC):%Y-%m-%d})",
        "",
        "Command: `python -m benchmarks.precision --cifar10 FOLDER`; details in `precision/*.json`.",
        "",
        "| data | precision | seeds | test accuracy % | detection AUROC |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, data in DATA.items():
        for kind in KINDS:
            known = [found["summary"] for cell in cells(name, kind) if (found := find_result(cell))]
            accuracy = spread([100 * summary["test_accuracy_last5_mean"] for summary in known], 2)
            auroc = spread([summary["detection_auroc"] for summary in known], 4)
            seeds = ", ".join(str(summary["seed"]) for summary in known)
            lines += [f"| {data.title} | {kind} | {seeds} | {accuracy} | {auroc} |"] if known else []
    return "\n".join(lines) + "\n"


@plain_ending()
def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", help="folder of CIFAR-10")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    paths = {"digits": None} | ({"cifar-10": arguments.cifar10} if arguments.cifar10 else {})
    run_cells(
        [cell for name in paths for kind in KINDS for cell in cells(name, kind, paths[name])], arguments.processes
    )
    text = render()
    write_text(RESULTS / "precision.md", text)
    print(text)


if __name__ == "__main__":
    main()
