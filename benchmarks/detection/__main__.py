"""Finding wrong labels: twincl beside cleanlab.

    python -m benchmarks.detection --fashion FOLDER --cifar10 FOLDER/train.parquet --cifar10n FOLDER/cifar10n_labels.csv

cleanlab ranks by self-confidence and by normalised margin from five folds of cross-entropy: the same encoder, views and
number of epochs in each fold; on embeddings logistic regression. Every cell is one process with one thread, kept as
JSON in `benchmarks/results/detection`, finished folds in `runs/detection`; what was stopped goes on with what is
missing. True labels are seen by the comparison alone. CIFAR-10N labels are a table with the columns random_label1,
aggre_label, clean_label.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

from benchmarks.cells import RESULTS
from benchmarks.detection.cell import cell_file, run_cell
from benchmarks.detection.rivals import RIVALS
from benchmarks.detection.rows import Row, digits_rows, fashion_rows, human_rows
from twincl.files import write_text

COLUMNS = (
    ("AUROC", "detection_auroc", "auroc_self_confidence", "auroc_normalized_margin"),
    ("average precision", "detection_average_precision", "average_precision_self_confidence", None),
    ("precision", "issue_precision", "issue_precision", None),
    ("recall", "issue_recall", "issue_recall", None),
    ("labels right after correction", "corrected_label_accuracy", "corrected_label_accuracy", None),
)


def main() -> None:
    """Run what is missing and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fashion", type=Path, help="folder of Fashion-MNIST")
    parser.add_argument("--cifar10", type=Path, help="training images of CIFAR-10")
    parser.add_argument("--cifar10n", type=Path, help="table of human labels")
    parser.add_argument("--only", default="", help="rows whose name begins like this")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--render", action="store_true", help="train nothing, write the table")
    arguments = parser.parse_args()
    nowhere = Path()
    digits = digits_rows()
    fashion = fashion_rows(arguments.fashion or nowhere)
    human = human_rows(arguments.cifar10 or nowhere, arguments.cifar10n or nowhere)
    rows = [*digits, *fashion, *human]
    possible = digits + (fashion if arguments.fashion else [])
    possible += human if arguments.cifar10 and arguments.cifar10n else []

    missing = [
        (row, rival)
        for row in ([] if arguments.render else possible)
        for rival in RIVALS
        if row.name.startswith(arguments.only) and not cell_file(row.name, rival, arguments.seed).is_file()
    ]
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run_cell, row, rival, arguments.seed): (row, rival) for row, rival in missing}
        for future in as_completed(futures):
            row, rival = futures[future]
            print(f"{row.name} {rival}: {future.result()['figures']['seconds']:.0f} s", flush=True)
    text = _table(rows, arguments.seed)
    write_text(RESULTS / "detection.md", text)
    print(text)


def _table(rows: list[Row], seed: int) -> str:
    """Markdown: every row that both rivals have finished."""
    heads = ["data", "wrong"]
    for title, _, _, margin in COLUMNS:
        heads += [f"{title}: twincl", "cleanlab"] + (["cleanlab, margin"] if margin else [])
    heads += ["calibration error: twincl", "processor seconds: twincl", "cleanlab"]
    lines = [
        f"# Finding wrong labels: twincl and cleanlab ({datetime.now(UTC):%Y-%m-%d})",
        "",
        "Command: `python -m benchmarks.detection`; what is compared is said in its help. One seed; every cell with",
        "its machine, date and settings in `detection/*.json`. Seconds are of the processor, one thread.",
        "",
        "| " + " | ".join(heads) + " |",
        "| --- " * len(heads) + "|",
    ]
    for row in rows:
        found = [cell_file(row.name, rival, seed) for rival in RIVALS]
        if all(file.is_file() for file in found):
            ours, theirs = (json.loads(file.read_text())["figures"] for file in found)
            cells = [row.title, f"{ours['noise_rate_actual']:.1%}"]
            for _, own, other, margin in COLUMNS:
                cells += [_number(ours[own]), _number(theirs[other])] + ([_number(theirs[margin])] if margin else [])
            cells += [_number(ours["suggestion_calibration_error"])]
            cells += [_seconds(ours["processor_seconds"]), _seconds(theirs["processor_seconds"])]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


if __name__ == "__main__":
    main()
