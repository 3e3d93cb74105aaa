"""Does bfloat16 cost accuracy? The same TCL trainings in float32 and under bfloat16 autocast.

    python -m benchmarks.precision --cifar10 FOLDER

scikit-learn's digits, symmetric 50 %, 20 epochs, three seeds; the first 10,000 images of CIFAR-10, symmetric 50 %, seed
0 (float32 also with seed 1, for the size of the noise). Test accuracy is the mean of the last five epochs. Without
bfloat16 arithmetic the processor emulates it: the numbers are the same, the time is not.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.ablation import spread
from benchmarks.cells import RESULTS, Cell, run_cells
from twincl.files import write_text

NOISE = {"noise.type": "symmetric", "noise.rate": 0.5}
KINDS = {"float32": False, "bfloat16": True}


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", type=Path, help="folder of CIFAR-10")
    parser.add_argument("--cifar10-epochs", type=int, default=6)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    sets: dict[str, tuple[dict[str, Any], dict[str, list[int]]]] = {
        "digits, 20 epochs": (
            {"data.path": "digits", "optim.epochs": 20},
            {"float32": [0, 1, 2], "bfloat16": [0, 1, 2]},
        )
    }
    if arguments.cifar10:
        settings = {"data.path": str(arguments.cifar10), "data.limit": 10_000, "model.name": "small"}
        settings |= {"augment.name": "natural", "optim.epochs": arguments.cifar10_epochs}
        sets[f"CIFAR-10, 10,000 images, {arguments.cifar10_epochs} epochs"] = (
            settings,
            {"float32": [0, 1], "bfloat16": [0]},
        )
    cells = {
        (title, kind, seed): Cell(
            "precision",
            f"{title.partition(',')[0].lower()}-{kind}-seed{seed}",
            settings | NOISE | {"seed": seed, "amp": KINDS[kind]},
        )
        for title, (settings, kinds) in sets.items()
        for kind, seeds in kinds.items()
        for seed in seeds
    }
    found = run_cells(cells.values(), arguments.processes)
    lines = [
        f"# TCL in bfloat16 and in float32 ({datetime.now(UTC):%Y-%m-%d})",
        "",
        "Command: `python -m benchmarks.precision --cifar10 FOLDER`; details in `precision/*.json`.",
        "",
        "| data | precision | seeds | test accuracy % | detection AUROC |",
        "| --- | --- | --- | --- | --- |",
    ]
    for title, (_, kinds) in sets.items():
        for kind, seeds in kinds.items():
            summaries = [found[cells[title, kind, seed].name]["summary"] for seed in seeds]
            accuracy = spread([100 * summary["test_accuracy_last5_mean"] for summary in summaries], 2)
            auroc = spread([summary["detection_auroc"] for summary in summaries], 4)
            lines.append(f"| {title} | {kind} | {', '.join(map(str, seeds))} | {accuracy} | {auroc} |")
    text = "\n".join(lines) + "\n"
    write_text(RESULTS / "precision.md", text)
    print(text)


if __name__ == "__main__":
    main()
