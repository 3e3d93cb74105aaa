"""One training from configuration to run folder."""

from pathlib import Path

from twincl.config import Config, build_config, to_yaml
from twincl.data.stores import describe_shape
from twincl.errors import InputError
from twincl.files import write_json, write_text
from twincl.methods.registry import find_method
from twincl.results import folder as run_folder
from twincl.results.model_file import save_model
from twincl.results.outputs import save_outputs
from twincl.runs.assemble import assemble, require_same, resolve
from twincl.runs.learn import Listener, Silence, learn
from twincl.runs.prepare import Prepared, prepare
from twincl.runs.records import Record, describe_model, summarise
from twincl.training.checkpoint import load_checkpoint, save_checkpoint
from twincl.training.device import choose_device


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
    if training.state.epoch >= training.epochs:
        raise InputError(f"the run in {output} is complete; pass --force to train it anew")
    _describe(config, data, tell)
    if history:
        tell.note(f"going on after epoch {training.state.epoch} of {training.epochs}")

    run_folder.open_folder(output, force=force and not resuming)
    write_text(output / run_folder.CONFIG, to_yaml(config))
    run_folder.write_environment(output, device, training.amp)
    run_folder.write_skipped(output, data.broken)

    def after_epoch() -> None:
        run_folder.write_metrics(output, history)
        if training.state.epoch < training.epochs:
            save_checkpoint(checkpoint, training.state, history)

    judged, evaluated = learn(
        training,
        data,
        seed=config.seed,
        history=history,
        tell=tell,
        after_epoch=after_epoch,
    )
    run_folder.write_issues(output, judged.table(data.classes))
    save_outputs(output, judged.outputs)
    save_model(output, training.state.net, describe_model(config, data))
    summary = summarise(config, data, history, judged, evaluated)
    write_json(output / run_folder.SUMMARY, summary)
    save_checkpoint(checkpoint, training.state, history)  # last: it says that all the rest is there
    return summary


def _describe(config: Config, data: Prepared, tell: Listener) -> None:
    tested = "" if data.evaluation.images is None else f"; tested on {data.evaluation.origin}"
    tell.note(
        f"{len(data.train.labels)} training {describe_shape(data.train.images.shape)} in {len(data.classes)} classes"
        + tested
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
