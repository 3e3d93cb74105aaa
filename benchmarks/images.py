"""TCL beside plain cross-entropy and the paper's baseline on real images: the same data path, encoder and epochs.

    python -m benchmarks.images --cifar10 FOLDER --fashion FOLDER

CIFAR-10 (a folder with train.parquet and test.parquet, or the python batches), its first 10,000 training images,
50 % symmetric noise; Fashion-MNIST (the IDX files), its first 10,000, 80 %. Encoder `small`, 20 epochs, all test
images. Test accuracy is the mean of the last five epochs.
"""

import argparse
from datetime import UTC, datetime
from typing import Any

from benchmarks.cells import RESULTS, Cell, find_result, plain_ending, run_cells
from benchmarks.over_seeds import spread
from twincl.files import write_text

METHODS = ("cross-entropy", "baseline", "tcl")
EPOCHS = 20
DATA = {
    "cifar10": (0.5, "CIFAR-10, 10,000 images, symmetric 50 %"),
    "fashion": (0.8, "Fashion-MNIST, 10,000 images, symmetric 80 %"),
}
COLUMNS = {
    "test accuracy %": ("test_accuracy_last5_mean", 100, 1),
    "k-NN %": ("knn_accuracy", 100, 1),
    "AUROC": ("detection_auroc", 1, 4),
    "average precision": ("detection_average_precision", 1, 4),
    "noise: estimated": ("noise_rate_estimate", 1, 3),
    "actual": ("noise_rate_actual", 1, 3),
}


def cell(name: str, method: str, seed: int, epochs: int, path: str | None = None) -> Cell:
    """The training; it can be found, if not trained, without a path."""
    settings: dict[str, Any] = {
        "method": method,
        "seed": seed,
        "data.limit": 10_000,
        "noise.type": "symmetric",
        "noise.rate": DATA[name][0],
        "model.name": "small",
        "augment.name": "natural",
        "optim.epochs": epochs,
    }
    return Cell("images", f"{name}-{method}-seed{seed}", settings, places={"data.path": path} if path else {})


def render(epochs: int) -> str:
    """The table of all cells that have been run."""
    lines = [f"# TCL and cross-entropy on real images, {epochs} epochs ({datetime.now(UTC):%Y-%m-%d})", ""]
    lines += [
        "Command: `python -m benchmarks.images --cifar10 FOLDER --fashion FOLDER`; details in `images/*.json`.",
        "",
    ]
    lines += ["| " + " | ".join(["data", "method", *COLUMNS]) + " |", "| --- " * (len(COLUMNS) + 2) + "|"]
    for name, (_, title) in DATA.items():
        for method in METHODS:
            known = [found for seed in range(10) if (found := find_result(cell(name, method, seed, epochs)))]
            values = [
                spread([scale * one["summary"][key] for one in known], digits)
                for key, scale, digits in COLUMNS.values()
            ]
            if known:
                lines.append("| " + " | ".join([title, method, *values]) + " |")
    return "\n".join(lines) + "\n"


@plain_ending()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", help="folder of CIFAR-10")
    parser.add_argument("--fashion", help="folder of Fashion-MNIST")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="the page is of %(default)s")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    paths = {name: path for name in DATA if (path := getattr(arguments, name))}
    if not paths:
        parser.error("say where images are: --cifar10 FOLDER, --fashion FOLDER")
    run_cells(
        [
            cell(name, method, seed, arguments.epochs, path)
            for name, path in paths.items()
            for seed in arguments.seeds
            for method in METHODS
        ],
        arguments.processes,
    )
    text = render(arguments.epochs)
    if arguments.epochs == EPOCHS:
        write_text(RESULTS / "images.md", text)
    print(text)


if __name__ == "__main__":
    main()
