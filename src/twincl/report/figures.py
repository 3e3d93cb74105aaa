"""The figures: each function returns a plot that can be rendered for a light page and for a dark one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps, patheffects
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from twincl.report.classes import ClassNoise
from twincl.report.layout import Layout
from twincl.report.names import shortened
from twincl.report.posterior import Posterior
from twincl.report.theme import PALETTE, Plot, Theme

WIDTH = 5.6  # inches, of every figure
_TICKS = (
    0.5,
    0.1,
    0.9,
    0.01,
    0.99,
    1e-4,
    0.9999,
    1e-6,
    1 - 1e-6,
    0.25,
    0.75,
    0.001,
    0.999,
    0.03,
    0.97,
)  # dearest first
_LETTERS = 18  # of a class name


def noise_by_class(classes: Sequence[ClassNoise]) -> Plot:
    """Horizontal bars: share flagged of each given label."""

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.add_subplot()
        places = np.arange(len(classes))
        axes.barh(places, [one.share for one in classes], color=theme.suspect, height=0.7)
        for place, one in zip(places, classes, strict=True):
            text = f"{one.share:.0%}  ({one.flagged} of {one.images})"
            axes.annotate(text, (one.share, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(places, [shortened(one.name, _LETTERS) for one in classes], color=theme.ink)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.3 * max([one.share for one in classes if one.share] or [1]))
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(length=0)
        axes.set_title("Labels that look wrong, by given label")

    return Plot(draw, (WIDTH, 0.8 + 0.25 * len(classes)))


def transitions(matrix: NDArray[np.int64], totals: NDArray[np.int64], names: Sequence[str]) -> Plot:
    """Heat map of given label (row) against suggested label (column); `totals` (K,) are all images of each row."""

    def draw(figure: Figure, theme: Theme) -> None:
        share = matrix / np.maximum(totals, 1)[:, None]
        np.fill_diagonal(share, np.nan)
        colours = colormaps["Oranges"].with_extremes(bad=theme.grid)
        axes = figure.add_subplot()
        axes.imshow(share, cmap=colours, vmin=0, vmax=max(float(np.nanmax(share, initial=0)), 1e-9))
        places = np.arange(len(names))
        shown = [shortened(name, _LETTERS) for name in names]
        upright = max(map(len, shown)) <= 2
        axes.set_xticks(places, shown, rotation=0 if upright else 90, color=theme.ink)
        axes.set_yticks(places, shown, color=theme.ink)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set(xlabel="suggested label", ylabel="given label")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        strongest = max(float(np.nanmax(share, initial=0)), 1e-9)
        for i, j in zip(*np.nonzero(matrix), strict=True):
            part = 0.0 if i == j else share[i, j] / strongest
            colour = theme.muted if i == j else _readable(colours(part))
            axes.text(j, i, f"{matrix[i, j]}", ha="center", va="center", fontsize=7, color=colour)

    return Plot(draw, (WIDTH, WIDTH))


def label_quality(found: Posterior) -> Plot:
    """Histogram over the log-odds, suspect labels on top, with the two fitted components and the cut."""

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.add_subplot()
        edges = np.linspace(found.log_odds.min() - 0.1, found.log_odds.max() + 0.1, 61)
        parts = [found.log_odds[~found.flagged], found.log_odds[found.flagged]]
        names = ["label looks right", "label looks wrong"]
        heights, _, _ = axes.hist(
            parts, edges.tolist(), stacked=True, color=[theme.trusted, theme.suspect], label=names
        )
        tallest = float(np.max(heights))
        fit = found.fit
        if fit.means and fit.deviations and fit.weights:
            where = np.linspace(edges[0], edges[-1], 500)
            scale = len(found.log_odds) * (edges[1] - edges[0])
            for mean, deviation, weight in zip(fit.means, fit.deviations, fit.weights, strict=True):
                curve = scale * weight * _normal(where, mean, deviation)
                axes.plot(where, curve, color=theme.ink, linewidth=1.3)
            axes.plot([], [], color=theme.ink, linewidth=1.3, label="the two groups, fitted")
        if found.cut is not None:
            axes.axvline(found.cut, color=theme.ink, linestyle=(0, (4, 3)), linewidth=1.1, label="line between them")
        axes.set_ylim(0, 1.08 * tallest)
        axes.set_xlim(edges[0], edges[-1])
        axes.set_xticks(*_probability_ticks(edges[0], edges[-1]))
        axes.set(xlabel="probability of the given label", ylabel="labels")
        axes.grid(axis="y")
        figure.legend(loc="outside upper left", ncols=2)

    return Plot(draw, (WIDTH, 3.5))


def representation_map(
    layout: Layout, given: NDArray[np.int64], flagged: NDArray[np.bool_], classes: Sequence[str], named: Sequence[int]
) -> Plot:
    """The map, a dot an image in the colour of its given label, suspects ringed, the `named` classes written on it.

    `given` and `flagged` are of all N images.
    """
    labels, suspects = given[layout.rows], flagged[layout.rows]
    colour = class_colours(given, len(classes))

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.add_subplot()
        colours = [colour[label] for label in labels]
        size = float(np.clip(18000 / len(labels), 7, 30))
        x, y = layout.points.T
        axes.scatter(x, y, s=size, c=colours, linewidths=0)
        axes.scatter(x[suspects], y[suspects], s=2 * size, facecolors="none", edgecolors=theme.ink, linewidths=0.6)
        halo = [patheffects.withStroke(linewidth=3, foreground=theme.paper)]
        for label in named:
            members = layout.points[(labels == label) & ~suspects]
            if len(members):
                centre_x, centre_y = np.median(members, axis=0)
                name = shortened(classes[label], _LETTERS)
                axes.text(
                    centre_x,
                    centre_y,
                    name,
                    ha="center",
                    va="center",
                    fontsize=11,
                    fontweight="bold",
                    path_effects=halo,
                )
        axes.margins(0.04)
        axes.set_axis_off()

    return Plot(draw, (WIDTH, WIDTH))


def class_colours(given: NDArray[np.int64], num_classes: int) -> list[str]:
    """A colour a class: in their order where there are enough, else repeated from the most frequent class on."""
    counts = np.bincount(given, minlength=num_classes)
    order = np.argsort(-counts, kind="stable") if num_classes > len(PALETTE) else np.arange(num_classes)
    ranks = np.argsort(order, kind="stable")
    return [PALETTE[rank % len(PALETTE)] for rank in ranks]


def curves(metrics: Sequence[Mapping[str, Any]], series: Mapping[str, str], title: str, *, percent: bool) -> Plot:
    """Lines over epochs: `series` maps the key of a metric to its name; the first is drawn in ink."""

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.add_subplot()
        colours = (theme.ink, theme.trusted, theme.suspect, *PALETTE[1:])
        marker = "o" if len(metrics) < 3 else None
        for number, (key, name) in enumerate(series.items()):
            known = [(record["epoch"], record[key]) for record in metrics if record.get(key) is not None]
            axes.plot(*zip(*known, strict=True), color=colours[number % len(colours)], label=name, marker=marker)
        axes.set_title(title)
        axes.set_xlabel("epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        if percent:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.grid(axis="y")
        if len(series) > 1:
            figure.legend(loc="outside lower left", ncols=3 if len(series) > 4 else 2)

    return Plot(draw, (WIDTH, 3.6))


def _normal(x: NDArray[np.float64], mean: float, deviation: float) -> NDArray[np.float64]:
    return np.asarray(np.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * np.sqrt(2 * np.pi)))


def _probability_ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Places on an axis of log-odds and the round probabilities there, as many as do not crowd each other."""
    ticks: dict[float, str] = {}
    for probability in _TICKS:
        place = float(np.log(probability) - np.log1p(-probability))
        if low <= place <= high and all(abs(place - other) > (high - low) / 9 for other in ticks):
            ticks[place] = f"{probability:.6f}".rstrip("0")
    return list(ticks), list(ticks.values())


def _readable(colour: tuple[float, float, float, float]) -> str:
    """Black or white, whichever stands out from the colour."""
    red, green, blue, _ = colour
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"
