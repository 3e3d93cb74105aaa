"""The paper's figures, drawn from what has been run, and the page that shows them.

A figure whose runs are missing is left as it was, or out, and said so.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import cells
from benchmarks.paper.bars import hyper_bars, imbalance_bars
from benchmarks.paper.curves import accuracy_curves, detector_curves
from benchmarks.paper.maps import posterior_histogram, predicted_map, training_map
from benchmarks.paper.representations import look_at
from benchmarks.paper.tables import NOWHERE, Column, Scale, Table, cell
from twincl.files import write_bytes, write_text
from twincl.report.theme import LIGHT, Plot
from twincl.results.folder import SUMMARY

MAPPED = (Column("cifar10", "symmetric", 90), Column("cifar10", "symmetric", 50))  # the paper shows the first
QUALITATIVE = {
    "test-map": "t-SNE of the representations of test images, coloured by the class that TCL predicts",
    "training-map": "t-SNE of training images, coloured by their true class; a cross has a wrong label",
    "posterior": "posterior of the given label (Eq. 7) after the last epoch, of right and wrong labels",
}
CAPTIONS = {
    "accuracy-over-epochs": "test accuracy over training: mean of the runs, from the lowest to the highest",
    "detectors-over-epochs": "AUC of ranking wrong labels first, by the score of each detector in its own training",
    "hyper-parameters": "test accuracy over the temperature, and over the epochs from one E-step to the next",
    "imbalance": "imbalance r, the largest class over the smallest: of all labels and of what is taken for clean",
}


def draw_figures(scale: Scale, tables: Mapping[str, Table], at: Mapping[str, str | None] = NOWHERE) -> None:
    """Write every figure that can be drawn as PNG, and a page with all of them."""
    folder = cells.RESULTS / f"paper-{scale.name}" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    plots: dict[str, Plot | None] = {}
    for column in MAPPED:
        plots |= qualitative(scale, column, at)
    plots |= from_results(scale, tables)
    for name, plot in plots.items():
        if plot:
            write_bytes(folder / f"{name}.png", plot.png(LIGHT))
        print(f"{name}: " + (f"{folder.name}/{name}.png" if plot else "its runs are missing"), flush=True)
    write_text(folder.parent / "figures.md", page(scale, folder))


def from_results(scale: Scale, tables: Mapping[str, Table]) -> dict[str, Plot | None]:
    """The figures that need no run, only what is kept of it."""
    return {
        "accuracy-over-epochs": accuracy_curves(scale, tables),
        "detectors-over-epochs": detector_curves(scale, tables),
        "hyper-parameters": hyper_bars(scale, tables["hyper"]),
        "imbalance": imbalance_bars(scale, tables["cifar"]),
    }


def page(scale: Scale, folder: Path) -> str:
    """Markdown of the figures that are there."""
    captions = {
        f"{name}-{column.key}": f"{column.title}, seed 0: {words}"
        for column in MAPPED
        for name, words in QUALITATIVE.items()
    }
    lines = [
        f"# Figures, scale {scale.name} ({datetime.now(UTC):%Y-%m-%d})",
        "",
        f"Scale {scale.name}: {scale.words}.",
        f"Command: `python -m benchmarks.paper --figures --scale {scale.name} --data FOLDER`, after the tables.",
        "",
    ]
    for name, words in (captions | CAPTIONS).items():
        if (folder / f"{name}.png").is_file():
            lines += [f"![{words}]({folder.name}/{name}.png)", "", f"{words[0].upper()}{words[1:]}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def qualitative(scale: Scale, column: Column, at: Mapping[str, str | None]) -> dict[str, Plot | None]:
    """Both maps and the histogram of the first run of TCL in a column, if its folder is still there."""
    names = [f"{name}-{column.key}" for name in QUALITATIVE]
    folder = cell(scale, "cifar", "tcl", column, 0).run_folder
    if not (folder / SUMMARY).is_file():
        return dict.fromkeys(names)
    found = look_at(folder, at.get(column.data))
    return dict(zip(names, (predicted_map(found), training_map(found), posterior_histogram(found)), strict=True))
