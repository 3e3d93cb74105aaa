"""One training in memory: from assembled objects to what was learned; whoever calls decides what is written."""

import time
from collections.abc import Callable
from typing import Protocol

from twincl.data.batches import Batches
from twincl.runs.assemble import Training
from twincl.runs.judge import Judged, judge_all, judge_training
from twincl.runs.prepare import Prepared, Progress
from twincl.runs.records import Record, epoch_record, final_metrics
from twincl.training.loop import fit
from twincl.training.snapshot import take_snapshot


class Listener(Protocol):
    """Whoever wants to know how the training goes: the terminal, a notebook, nobody."""

    progress: Progress  # wraps a long iteration over images, like tqdm

    def note(self, text: str) -> None:
        """A sentence for the user."""

    def step(self, step: int, steps: int) -> None:
        """A step of the current epoch is done."""

    def epoch(self, record: Record, epochs: int) -> None:
        """An epoch is done; `record` is its line in metrics.jsonl."""


class Silence:
    """A listener that says nothing."""

    progress: Progress = None

    def note(self, text: str) -> None:
        """Ignore."""

    def step(self, step: int, steps: int) -> None:
        """Ignore."""

    def epoch(self, record: Record, epochs: int) -> None:
        """Ignore."""


def learn(
    training: Training,
    data: Prepared,
    *,
    seed: int,
    history: list[Record],
    tell: Listener,
    after_epoch: Callable[[], None],
) -> tuple[Judged, Record]:
    """Train to the last epoch; `history` grows by a record an epoch, then `after_epoch` is called.

    Returns:
        The judgement on all labels, and what evaluation adds to the summary.
    """
    test, evaluation = None, data.evaluation
    batches = None
    if evaluation.images is not None and evaluation.labels is not None:
        size = min(256, len(evaluation.labels))
        batches = Batches(evaluation.images, evaluation.labels, batch_size=size, device=training.device)
    for last in fit(
        training.state,
        training.views,
        training.batches,
        epochs=training.epochs,
        seed=seed,
        amp=training.amp,
        schedule=training.schedule,
        on_step=tell.step,
    ):
        start = time.perf_counter()
        if batches is not None:
            test = take_snapshot(training.state.net, training.views, batches.in_order(), amp=training.amp)
        if last.snapshot is not None:
            model, judgement = judge_training(last.snapshot, data.train.labels)
        record = epoch_record(last, data, judgement if last.snapshot is not None else None, test)
        record["seconds"] = round(last.train_seconds + time.perf_counter() - start, 3)
        history.append(record)
        after_epoch()
        tell.epoch(record, training.epochs)
    assert last.snapshot is not None
    return judge_all(model, data, last.snapshot, test), final_metrics(data, judgement, last.snapshot, test)
