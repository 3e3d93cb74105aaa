"""A table as a picture: a panel a column, a point a row, the paper's number as a hollow diamond."""

from statistics import mean, stdev
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.paper.measured import measured
from benchmarks.paper.published import PUBLISHED
from benchmarks.paper.tables import Scale, Table
from twincl.report.theme import Plot, Theme

PANELS = 6  # side by side


class Point(NamedTuple):
    """A row in a panel."""

    row: str
    ours: list[float]  # a run each
    paper: float | None


def table_points(scale: Scale, table: Table) -> dict[str, list[Point]]:
    """The points of every column in which something was run."""
    printed = PUBLISHED.get(table.name)
    panels = {}
    for column in table.columns:
        points = [
            Point(
                row.title,
                measured(scale, table, row, column).values,
                printed.value(row.paper, column.key) if printed else None,
            )
            for row in table.rows
        ]
        if any(point.ours for point in points):
            panels[column.title] = points
    return panels


def point_plot(panels: dict[str, list[Point]], scale: str) -> Plot:
    """Draw them; error bars are one standard deviation over runs."""
    rows = list(dict.fromkeys(point.row for points in panels.values() for point in points if point.ours))
    across = min(PANELS, len(panels))
    down = -(-len(panels) // across)

    def draw(figure: Figure, theme: Theme) -> None:
        axes: list[Axes] = list(figure.subplots(down, across, sharey=True, squeeze=False).flat)
        for one, (title, points) in zip(axes, panels.items(), strict=False):
            one.set_title(title, fontsize=9)
            for point in points:
                if point.row in rows:
                    _draw_point(one, rows.index(point.row), point, theme)
            one.set_yticks(range(len(rows)), rows, color=theme.ink)
            one.set_ylim(len(rows) - 0.4, -0.6)
            one.grid(axis="both")
            one.tick_params(length=0)
            one.margins(x=0.12)
            one.set_xlabel("accuracy in %")
        for unused in axes[len(panels) :]:
            unused.set_visible(False)
        kinds = [_mark(theme.trusted, "o", theme.trusted, f"ours, scale {scale}, ± one deviation over runs")]
        if any(point.paper is not None for points in panels.values() for point in points):
            kinds.append(_mark(theme.paper, "D", theme.suspect, "the paper, at its own scale"))
        figure.legend(handles=kinds, loc="outside lower left", ncols=1 if across < 3 else 2)

    return Plot(draw, (2.2 + 1.9 * across, 1.1 + down * (0.6 + 0.27 * len(rows))))


def _draw_point(axes: Axes, place: int, point: Point, theme: Theme) -> None:
    if point.ours:
        deviation = stdev(point.ours) if len(point.ours) > 1 else None
        style: dict[str, Any] = {"color": theme.trusted, "markersize": 5, "elinewidth": 1.2, "capsize": 2.5}
        axes.errorbar(mean(point.ours), place, xerr=deviation, fmt="o", **style)
    if point.paper is not None:
        axes.plot(point.paper, place, "D", color=theme.paper, markeredgecolor=theme.suspect, markersize=5)


def _mark(colour: str, marker: str, edge: str, label: str) -> Line2D:
    return Line2D([], [], color=colour, marker=marker, markeredgecolor=edge, linestyle="", markersize=5, label=label)
