"""Bars: accuracy over the hyper-parameters, imbalance of what is taken for clean."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.paper.measured import measured
from benchmarks.paper.published import IMBALANCE
from benchmarks.paper.tables import Column, Row, Scale, Table
from twincl.report.theme import PALETTE, Plot, Theme

KINDS = {"given": "all given labels", "trusted": "w > 0.5", "unflagged": "not called an issue"}
APART = 0.27  # from one bar of a group to the next


def hyper_bars(scale: Scale, table: Table) -> Plot | None:
    """Accuracy over temperature and epochs between E-steps; None where TCL itself is all there is."""
    column = table.columns[0]
    groups = {
        "temperature tau": _runs(scale, table, "tau ", column),
        "epochs from one E-step to the next": _runs(scale, table, "update every ", column),
    }
    if all(sum(map(bool, bars.values())) < 2 for bars in groups.values()):
        return None

    def draw(figure: Figure, theme: Theme) -> None:
        axes: list[Axes] = list(figure.subplots(1, len(groups), sharey=True))
        for one, (title, bars) in zip(axes, groups.items(), strict=True):
            _draw(one, list(bars.values()), range(len(bars)), theme.trusted, width=0.7, digits=1)
            one.set_xticks(range(len(bars)), list(bars), color=theme.ink)
            one.set_xlabel(title)
        axes[0].set_ylabel("test accuracy in %")
        axes[0].set_title(column.title)

    return Plot(draw, (7.2, 3.2))


def imbalance_bars(scale: Scale, table: Table) -> Plot | None:
    """Largest class over the smallest: of all given labels, and of what TCL takes for clean (appendix B)."""
    runs = {column: measured(scale, table, Row("tcl"), column) for column in table.columns}
    known = {column: run for column, run in runs.items() if run.results}
    if not known:
        return None

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.add_subplot()
        colours = (theme.muted, theme.trusted, PALETTE[1])
        for number, (kind, name) in enumerate(KINDS.items()):
            places = [place + APART * (number - 1) for place in range(len(known))]
            values = [run.said(kind, "imbalance") for run in known.values()]
            _draw(axes, values, places, colours[number], width=0.25, digits=2, label=name)
        for place, column in enumerate(known):
            if column.key == "cifar10-asymmetric40":
                at = [place - APART, place]
                label = "the paper, at its own scale"
                axes.plot(at, list(IMBALANCE.values()), "D", color=theme.paper, mec=theme.suspect, label=label)
        axes.set_xticks(range(len(known)), [column.title.replace(" ", "\n", 1) for column in known], color=theme.ink)
        axes.set_ylabel("largest class / smallest class")
        figure.legend(loc="outside lower left", ncols=4, columnspacing=1.2)

    return Plot(draw, (max(6.0, 1.2 + 1.5 * len(known)), 3.6))


def _runs(scale: Scale, table: Table, prefix: str, column: Column) -> dict[str, list[float]]:
    """Accuracies of the rows whose title begins with `prefix`, by the rest of it."""
    rows = [row for row in table.rows if row.title.startswith(prefix)]
    return {row.title.removeprefix(prefix): measured(scale, table, row, column).values for row in rows}


def _draw(
    axes: Axes,
    values: Sequence[list[float]],
    places: Sequence[float],
    colour: str,
    *,
    width: float,
    digits: int,
    label: str | None = None,
) -> None:
    """Means as bars with one deviation over runs, each with its number; nothing where there is no run."""
    axes.grid(axis="y")
    axes.tick_params(axis="x", length=0)
    for place, runs in zip(places, values, strict=True):
        if runs:
            if np.isinf(runs).any():
                axes.text(place, 0, "∞", ha="center", va="bottom", color=colour)
                continue
            height, deviation = float(np.mean(runs)), float(np.std(runs, ddof=1)) if len(runs) > 1 else 0.0
            thin = {"elinewidth": 1, "capsize": 2}
            axes.bar(place, height, width, color=colour, label=label, yerr=deviation or None, error_kw=thin)
            label = None  # said once
            above = (place, height + deviation)
            axes.annotate(f"{height:.{digits}f}", above, (0, 2), textcoords="offset points", ha="center", fontsize=7.5)
