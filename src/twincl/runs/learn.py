"""One training in memory: from assembled objects to what was learned; whoever calls decides what is written."""

import time
from collections.abc import Callable

import numpy as np

from twincl.data.batches import Batches
from twincl.runs.assemble import Training
from twincl.runs.judge import Judged, judge_all, judge_quickly
from twincl.runs.listener import Listener
from twincl.runs.prepare import Prepared
from twincl.runs.records import Record, epoch_record, final_metrics
from twincl.runs.warner import Warner
from twincl.training.loop import StepListener, fit
from twincl.training.snapshot import take_snapshot


def learn(
    training: Training,
    data: Prepared,
    *,
    seed: int,
    history: list[Record],
    tell: Listener,
    after_step: StepListener | None = None,
    after_epoch: Callable[[], None] | None = None,
) -> tuple[Judged, Record]:
    """Train to the last epoch; `history` grows by a record an epoch, then `after_epoch` is called.

    Returns:
        The judgement on all labels, and what evaluation adds to the summary.
    """
    test, evaluation = None, data.evaluation
    batches = None
    if evaluation.images is not None and evaluation.labels is not None:
        size = min(256, len(evaluation.labels))
        batches = Batches(
            evaluation.images,
            evaluation.labels,
            batch_size=size,
            device=training.device,
            workers=data.workers,
            ranks=training.ranks,
        )

    def on_step(step: int, steps: int) -> None:
        tell.step(step, steps)
        if after_step:
            after_step(step, steps)

    warner = Warner(data.classes, tell)
    of_given = np.array_equal(training.labels, data.train.labels)  # else the method judges others than it was given
    for last in fit(
        training.state,
        training.views,
        training.batches,
        epochs=training.epochs,
        seed=seed,
        amp=training.amp,
        schedule=training.schedule,
        sampled=training.sampled,
        on_step=on_step,
        ranks=training.ranks,
    ):
        start = time.perf_counter()
        if batches is not None:
            test = take_snapshot(
                training.state.net, training.views, batches.in_order(), amp=training.amp, ranks=training.ranks
            )
        if last.snapshot is not None:
            assert last.detection is not None
            model, judgement = judge_quickly(last.snapshot, data.train.labels[last.seen])
            warner.look(last.snapshot, training.labels[last.seen], last.detection.clean)
        epoch = last if of_given else last._replace(detection=None)
        record = epoch_record(epoch, data, judgement if last.snapshot is not None else None, test)
        record["seconds"] = round(last.train_seconds + time.perf_counter() - start, 3)
        history.append(record)
        if after_epoch:
            after_epoch()
        tell.epoch(record, training.epochs)
    assert last.snapshot is not None
    judged = judge_all(model, data, last.snapshot, test, training.views)
    return judged, final_metrics(data, judged, last.snapshot, test) | {"warnings": warner.at_the_end()}
