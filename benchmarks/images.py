"""TCL beside plain cross-entropy on real images: the same data path, encoder and number of epochs.

    python -m benchmarks.images --cifar10 FOLDER --fashion FOLDER

CIFAR-10 (a folder with train.parquet and test.parquet, or the python batches), its first 10,000 training images,
50 % symmetric noise; Fashion-MNIST (the IDX files), its first 10,000, 80 %. Encoder `small`, 20 epochs, all test
images. Test accuracy is the mean of the last five epochs.
"""

import argparse
from datetime import UTC, datetime
from typing import Any

from benchmarks.ablation import spread
from benchmarks.cells import RESULTS, Cell, run_cells
from twincl.files import write_text

METHODS = ("cross-entropy", "tcl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", help="folder of CIFAR-10")
    parser.add_argument("--fashion", help="folder of Fashion-MNIST")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    data = {
        "cifar10": (arguments.cifar10, 0.5, "CIFAR-10, 10,000 images, symmetric 50 %"),
        "fashion": (arguments.fashion, 0.8, "Fashion-MNIST, 10,000 images, symmetric 80 %"),
    }

    def cell(name: str, method: str, seed: int) -> Cell:
        path, rate, _ = data[name]
        settings: dict[str, Any] = {
            "method": method,
            "seed": seed,
            "data.path": path,
            "data.limit": 10_000,
            "noise.type": "symmetric",
            "noise.rate": rate,
            "model.name": "small",
            "augment.name": "natural",
            "optim.epochs": arguments.epochs,
        }
        return Cell("images", f"{name}-{method}-seed{seed}", settings)

    names = [name for name, (path, _, _) in data.items() if path]
    if not names:
        parser.error("say where images are: --cifar10 FOLDER, --fashion FOLDER")
    cells = {(n, m, s): cell(n, m, s) for n in names for s in arguments.seeds for m in METHODS}
    found = run_cells(cells.values(), arguments.processes)
    lines = [f"# TCL and cross-entropy on real images ({datetime.now(UTC):%Y-%m-%d})", ""]
    lines += [
        "Command: `python -m benchmarks.images --cifar10 FOLDER --fashion FOLDER`; details in `images/*.json`.",
        "",
    ]
    columns = [
        "data",
        "method",
        "test accuracy %",
        "k-NN %",
        "AUROC",
        "average precision",
        "noise: estimated",
        "actual",
    ]
    lines += ["| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
    for name in names:
        for method in METHODS:
            results = [found[cells[name, method, seed].name]["summary"] for seed in arguments.seeds]
            row = [data[name][2], method]
            for key, scale, digits in (
                ("test_accuracy_last5_mean", 100, 1),
                ("knn_accuracy", 100, 1),
                ("detection_auroc", 1, 4),
                ("detection_average_precision", 1, 4),
                ("noise_rate_estimate", 1, 3),
                ("noise_rate_actual", 1, 3),
            ):
                row.append(spread([scale * one[key] for one in results], digits))
            lines.append("| " + " | ".join(row) + " |")
    text = "\n".join(lines) + "\n"
    write_text(RESULTS / "images.md", text)
    print(text)


if __name__ == "__main__":
    main()
