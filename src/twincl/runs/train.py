"""One training from configuration to run folder."""

import time
from pathlib import Path
from typing import Protocol

from twincl.config import Config, build_config, to_yaml
from twincl.data.batches import Batches
from twincl.errors import InputError
from twincl.files import write_json, write_text
from twincl.methods.registry import find_method
from twincl.results import folder as run_folder
from twincl.results.issues import issue_table
from twincl.results.model_file import save_model
from twincl.runs.assemble import Training, assemble, require_same, resolve
from twincl.runs.prepare import Evaluation, Prepared, Progress, prepare
from twincl.runs.records import Record, describe_model, epoch_record, summarise
from twincl.training.checkpoint import load_checkpoint, save_checkpoint
from twincl.training.device import choose_device
from twincl.training.loop import Epoch, fit
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


def train(
    config: Config, output: Path, *, force: bool = False, resume: bool = False, listener: Listener | None = None
) -> Record:
    """Train as `config` says and leave everything in the folder `output`; returns the summary.

    Nothing is written before the data have been read and checked.

    Raises:
        InputError: configuration or data cannot be used, or the folder holds something that would be lost.
        TrainingError: the training cannot go on.
    """
    tell = listener or Silence()
    run_folder.check_output(output, force=force, resume=resume)
    find_method(config.method)
    device = choose_device(config.device)
    data = prepare(config, device, tell.progress)
    resuming = resume and (output / run_folder.CONFIG).is_file()
    if resuming and config.amp is None:  # measured when the run began
        config = config.model_copy(update={"amp": build_config(file=output / run_folder.CONFIG, settings={}).amp})
    config = resolve(config, data, device)
    if resuming:
        require_same(config, output / run_folder.CONFIG)
    training = assemble(config, data, device)
    checkpoint = output / run_folder.CHECKPOINT
    history = load_checkpoint(checkpoint, training.state) if resuming and checkpoint.is_file() else []
    if training.state.epoch >= config.optim.epochs:
        raise InputError(f"the run in {output} is complete; pass --force to train it anew")
    _describe(config, data, tell)
    if history:
        tell.note(f"going on after epoch {training.state.epoch} of {config.optim.epochs}")

    run_folder.open_folder(output, force=force and not resuming)
    write_text(output / run_folder.CONFIG, to_yaml(config))
    run_folder.write_environment(output, device, training.amp)
    run_folder.write_skipped(output, data.broken)

    test = _evaluation_batches(data.evaluation, training)
    last: Epoch | None = None
    for last in fit(
        training.state,
        training.views,
        training.batches,
        epochs=config.optim.epochs,
        seed=config.seed,
        amp=training.amp,
        schedule=training.schedule,
        on_step=tell.step,
    ):
        start = time.perf_counter()
        test_snapshot = (
            take_snapshot(training.state.net, training.views, test.in_order(), amp=training.amp) if test else None
        )
        record = epoch_record(last, data, test_snapshot)
        history.append(record)
        record["seconds"] = round(last.train_seconds + time.perf_counter() - start, 3)
        run_folder.write_metrics(output, history)
        if last.number < config.optim.epochs:
            save_checkpoint(checkpoint, training.state, history)
        tell.epoch(record, config.optim.epochs)

    assert last is not None
    assert last.snapshot is not None
    assert last.verdict is not None
    table = issue_table(last.verdict, data.train.labels, data.train.names, data.train.rows, data.classes)
    run_folder.write_issues(output, table)
    save_model(output, training.state.net, describe_model(config, data))
    summary = summarise(config, data, history, last.snapshot, last.verdict, test_snapshot)
    write_json(output / run_folder.SUMMARY, summary)
    save_checkpoint(checkpoint, training.state, history)  # last: it says that all the rest is there
    return summary


def _evaluation_batches(evaluation: Evaluation, training: Training) -> Batches | None:
    if evaluation.images is None or evaluation.labels is None:
        return None
    return Batches(
        evaluation.images, evaluation.labels, batch_size=min(256, len(evaluation.labels)), device=training.device
    )


def _describe(config: Config, data: Prepared, tell: Listener) -> None:
    channels, height, width = data.train.images.shape
    tell.note(
        f"{len(data.train.labels)} training images of {width}x{height}x{channels} in {len(data.classes)} classes; "
        f"tested on {data.evaluation.origin}"
    )
    tell.note(
        f"method {config.method} ({config.preset}), encoder {config.model.name}, views {config.augment.name}, "
        f"batch {config.optim.batch_size}, peak learning rate {config.optim.lr:g}, "
        f"{'bfloat16' if config.amp else 'float32'} on {config.device}"
    )
    if data.broken:
        listed = "; ".join(f"{name} ({reason})" for name, reason in data.broken[:3])
        more = f" and {len(data.broken) - 3} more in {run_folder.SKIPPED}" if len(data.broken) > 3 else ""
        tell.note(f"{len(data.broken)} images could not be decoded and are left out: {listed}{more}")
