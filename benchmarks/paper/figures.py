"""The paper's figures, drawn from what has been run; a figure whose runs are missing is left out and said so."""

from collections.abc import Mapping

from benchmarks import cells
from benchmarks.paper.bars import hyper_bars, imbalance_bars
from benchmarks.paper.curves import accuracy_curves, detector_curves
from benchmarks.paper.maps import posterior_histogram, predicted_map, training_map
from benchmarks.paper.representations import look_at
from benchmarks.paper.tables import NOWHERE, Column, Scale, Table, cell
from twincl.report.theme import LIGHT, Plot
from twincl.results.folder import SUMMARY

MAPPED = (Column("cifar10", "symmetric", 90), Column("cifar10", "symmetric", 50))  # the paper shows the first


def draw_figures(scale: Scale, tables: Mapping[str, Table], at: Mapping[str, str | None] = NOWHERE) -> None:
    """Write every figure that can be drawn as PNG."""
    folder = cells.RESULTS / f"paper-{scale.name}" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    plots: dict[str, Plot | None] = {}
    for column in MAPPED:
        plots |= qualitative(scale, column, at)
    plots |= {
        "accuracy-over-epochs": accuracy_curves(scale, tables),
        "detectors-over-epochs": detector_curves(scale, tables),
        "hyper-parameters": hyper_bars(scale, tables["hyper"]),
        "imbalance": imbalance_bars(scale, tables["cifar"]),
    }
    for name, plot in plots.items():
        if plot:
            (folder / f"{name}.png").write_bytes(plot.png(LIGHT))
        print(f"{name}: " + (f"{folder.name}/{name}.png" if plot else "its runs are missing"), flush=True)


def qualitative(scale: Scale, column: Column, at: Mapping[str, str | None]) -> dict[str, Plot | None]:
    """Both maps and the histogram of the first run of TCL in a column, if its folder is still there."""
    names = [f"{name}-{column.key}" for name in ("test-map", "training-map", "posterior")]
    folder = cell(scale, "cifar", "tcl", column, 0).run_folder
    if not (folder / SUMMARY).is_file():
        return dict.fromkeys(names)
    found = look_at(folder, at.get(column.data))
    return dict(zip(names, (predicted_map(found), training_map(found), posterior_histogram(found)), strict=True))
