"""Measure the choices on which paper, released code and common sense differ, on scikit-learn's digits.

    python -m benchmarks.ablation --processes 2

Each variant changes one thing of the preset `default`; three seeds with different noise at 50 and 80 % symmetric noise.
Test accuracy is the mean of the last five epochs.
"""

import argparse
import json
import re
from datetime import UTC, datetime
from typing import Any

from benchmarks.cells import RESULTS, Cell, plain_ending, run_cells
from benchmarks.choices import CHOICES
from benchmarks.over_seeds import spread
from benchmarks.paper.variants import ABLATIONS
from twincl.files import write_text

EPOCHS = 30
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    **CHOICES,
    "a third of all epochs on given labels": {"tcl.label_epochs": EPOCHS // 3},
    "half of all epochs on given labels": {"tcl.label_epochs": EPOCHS // 2},
    "E-step every 4 epochs": {"tcl.update_every": 4},
    "baseline (Table 4, i)": {"method": "baseline"},
    "loss, targets before mixup (Table 4, ii)": ABLATIONS["detector loss"].settings,
    "k-NN, targets before mixup (Table 4, ii)": ABLATIONS["detector knn"].settings,
    "OOD, targets before mixup (Table 4, ii)": ABLATIONS["detector ood"].settings,
    "temporal ensemble (Table 4, iii)": ABLATIONS["temporal ensembling"].settings,
    "without regularisation (Table 4, iv)": ABLATIONS["without regulariser"].settings,
    "without alignment (Table 4, v)": ABLATIONS["without alignment"].settings,
    "MoCo (Table 4, vi)": ABLATIONS["moco"].settings,
    "cross-entropy": {"method": "cross-entropy"},
    "mixup": {"method": "mixup"},
}


def cell(variant: str, rate: float, seed: int, epochs: int) -> Cell:
    settings = {
        "data.path": "digits",
        "noise.type": "symmetric",
        "noise.rate": rate,
        "seed": seed,
        "optim.epochs": epochs,
        **VARIANTS[variant],
    }
    slug = re.sub("[^a-z0-9]+", "-", variant.partition(" (")[0].lower()).strip("-")
    return Cell("digits-ablation", f"{slug}-{round(100 * rate)}-seed{seed}", settings)


def render(rates: list[float], epochs: int) -> str:
    """The table of all cells that have been run."""
    lines = [f"# Ablation on digits, {epochs} epochs ({datetime.now(UTC):%Y-%m-%d})", ""]
    lines += [
        "Command: `python -m benchmarks.ablation`; each run with its machine and settings in `digits-ablation/*.json`."
    ]
    lines += [
        "Mean ± standard deviation over seeds (their number), test accuracy in % as the mean of the last five epochs.",
        "",
    ]
    heads = [f"{100 * rate:.0f} % {what}" for rate in rates for what in ("accuracy", "AUROC", "AUROC of w")]
    lines += ["| variant | " + " | ".join(heads) + " |", "| --- " * (len(heads) + 1) + "|"]
    for variant in VARIANTS:
        row = [variant]
        for rate in rates:
            cells = [cell(variant, rate, seed, epochs) for seed in range(10)]
            results = [json.loads(one.file.read_text()) for one in cells if one.file.is_file()]
            found = [one["summary"] for one in results]
            row += [
                spread([100 * one["test_accuracy_last5_mean"] for one in found], 2),
                spread([one["detection_auroc"] for one in found], 4),
                spread([_auroc_of_w(one) for one in results], 4),
            ]
        if any(row[1:]):
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


def _auroc_of_w(result: dict[str, Any]) -> float:
    """That of the last epoch; the first cells kept it in their summary."""
    kept = result["summary"].get("detection_auroc_w")
    return float(result["curves"]["detection_auroc_w"][-1] if kept is None else kept)


@plain_ending()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--rates", nargs="*", type=float, default=[0.5, 0.8])
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="the page is of %(default)s")
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    # Seed by seed, so that a look at half of the cells is a look at every variant.
    run_cells(
        [
            cell(variant, rate, seed, arguments.epochs)
            for seed in arguments.seeds
            for rate in arguments.rates
            for variant in arguments.variants
        ],
        arguments.processes,
    )
    text = render([0.5, 0.8], arguments.epochs)
    if arguments.epochs == EPOCHS:
        write_text(RESULTS / "digits-ablation.md", text)
    print(text)


if __name__ == "__main__":
    main()
