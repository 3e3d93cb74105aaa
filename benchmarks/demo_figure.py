"""Draw the picture of the README from the two runs of the demo.

twincl demo --output runs/demo && python -m benchmarks.demo_figure runs/demo docs/images/demo.png
"""

import argparse
import json
from pathlib import Path

import matplotlib
import pandas as pd
import torch

from twincl.config import build_config
from twincl.files import atomic_path
from twincl.runs.prepare import prepare

BLUE, ORANGE, GREY = "#2563a8", "#d9622b", "#8a8f98"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, help="folder with the runs tcl and cross-entropy")
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")

    for method, label, colour in (("tcl", "TCL", BLUE), ("cross-entropy", "cross-entropy", GREY)):
        lines = (arguments.demo / method / "metrics.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        left.plot([r["epoch"] for r in records], [100 * r["test_accuracy"] for r in records], color=colour, lw=2)
        last = records[-1]
        left.annotate(
            label, (last["epoch"], 100 * last["test_accuracy"]), (6, -3), textcoords="offset points", color=colour
        )
    rate = records[-1]["noise_rate_actual"]
    left.set(xlabel="epoch", ylabel="test accuracy, %", title=f"Learning from labels of which {rate:.0%} are wrong")
    left.set_xlim(0, last["epoch"] * 1.25)
    left.grid(axis="y", alpha=0.25)

    config = build_config(file=arguments.demo / "tcl" / "config.yaml", settings={})
    data = prepare(config, torch.device("cpu"))
    assert data.evaluation.truth is not None
    wrong = data.train.labels != data.evaluation.truth
    quality = pd.read_csv(arguments.demo / "tcl" / "label_issues.csv").set_index("index")["label_quality"].sort_index()
    bins = [i / 50 for i in range(51)]
    right.hist(quality[~wrong], bins=bins, color=BLUE, alpha=0.75, label="right labels")
    right.hist(quality[wrong], bins=bins, color=ORANGE, alpha=0.75, label="wrong labels")
    right.set(xlabel="label quality (probability of the given label)", ylabel="training images", yscale="log")
    right.set_title("Telling right labels from wrong ones")
    right.legend(frameon=False, loc="upper center")

    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(arguments.picture) as temporary:
        figure.savefig(temporary, dpi=150)
    print(arguments.picture)


if __name__ == "__main__":
    main()
