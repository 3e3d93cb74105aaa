"""From data to a clean data set in one go: train, report, correct."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from twincl.config import Config
from twincl.results.corrections import Policy
from twincl.runs.corrections import write_corrections
from twincl.runs.issues import worst_labels
from twincl.runs.learn import Listener, Silence
from twincl.runs.records import Record
from twincl.runs.report import write_report
from twincl.runs.train import train


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
    listener: Listener | None = None,
) -> Cleaned:
    """Train as `config` says, then write corrections and report beside what the training leaves in `output`.

    Raises:
        InputError: configuration, data or policy cannot be used, or the folder holds something that would be lost.
        TrainingError: the training cannot go on.
    """
    tell = listener or Silence()
    policy = Policy(relabel_above, drop_below)
    summary = train(config, output, force=force, resume=resume, listener=tell)
    actions = write_corrections(output, policy, force=True)  # the folder is this run's own
    tell.note("writing the report")
    write_report(output, force=True, progress=tell.progress)
    return Cleaned(summary, worst_labels(output, top=10), actions)
