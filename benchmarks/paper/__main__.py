"""Run the paper's tables and draw its figures.

    python -m benchmarks.paper --table cifar --scale mini --data FOLDER
    python -m benchmarks.paper --table all --scale paper --data FOLDER --cifar100 FOLDER
    python -m benchmarks.paper --figures --scale mini --data FOLDER

Tables: cifar, plus (TCL+), ablation, asymmetric, knn, webvision, clothing1m, cifar-n (human labels), hyper, fashion; at
scale mini also choices (between paper and released code).

A finished training is a JSON file under benchmarks/results/paper-SCALE, found by its settings, so that a training which
several tables show is run once. What was stopped goes on where it was: runs are kept in runs/paper. FOLDER of CIFAR-10
has the python batches or train.parquet and test.parquet; for cifar-n also, beside the batches, CIFAR-10_human.pt as
published, or cifar10n_labels.csv with its keys (aggre_label, clean_label and so on) as columns and a row for each
training image in the order that they are read; so has that of CIFAR-100, with CIFAR-100_human.pt. Scale mini: 10,000
images of CIFAR-10 or Fashion-MNIST, encoder small, 10 epochs, for two CPU cores. Scale paper: PreAct ResNet-18, 200
epochs, for a GPU. Tables are written from whatever has been run so far, those of scale mini into docs/results.md, too.
"""

import argparse
import os
from collections.abc import Mapping, Sequence

from benchmarks import cells
from benchmarks.paper import document
from benchmarks.paper.figures import draw_figures
from benchmarks.paper.plots import point_plot, table_points
from benchmarks.paper.render import render
from benchmarks.paper.tables import NOWHERE, SCALES, Scale, Table, table_cells, tables
from twincl.data.read import place_of
from twincl.errors import InputError
from twincl.files import write_bytes, write_text
from twincl.report.theme import LIGHT

DATA = ("cifar100", "webvision", "ilsvrc12", "clothing1m", "fashion", "weights")


@cells.plain_ending()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, then write tables and figures."""
    names = list(dict.fromkeys(name for scale in SCALES.values() for name in tables(scale)))
    parser = argparse.ArgumentParser(
        "python -m benchmarks.paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=[*names, "all"], help="the table to run")
    parser.add_argument(
        "--figures", action="store_true", help="draw the figures of what was run: paper-SCALE/figures.md"
    )
    parser.add_argument("--scale", choices=list(SCALES), default="mini", help="[default: mini]")
    parser.add_argument(
        "--data", metavar="FOLDER", help="CIFAR-10, or the data of the table webvision, clothing1m, fashion"
    )
    for name in DATA:
        what = "file of ImageNet weights for clothing1m" if name == "weights" else f"folder of {name}"
        parser.add_argument(f"--{name}", metavar="FILE" if name == "weights" else "FOLDER", help=what)
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[0, 1, 2], help="of noise and training [default: 0 1 2]"
    )
    parser.add_argument("--only", default="", metavar="PREFIX", help="trainings whose name begins like this")
    parser.add_argument("--processes", type=int, default=1, help="trainings at a time, 1 or more [default: 1]")
    parser.add_argument("--render", action="store_true", help="train nothing, write the table or all of them")
    options = parser.parse_args(arguments)
    if options.render and not options.table:
        options.table = "all"
    if not options.table and not options.figures:
        parser.error("say what to do: --table NAME, --figures or --render")
    if options.processes < 1:
        parser.error(f"--processes is {options.processes}; give 1 or more")
    scale = SCALES[options.scale]
    at = places(options)
    every = tables(scale)
    if options.table not in (None, "all", *every):
        parser.error(f"the scale {scale.name} has no table {options.table}")
    chosen = [table for name, table in every.items() if options.table in (name, "all") and table_cells(scale, table, 0)]
    if options.table and not chosen:
        parser.error(f"the scale {scale.name} has no data of the table {options.table}")
    if not options.render:
        chosen = [
            table for table in chosen if any(_wanted(scale, [table], seed, options.only) for seed in options.seeds)
        ]
    if options.table and not chosen:
        parser.error(f"no training begins with '{options.only}'; look at the names in {cells.RESULTS}")
    unused = [name for name in DATA if getattr(options, name) and _data_of(name) not in scale.data]
    if unused:
        parser.error(f"the scale {scale.name} does not train on {', '.join(unused)}; leave --{unused[0]} out")
    if at["clothing1m"] and not at["weights"] and not options.render:
        parser.error("clothing1m begins from ImageNet weights of ResNet-50; give their file as --weights FILE")
    for name in ("data", *DATA):
        path = getattr(options, name)
        if path and not place_of(path).exists():
            parser.error(f"there is no file or folder at '{path}'; give --{name} the path of the data")
    refusals: list[str] = []
    if chosen and not options.render:
        refusals += run(scale, chosen, at, options.seeds, options.only, options.processes)
    for table in chosen:
        write_table(scale, table)
    if scale.name == document.SCALE and chosen:
        write_text(document.DOCUMENT, document.fill(document.DOCUMENT.read_text(), scale, every))
    if options.figures:
        try:
            draw_figures(scale, every, at)
        except InputError as error:
            refusals.append(str(error))
    if refusals:
        parser.exit(2, "\n".join(refusals) + "\n")


def places(options: argparse.Namespace) -> dict[str, str | None]:
    """Where the data lie, as absolute paths, so that a stopped training goes on however its folder is spelled."""
    given: dict[str, str | None] = {name: getattr(options, name) for name in DATA}
    if options.table in DATA:
        given[options.table] = given[options.table] or options.data
    else:
        given["cifar10"] = options.data
    return {name: os.path.realpath(place_of(path)) if path else None for name, path in given.items()}


def _data_of(option: str) -> str:
    return "clothing1m" if option == "weights" else option


def run(
    scale: Scale, chosen: list[Table], at: dict[str, str | None], seeds: list[int], only: str, processes: int
) -> list[str]:
    """Train what is missing, seed by seed, so that a look at half of the cells is a look at every row.

    Returns a sentence for each seed of which some trainings cannot begin, or one if no data are at hand; all others
    have been run.
    """
    refusals: list[str] = []
    any_possible = False
    for seed in seeds:
        wanted = _wanted(scale, chosen, seed, only, at)
        known = [one for one in wanted if cells.find_result(one)]
        possible = [one for one in wanted if one.places or one in known]
        any_possible |= bool(possible)
        missing = len(wanted) - len(possible)
        print(f"seed {seed}: {len(wanted)} cells, {len(known)} known, {missing} without data", flush=True)
        try:
            cells.run_cells(possible, processes)
        except InputError as error:
            refusals.append(f"seed {seed}: {error}")
    return refusals if any_possible else [_without_data(scale, chosen, at)]


def _wanted(
    scale: Scale, chosen: list[Table], seed: int, only: str, at: Mapping[str, str | None] = NOWHERE
) -> list[cells.Cell]:
    """The trainings of all tables whose name begins with `only`, each once."""
    found = [one for table in chosen for one in table_cells(scale, table, seed, at) if one.name.startswith(only)]
    return list({one.key: one for one in found}.values())


def _without_data(scale: Scale, chosen: list[Table], at: Mapping[str, str | None]) -> str:
    """What to pass where no training can be run."""
    tables = "this table" if len(chosen) == 1 else "these tables"
    data = {column.images for table in chosen for column in table.columns if column.data in scale.data}
    options = [f"--{'data' if name == 'cifar10' else name} FOLDER" for name in sorted(data) if not at.get(name)]
    if not options:
        return f"no training of {tables} can be run: there are no human labels beside the images; see --help"
    return f"no training of {tables} can be run: pass {' or '.join(options)}"


def write_table(scale: Scale, table: Table) -> None:
    """The Markdown file, and its plot where anything was run."""
    folder = cells.RESULTS / f"paper-{scale.name}"
    folder.mkdir(parents=True, exist_ok=True)
    panels = table_points(scale, table)
    picture = f"{table.name}.png" if panels else None
    if picture:
        write_bytes(folder / picture, point_plot(panels, scale.name).png(LIGHT))
    write_text(folder / f"{table.name}.md", render(scale, table, picture))
    print(f"{folder.name}/{table.name}.md", flush=True)


if __name__ == "__main__":
    main()
