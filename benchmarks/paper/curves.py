"""What happens over the epochs: accuracy of the methods, AUC of the detectors."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from benchmarks.paper.measured import Measured, measured
from benchmarks.paper.tables import Scale, Table
from twincl.report.theme import PALETTE, Plot, Theme

COLOURS = tuple(PALETTE[number] for number in (0, 6, 4, 3, 2, 1, 8))


def accuracy_curves(scale: Scale, tables: Mapping[str, Table]) -> Plot | None:
    """Test accuracy of every method."""
    table = tables["cifar"]
    rows = [*table.rows, next(row for row in tables["ablation"].rows if row.variant == "baseline")]
    panels = {
        column.title: {row.title: measured(scale, table, row, column) for row in rows}
        for column in table.columns
        if column.rate in (50, 90)
    }
    return curve_plot(panels, "test_accuracy", "test accuracy", percent=True)


def detector_curves(scale: Scale, tables: Mapping[str, Table]) -> Plot | None:
    """AUC of the score that each detector fits its two components to."""
    table = tables["ablation"]
    rows = [row for row in table.rows if row.variant.startswith("detector ") and row.paper]
    panels = {
        column.title: {row.title: measured(scale, table, row, column) for row in rows} for column in table.columns
    }
    return curve_plot(panels, "detection_auroc_score", "AUC", percent=False)


def curve_plot(panels: Mapping[str, Mapping[str, Measured]], key: str, unit: str, *, percent: bool) -> Plot | None:
    """A panel each, a line a row; None where there is nothing to show."""
    known = {title: lines for title, lines in panels.items() if any(run.curves(key) for run in lines.values())}
    names = list(dict.fromkeys(name for lines in known.values() for name, run in lines.items() if run.curves(key)))
    if not known:
        return None

    def draw(figure: Figure, theme: Theme) -> None:
        axes: list[Axes] = list(figure.subplots(1, len(known), sharey=True, squeeze=False)[0])
        for one, (title, lines) in zip(axes, known.items(), strict=True):
            one.set_title(title)
            for name, run in lines.items():
                if run.curves(key):
                    _draw(one, run.curves(key), COLOURS[names.index(name) % len(COLOURS)], name)
            one.set_xlabel("epoch")
            one.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
            one.grid(axis="y")
        axes[0].set_ylabel(unit)
        if percent:
            axes[0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        handles = {name: line for one in axes for line, name in zip(*one.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(4, len(names)))

    return Plot(draw, (1 + 3.1 * len(known), 3.5))


def _draw(axes: Axes, curves: list[list[float | None]], colour: str, name: str) -> None:
    """The mean of the runs, and a band from the lowest to the highest; epochs without an E-step are passed over."""
    values = np.array([[np.nan if value is None else value for value in curve] for curve in curves])
    epochs = 1 + np.flatnonzero(~np.isnan(values).any(0))
    values = values[:, epochs - 1]
    axes.plot(epochs, values.mean(0), color=colour, label=name, marker="o" if len(epochs) < 3 else None)
    axes.fill_between(epochs, values.min(0), values.max(0), color=colour, alpha=0.15, linewidth=0)
