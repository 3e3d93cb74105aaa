"""From data to a clean data set in one go: train, report, correct."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from twincl.config import Config
from twincl.ranks import launched_rank
from twincl.results.corrections import Policy
from twincl.results.folder import CORRECTED, REPORT
from twincl.runs.corrections import count_corrections, write_corrections
from twincl.runs.issues import worst_labels
from twincl.runs.listener import Listener, Silence
from twincl.runs.records import Record
from twincl.runs.report import write_report
from twincl.runs.train import CHECKPOINT_MINUTES, train


class Cleaned(NamedTuple):
    """What a cleaning found; everything is in the run folder too."""

    summary: Record
    worst: pd.DataFrame  # the ten worst labels
    actions: dict[str, int]  # how many labels are kept, relabelled, dropped


def clean(
    config: Config,
    output: Path,
    *,
    relabel_above: float,
    drop_below: float,
    force: bool = False,
    resume: bool = False,
    checkpoint_minutes: float = CHECKPOINT_MINUTES,
    listener: Listener | None = None,
) -> Cleaned | None:
    """Train as `config` says, then write corrections and report beside what the training leaves in `output`.

    Of a run that goes on, those that are there stay as they are.
    Of the processes of a training by many, the first does so; the others get None.

    Raises:
        InputError: configuration, data or policy cannot be used, or the folder holds something that would be lost.
        TrainingError: the training cannot go on.
        Stopped: SIGTERM or Ctrl-C came; everything is saved.
    """
    tell = listener or Silence()
    policy = Policy(relabel_above, drop_below)
    summary = train(config, output, force=force, resume=resume, checkpoint_minutes=checkpoint_minutes, listener=tell)
    if launched_rank():
        return None
    # a new run has neither; one that was complete before may have been corrected by another policy since
    actions = count_corrections(output) if (output / CORRECTED).is_file() else write_corrections(output, policy)
    if not (output / REPORT).is_file():
        tell.note("writing the report")
        write_report(output, force=True, progress=tell.progress)
    return Cleaned(summary, worst_labels(output, top=10), actions)
