"""The report on a finished run: `report.html`, and its figures beside it."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from twincl.data.decode import BrokenImage
from twincl.data.images import attempt_each
from twincl.errors import InputError
from twincl.files import refuse_existing, write_bytes
from twincl.report.duplicates import Fingerprint, Group, conflicting_duplicates, fingerprint
from twincl.report.page import Report, Sources, compose
from twincl.results.finished import FinishedRun, load_run
from twincl.results.folder import FIGURES, REPORT
from twincl.results.judged_data import judged_data
from twincl.runs.pictures import Pictures
from twincl.runs.prepare import Progress
from twincl.runs.workers import number_of_workers

MOST = 200_000  # samples that are compared for duplicates


def write_report(run: Path, *, force: bool = False, progress: Progress = None) -> Path:
    """Write `report.html` and `figures/` into the run folder; returns the page.

    Data that have been moved away are no hindrance: the page then says so in the place of pictures.

    Raises:
        InputError: the folder holds no finished run, or there is a report already and `force` was not asked for.
    """
    page = run / REPORT
    finished = load_run(run)
    refuse_existing(page, force=force)
    _write(compose(finished, _sources(finished, progress)), run, force=force)
    return page


def _write(report: Report, run: Path, *, force: bool) -> None:
    """The figures, then the page, which tells that all is there."""
    folder = run / FIGURES
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be written: {error.strerror}") from None
    contents = {folder / name: png for name, png in report.figures.items()}
    contents[run / REPORT] = report.html.encode("utf-8")
    for path in contents:
        refuse_existing(path, force=force)
    for path, content in contents.items():
        write_bytes(path, content)


def _sources(run: FinishedRun, progress: Progress) -> Sources:
    try:
        pictures = Pictures(judged_data(run))
    except InputError as error:
        return Sources(
            lambda row: None,
            f"Pictures are missing because {error}.",
            None,
            f"Duplicates were not looked for because {error}.",
        )
    missing = None if pictures.are_images else "The data are feature vectors, so there are no pictures."
    if len(run.table) > MOST:
        return Sources(
            pictures.thumbnail, missing, None, f"Duplicates are looked for among at most {MOST:,} {run.noun}s."
        )
    return Sources(pictures.thumbnail, missing, _duplicates(run, pictures, progress), None)


def _duplicates(run: FinishedRun, pictures: Pictures, progress: Progress) -> list[Group]:
    def seen(row: int) -> Fingerprint | None:
        sample = pictures.sample(row)
        return None if sample is None else fingerprint(sample)

    rows: Iterable[int] = range(len(run.table))
    workers = number_of_workers() if pictures.are_images else 0
    if progress is not None:
        rows = progress(rows, desc="looking for duplicates", unit=run.noun)
    with closing(attempt_each(seen, len(run.table), workers)) as found:
        prints = [None if isinstance(one, BrokenImage) else one for _, one in zip(rows, found, strict=True)]
    return conflicting_duplicates(prints, run.class_numbers("given_label"), run.embeddings)
