"""Representations as pictures: t-SNE maps, and the histogram of the given label's posterior."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.paper.representations import Labels, Representations
from twincl.report.layout import lay_out
from twincl.report.theme import PALETTE, Plot, Theme

BINS = 100
POINTS = 10_000  # as in the paper
CROSS = "#8a9199"


def predicted_map(found: Representations) -> Plot | None:
    """Test images by the class that is predicted."""
    return _map(found.test, found.predicted, np.zeros(len(found.predicted), dtype=np.bool_), found.classes)


def training_map(found: Representations) -> Plot | None:
    """Training images by their true class; those whose given label is wrong are grey crosses."""
    return _map(found.train, found.truth, found.wrong, found.classes)


def posterior_histogram(found: Representations) -> Plot:
    """The posterior of the given label, of right labels and of wrong ones."""

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.add_subplot()
        edges = np.linspace(0, float(found.posterior.max()), BINS + 1).tolist()
        for chosen, colour, name in (
            (~found.wrong, theme.trusted, "right label"),
            (found.wrong, theme.suspect, "wrong label"),
        ):
            axes.hist(found.posterior[chosen], edges, alpha=0.6, color=colour, label=f"{name} ({chosen.sum():,})")
        axes.set(xlabel="posterior of the given label", ylabel="training images")
        axes.set_xlim(0, edges[-1])
        axes.grid(axis="y")
        axes.legend()

    return Plot(draw, (5.6, 3.2))


def _map(
    embeddings: NDArray[np.float32], labels: Labels, crossed: NDArray[np.bool_], classes: Sequence[str]
) -> Plot | None:
    layout = lay_out(embeddings, seed=0, limit=POINTS)
    if layout is None:
        return None
    x, y = layout.points.T
    label, cross = labels[layout.rows], crossed[layout.rows]

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.add_subplot()
        size = float(np.clip(18000 / len(x), 5, 24))
        for number, name in enumerate(classes):
            here = (label == number) & ~cross
            axes.scatter(x[here], y[here], s=size, color=PALETTE[number % len(PALETTE)], linewidths=0, label=name)
        if cross.any():
            axes.scatter(
                *(x[cross], y[cross]),
                s=2 * size,
                color=CROSS,
                marker="+",
                linewidths=0.6,
                zorder=0.5,
                label="wrong label",
            )
        axes.set_axis_off()
        axes.margins(0.02)
        figure.legend(loc="outside lower center", ncols=6, markerscale=1.6, handletextpad=0.2, columnspacing=1.2)

    return Plot(draw, (5.6, 5.9))
