"""A table as Markdown: ours beside the paper's, what was run, when, where and how."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from benchmarks.cells import find_result
from benchmarks.over_seeds import spread
from benchmarks.paper.measured import SEEDS, Measured, averages, measured, percent
from benchmarks.paper.published import PUBLISHED, Published
from benchmarks.paper.tables import TITLES, Column, Scale, Table, table_cells
from benchmarks.paper.variants import LATER, PAPER_EPOCHS, plus_epochs
from twincl.config import build_config

DETAILS = (
    ("AUROC", "summary", "detection_auroc", 4),
    ("AUROC of the E-step's score", "curves", "detection_auroc_score", 4),
    ("AUROC of w", "curves", "detection_auroc_w", 4),
    ("noise estimated", "summary", "noise_rate_estimate", 3),
    ("actual", "summary", "noise_rate_actual", 3),
    ("r of given labels", "imbalance", "given", 2),
    ("r where w > 0.5", "imbalance", "trusted", 2),
    ("r of unflagged labels", "imbalance", "unflagged", 2),
)


def render(scale: Scale, table: Table, picture: str | None = None) -> str:
    """The whole page; `picture` is the file name of its plot."""
    printed = PUBLISHED.get(table.name)
    lines = [f"# {table.title}, scale {scale.name} ({datetime.now(UTC):%Y-%m-%d})", ""]
    lines += [*_about(scale, table, printed), ""]
    lines += [f"![Accuracy of every row, ours and the paper's]({picture})", ""] if picture else []
    for data in dict.fromkeys(column.data for column in table.columns):
        columns = [column for column in table.columns if column.data == data]
        lines += [f"## {TITLES[data]}", ""]
        if data in scale.data:
            lines += [*accuracies(scale, table, columns), ""]
        else:
            lines += ["Not run; the paper's numbers:", "", *_printed(columns, printed), ""]
    return "\n".join(lines + _details(scale, table)).rstrip() + "\n"


def _about(scale: Scale, table: Table, printed: Published | None) -> list[str]:
    """What the numbers are of, how they come about, and how many there are."""
    theirs = f'The paper\'s, "{printed.caption}": {printed.scale}.' if printed else "The paper prints no such numbers."
    if not any(column.data in scale.data for column in table.columns):
        return [f"**Not run at the scale {scale.name}**, which has no such data. {theirs}"]
    found = [result for results in _all_results(scale, table) for result in results]
    wanted = sum(len(table_cells(scale, table, seed)) for seed in range(3))
    other = printed and scale.name != "paper"
    return [
        f"**Ours: {table.words or scale.words}.** {theirs}",
        *(["**These are different scales: compare the order of rows, not their height.**"] if other else []),
        "",
        "Accuracy in %: of each run the mean of its last five epochs (of k-NN, and on other data than the training's,",
        "that at the end), then mean ± standard deviation over runs (their number), each with another seed and",
        "simulated noise; without ±: one run. Blank: not run, or not printed.",
        *_notes(scale, table),
        "",
        f"Command: `python -m benchmarks.paper --table {table.name} --scale {scale.name} --data FOLDER`. Each run is a",
        "JSON file with its settings and machine, in the folder of this or of another table that shows it.",
        "",
        f"Run: {len(found)} trainings (three seeds are {wanted}), {_machines(found)}."
        if found
        else "**Nothing of this table has been run here.**",
    ]


def _notes(scale: Scale, table: Table) -> list[str]:
    """What has to be known of some rows."""
    notes, variants = [], {row.variant for row in table.rows}
    if "tcl+" in variants:
        notes.append(
            f"TCL+ goes on from TCL for {plus_epochs(scale.epochs)} epochs; of fewer than five all count. It begins"
        )
        notes.append("at TCL's last epoch, whose accuracy stands below: the headline of TCL is of its last five.")
    if variants & {"detector ood", "temporal ensembling"}:
        ours = ", whose E-step fits log-odds with a noise model's prior and whose first epochs are on given labels"
        longer = ", made for many more epochs" if scale.epochs < PAPER_EPOCHS else ""
        notes.append(f"Every row is a change of the preset named above{ours if scale.preset == 'default' else ''}.")
        notes.append(
            "The loss detector takes the last epoch's losses, not their mean over five epochs as DivideMix does"
        )
        notes.append(f"at 90 %; the ensemble's momentum is ELR's{longer}.")
    if table.name == "hyper":
        sigma = build_config(preset=scale.preset, settings={}).tcl.sigma
        whose = "the contrast's and the mixture's" if sigma == "tau" else "the contrast's alone"
        notes.append(f"tau is {whose}. Updates: as many as leave two E-steps in a training.")
    if table.name == "choices":
        notes.append("`small` has only one block without a projection, in which the shortcuts differ.")
    if "unsupervised" in variants:
        notes.append("Unsupervised: no label is looked at, so one training a seed stands for every noise.")
    if variants & {"tcl (paper settings)", *LATER}:
        notes.append(
            "Paper and official settings: these presets with the encoder and epochs of this scale; their first"
        )
        notes.append("epochs (warm-up, given labels) are the same share of all as in the preset.")
    return ["", *notes] if notes else []


def _all_results(scale: Scale, table: Table) -> Iterable[list[dict[str, Any]]]:
    cells = (table_cells(scale, table, seed) for seed in SEEDS)
    return ([result for cell in some if (result := find_result(cell))] for some in cells)


def _machines(results: list[dict[str, Any]]) -> str:
    days = sorted(result["environment"]["started"][:10] for result in results)
    machines = {
        f"{about['processor']}, {about['cores']} cores, a run on {about['device']} with {about['threads']} threads, "
        f"PyTorch {about['packages']['torch']}, twincl {about['twincl']}"
        for about in (result["environment"] for result in results)
    }
    minutes = sum(result["summary"]["train_seconds"] for result in results) / 60
    return f"{days[0]} to {days[-1]}, {minutes:.0f} minutes of training; {'; '.join(sorted(machines))}"


def _printed(columns: list[Column], printed: Published | None) -> list[str]:
    """The paper's rows alone, with its averages."""
    if printed is None:
        return []
    average = f"{columns[0].data}-average"
    keys = [column.key for column in columns if column.key in printed.columns]
    titles = [_short(column) for column in columns if column.key in printed.columns]
    if average in printed.columns:
        keys, titles = [*keys, average], [*titles, "average"]
    body = [[name, *(printed.text(name, key) for key in keys)] for name in printed.rows]
    return _markdown(["row", *titles], body)


def accuracies(scale: Scale, table: Table, columns: list[Column], *, others: bool = True) -> list[str]:
    """Rows of ours, then, with `others`, those that only the paper has; `columns` are of the same data."""
    printed = PUBLISHED.get(table.name)
    average = f"{columns[0].data}-average"
    averaged = len(columns) > 1 and (printed is None or average in printed.columns)
    keys = [column.key for column in columns] + ([average] if averaged else [])
    titles = [_short(column) for column in columns]
    heads = ["row"]
    for title in titles + (["average"] if averaged else []):
        heads += [f"{title}: ours", "paper"] if printed else [title]
    body = []
    for row in table.rows:
        ours = [percent(measured(scale, table, row, column).values) for column in columns]
        ours += [percent(averages(scale, table, row, columns))] if averaged else []
        body.append([row.title, *_beside(ours, printed, row.paper, keys)])
    if printed and others:
        shown = {row.paper for row in table.rows}
        theirs = [name for name in printed.rows if name not in shown]
        body += [[f"{name} (paper only)", *_beside([""] * len(keys), printed, name, keys)] for name in theirs]
    return _markdown(heads, [row for row in body if any(row[1:])])


def _beside(ours: list[str], printed: Published | None, name: str | None, keys: list[str]) -> list[str]:
    if printed is None:
        return ours
    theirs = [printed.text(name, key) for key in keys]
    return [text for pair in zip(ours, theirs, strict=True) for text in pair]


def _details(scale: Scale, table: Table) -> list[str]:
    """What else every run measured, a line for each row and column that has one."""
    body = []
    for column in table.columns:
        for row in table.rows:
            found = measured(scale, table, row, column)
            if found.results:
                body.append([column.title, row.title, *_detail(found)])
    if not body:
        return []
    heads = ["data", "row", "headline", "pooled", "last epoch", "best epoch", "k-NN", *(title for title, *_ in DETAILS)]
    return [
        "## Everything measured",
        "",
        "Headline as above. Pooled: the last five epochs of all runs together. Best epoch: chosen by the test set, so",
        "no result, only there beside papers that print it. AUROC: of ranking wrong labels first, by classifier and",
        "neighbours at the end; of the score and of w: by the last E-step. r: the largest class over the smallest.",
        "",
        *_markdown(heads, body),
    ]


def _detail(found: Measured) -> list[str]:
    knn = percent([100 * value for value in found.said("knn_accuracy")])
    others = [spread(found.said(key, part), digits) for _, part, key, digits in DETAILS]
    accuracies = (found.values, found.pooled, found.final, found.best)
    return [*(percent(values) for values in accuracies), knn, *others]


def _short(column: Column) -> str:
    """The title without the data, which the heading says."""
    return column.title.removeprefix(TITLES[column.data]).strip() or "accuracy"


def _markdown(heads: list[str], body: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in body]
