"""One training from configuration to run folder."""

from pathlib import Path

from twincl.config import Config, build_config, to_yaml
from twincl.files import write_json, write_text
from twincl.methods.registry import find_method
from twincl.ranks import Ranks, join, restarted
from twincl.results import folder as run_folder
from twincl.results.finished import load_run
from twincl.results.model_file import save_model
from twincl.results.outputs import save_outputs
from twincl.results.skipped import write_skipped
from twincl.runs.assemble import Training, assemble
from twincl.runs.finetune import starting_point
from twincl.runs.judge import Judged
from twincl.runs.keeping import Keeper, stop_requests, writing_to
from twincl.runs.learn import learn
from twincl.runs.listener import Listener, Silence
from twincl.runs.prepare import Prepared, prepare
from twincl.runs.records import Record, describe_model, summarise
from twincl.runs.resolve import require_same, resolve
from twincl.runs.spared import spare_inputs
from twincl.shapes import describe_shape
from twincl.training.checkpoint import load_checkpoint, require_finite_weights, save_checkpoint
from twincl.training.device import choose_device
from twincl.training.loop import TrainState

CHECKPOINT_MINUTES = 10.0  # at most so much is lost in an epoch that takes longer


def train(
    config: Config,
    output: Path,
    *,
    force: bool = False,
    resume: bool = False,
    checkpoint_minutes: float = CHECKPOINT_MINUTES,
    listener: Listener | None = None,
) -> Record:
    """Train as `config` says and leave everything in the folder `output`; returns the summary.

    Nothing is written before the data have been read and checked. With `resume` the training goes on from its newest
    checkpoint, begins where there is none, and is left as it is where it is complete.

    Raises:
        InputError: configuration or data cannot be used, or the folder holds something that would be lost.
        TrainingError: the training cannot go on.
        Stopped: SIGTERM or Ctrl-C came; everything is saved.
    """
    with join(choose_device(config.device).type) as ranks:
        return _train(
            config,
            output,
            force=force and not restarted(),
            resume=resume or restarted(),
            checkpoint_minutes=checkpoint_minutes,
            tell=listener if listener and ranks.first else Silence(),
            ranks=ranks,
        )


def _train(
    config: Config,
    output: Path,
    *,
    force: bool,
    resume: bool,
    checkpoint_minutes: float,
    tell: Listener,
    ranks: Ranks,
) -> Record:
    """The part of one rank; everything that it built to talk to the others ends with it."""
    with ranks.together():
        run_folder.check_output(output, force=force, resume=resume)
        if not resume:
            spare_inputs(config, output)
        find_method(config.method)
        data = prepare(config, choose_device(config.device), tell.progress)
    resuming = resume and (output / run_folder.CONFIG).is_file()
    with ranks.together():
        config, training = _assemble(config, data, output / run_folder.CONFIG if resuming else None, ranks, tell)
        history = _restore(training.state, output / run_folder.CHECKPOINTS, tell) if resuming else []
    if training.state.epoch >= training.epochs:
        tell.note(f"the run in {output} is complete; pass --force to train it anew")
        return load_run(output).summary
    _describe(config, data, ranks, tell)
    with writing_to(output):
        if ranks.first:
            run_folder.open_folder(output, anew=not resuming)
            run_folder.write_environment(output, training.device, training.amp)
            write_text(output / run_folder.CONFIG, to_yaml(config))
            write_skipped(output, data.skipped)
        judged, evaluated = _learn_and_keep(training, data, config, output, history, checkpoint_minutes, tell)
        require_finite_weights(training.state)
        learned = len(history) * training.batches.steps_per_epoch * (config.optim.batch_size or 1)
        summary = summarise(config, data, history, judged, evaluated, learned)
        if ranks.first:
            run_folder.write_issues(output, judged.table(data.classes))
            save_outputs(output, judged.outputs)
            save_model(output, training.state.net, describe_model(config, data, judged.temperature))
            write_json(output / run_folder.SUMMARY, summary)
            save_checkpoint(output / run_folder.CHECKPOINTS, training.state, history)  # last: all is there
    ranks.barrier()
    return summary


def _assemble(
    config: Config, data: Prepared, before: Path | None, ranks: Ranks, tell: Listener
) -> tuple[Config, Training]:
    """The resolved configuration and its training; `before` is the configuration of a run that goes on."""
    device = choose_device(config.device)
    if before and config.amp is None:  # measured when the run began
        config = config.model_copy(update={"amp": build_config(file=before, settings={}).amp})
    config = resolve(config, data, device, ranks)
    if before:
        require_same(config, before)
    start = starting_point(config, data, device, ranks) if config.finetune.run else None
    if start:
        relabelled = f"{int((start.labels != data.train.labels).sum())} of them changed"
        tell.note(
            f"goes on from {config.finetune.run}; learns from {len(start.rows)} of {len(start.labels)} labels, "
            + ("those judged clean" if config.finetune.learn_from == "clean" else relabelled)
        )
    return config, assemble(config, data, device, ranks, start)


def _learn_and_keep(
    training: Training,
    data: Prepared,
    config: Config,
    output: Path,
    history: list[Record],
    minutes: float,
    tell: Listener,
) -> tuple[Judged, Record]:
    """Train to the end, or until a signal comes, with checkpoints and metrics on the way."""
    with stop_requests() as request:
        keeper = Keeper(
            output / run_folder.CHECKPOINTS,
            training.state,
            history,
            minutes=minutes,
            request=request,
            ranks=training.ranks,
        )

        def after_epoch() -> None:
            if training.ranks.first:
                run_folder.write_metrics(output, history)
            if training.state.epoch < training.epochs:
                keeper.save()

        return learn(
            training,
            data,
            seed=config.seed,
            history=history,
            tell=tell,
            after_step=keeper.after_step,
            after_epoch=after_epoch,
        )


def _restore(state: TrainState, checkpoints: Path, tell: Listener) -> list[Record]:
    """Bring the state back; says from where it goes on, and which checkpoints it could not use."""
    history, damaged = load_checkpoint(checkpoints, state)
    for path in damaged:
        tell.note(f"the checkpoint {path} is damaged and left aside; the one before it is used")
    if state.epoch or state.step:
        where = f" and {state.step} steps" if state.step else ""
        tell.note(f"going on after {state.epoch} epochs{where}")
    return history


def _describe(config: Config, data: Prepared, ranks: Ranks, tell: Listener) -> None:
    tested = "" if data.evaluation.images is None else f"; tested on {data.evaluation.origin}"
    tell.note(
        f"{len(data.train.labels)} training {describe_shape(data.train.images.shape)} in {len(data.classes)} classes"
        + tested
    )
    shared = f" by {ranks.world} processes" if ranks.world > 1 else ""
    tell.note(
        f"method {config.method} ({config.preset}), encoder {config.model.name}, views {config.augment.name}, "
        f"batch {config.optim.batch_size}{shared}, peak learning rate {config.optim.lr:g}, "
        f"{'bfloat16' if config.amp else 'float32'} on {config.device}"
    )
    epochs = config.optim.epochs or 0
    if config.method == "tcl" and (first := config.tcl.epochs_on_labels(epochs)) >= epochs:
        tell.note(
            f"no label will be doubted: the first {first} epochs learn from the given labels, and there are {epochs}; "
            "train longer, or set tcl.label_epochs"
        )
    if config.preset == "clothing1m" and not (config.model.weights or config.finetune.run):
        tell.note(
            f"{config.model.name} begins from random weights; the paper begins from ImageNet's: give their file with "
            "--set model.weights=FILE"
        )
    for remark in data.remarks:
        tell.note(remark)
    if data.ignored:
        files = "one file" if data.ignored == 1 else f"{data.ignored} files"
        tell.note(f"{files} of {config.data.path} passed over: hidden, no image, or of no known split")
    if count := len(data.skipped):
        listed = "; ".join(f"{one.file_name} ({one.reason})" for one in data.skipped[:3])
        more = f" and {count - 3} more in {run_folder.SKIPPED}" if count > 3 else ""
        tell.note(f"{count} images could not be decoded and are left out: {listed}{more}")
