"""The page: one HTML file that needs nothing beside it, no network and no script."""

import base64
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import NamedTuple

import jinja2
import numpy as np
from PIL import Image

from twincl import __version__
from twincl.report import figures
from twincl.report.classes import Labels, most_confused, noise_by_class, top_confusions, transitions
from twincl.report.duplicates import Group
from twincl.report.headline import accuracy_on_test, against_truth, headline, percent
from twincl.report.layout import lay_out
from twincl.report.names import shown
from twincl.report.posterior import posterior
from twincl.report.suspects import most_suspect, with_neighbours
from twincl.report.theme import DARK, LIGHT, PALETTE, Plot
from twincl.report.training import training_curves
from twincl.results.finished import FinishedRun
from twincl.results.judgement import noise_rate
from twincl.results.settings import flatten

SUSPECTS, CLASSES, MATRIX, CONFUSIONS, GROUPS, MEMBERS = 40, 30, 20, 25, 20, 6  # shown at most
_ENLARGED = 64  # images with a longer side below this are enlarged without smoothing

Thumbnail = Callable[[int], bytes | None]


@dataclass(frozen=True)
class Sources:
    """What the report takes from the data themselves, beside the run."""

    thumbnail: Thumbnail  # encoded picture of a row of the run's table, None where there is none
    missing: str | None  # why there are no pictures, in a sentence
    duplicates: list[Group] | None  # rows of the run's table
    unchecked: str | None  # why duplicates were not looked for, in a sentence


class Report(NamedTuple):
    """What is to be written."""

    html: str
    figures: dict[str, bytes]  # PNG by file name


class Shot(NamedTuple):
    """A picture inside the page."""

    uri: str
    pixelated: bool


def compose(run: FinishedRun, sources: Sources) -> Report:
    """Compute, draw and write everything that the report shows."""
    given, suggested = run.class_numbers("given_label"), run.class_numbers("suggested_label")
    flagged = run.table["is_label_issue"].to_numpy(dtype=np.bool_)
    quality = run.table["label_quality"].to_numpy(dtype=np.float64)
    count = len(run.classes)

    by_class = noise_by_class(given, flagged, run.classes)
    matrix = transitions(given, suggested, count)
    chosen = most_confused(matrix, MATRIX)
    names = [run.classes[k] for k in chosen]
    found = posterior(quality, flagged)
    rows = most_suspect(quality, flagged, SUSPECTS)
    layout = lay_out(run.embeddings, seed=int(run.config.get("seed", 0)))
    frequent = np.argsort(-np.bincount(given, minlength=count), kind="stable")[: len(PALETTE)].tolist()

    small = matrix[np.ix_(chosen, chosen)]
    plots: dict[str, Plot] = {
        "noise_by_class": figures.noise_by_class(by_class[:CLASSES]),
        "transitions": figures.transitions(small, matrix.sum(1)[chosen], names),
        "label_quality": figures.label_quality(found),
    }
    if layout is not None:
        plots["map"] = figures.representation_map(layout, given, flagged, run.classes, frequent)
    plots |= training_curves(run.metrics)
    light = {name: plot.png(LIGHT) for name, plot in plots.items()}
    embedded = [name for name in plots if name not in ("noise_by_class", "transitions")]  # the page has tables of these
    dark = {name: plots[name].png(DARK) for name in embedded}

    html = (
        _environment()
        .get_template("report.html")
        .render(
            run=run,
            record=functools.cache(lambda row: run.table.iloc[[row]].to_dict("records")[0]),
            headline=headline(int(flagged.sum()), len(flagged)),
            flagged=int(flagged.sum()),
            estimate=noise_rate(run.table["clean_probability"].to_numpy(dtype=np.float64), flagged),
            held_out=int((run.table["split"] == "held_out").sum()),
            tested=accuracy_on_test(run.summary),
            truths=against_truth(run.summary),
            suspects=with_neighbours(rows, given, suggested, flagged, run.embeddings),
            by_class=by_class,
            classes_shown=CLASSES,
            matrix=list(_heat(matrix, chosen)),
            matrix_names=names,
            letters=max(len(shown(name)) for name in names),
            confusions=top_confusions(matrix, run.classes, CONFUSIONS),
            fit=found.fit,
            cut=found.cut,
            layout=layout,
            legend=_legend(run, given, frequent) if layout is not None else [],
            ringed=int(flagged[layout.rows].sum()) if layout is not None else 0,
            curves=[name for name in plots if name.startswith("training_")],
            figures={name: (_uri(light[name], "png"), _uri(dark[name], "png")) for name in embedded},
            width=round(100 * figures.WIDTH),
            heights={name: round(100 * plot.size[1]) for name, plot in plots.items()},
            sources=sources,
            groups_shown=GROUPS,
            members_shown=MEMBERS,
            shot=_shots(sources.thumbnail),
            settings=flatten(run.config),
            version=__version__,
            written=datetime.now(UTC),
        )
    )
    return Report(html, {f"{name}.png": png for name, png in light.items()})


def _heat(matrix: Labels, chosen: Labels) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Each chosen class with images and warmth, in [0, 1], of every suggested class; the diagonal has warmth -1."""
    share = matrix / np.maximum(matrix.sum(1), 1)[:, None]
    np.fill_diagonal(share, 0)
    strongest = max(float(share[np.ix_(chosen, chosen)].max(initial=0)), 1e-9)
    for i in chosen:
        yield int(i), [(int(matrix[i, j]), -1.0 if i == j else (share[i, j] / strongest) ** 0.5) for j in chosen]


def _legend(run: FinishedRun, given: Labels, frequent: list[int]) -> list[tuple[str, str, int]]:
    """Colour, name and number of images of the most frequent classes."""
    colours, images = figures.class_colours(given, len(run.classes)), np.bincount(given)
    return [(colours[k], run.classes[k], int(images[k])) for k in sorted(frequent) if k < len(images) and images[k]]


def _shots(thumbnail: Thumbnail) -> Callable[[int], Shot | None]:
    """The picture of a row of the table, read once."""

    @functools.cache
    def shot(row: int) -> Shot | None:
        content = thumbnail(row)
        if content is None:
            return None
        with Image.open(BytesIO(content)) as image:
            return Shot(_uri(content, (image.format or "png").lower()), max(image.size) < _ENLARGED)

    return shot


def _uri(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _environment() -> jinja2.Environment:
    """Everything is escaped, and every string is made showable: names come from whoever made the data."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("twincl.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: shown(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "thousands": lambda number: f"{number:,}"}
    return environment
