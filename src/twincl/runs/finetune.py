"""TCL+, the paper's second stage: a finished run goes on from what its E-step says of the labels.

Either only labels that it trusts are learned from, as the paper says, or all samples, with another label where the
mixture is sure of one, as the released code does.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from twincl.config import Config, build_config
from twincl.core.mixture import Mixture
from twincl.data.batches import Batches
from twincl.errors import InputError
from twincl.methods.method import Parts, Snapshot
from twincl.methods.tcl import fit_mixture
from twincl.ranks import ALONE, Ranks
from twincl.results.finished import FinishedRun, load_run
from twincl.results.folder import CONFIG
from twincl.results.model_file import Model, load_model
from twincl.results.settings import flatten
from twincl.runs.assemble import StartingPoint, make_method
from twincl.runs.prepare import Labels, Prepared
from twincl.shapes import describe_shape
from twincl.training.snapshot import take_snapshot

# what the paper takes over from Sel-CL and MOIT: a small, constant rate, mixup, from epoch 30 of 70 on bootstrapped
STAGE_TWO: dict[str, Any] = {
    "method": "mixup",
    "mixup.bootstrap": 0.2,
    "optim.epochs": 70,
    "optim.lr": 0.001,
    "optim.lr_floor": 1.0,
    "optim.warmup_epochs": 0,
    "optim.weight_decay": 1e-4,
}
LARGEST_BATCH = 128


def finetune_config(run: Path, settings: dict[str, Any]) -> Config:
    """The configuration of the finished `run`, changed to go on from it, and by `settings`.

    Raises:
        InputError: there is no run, or a setting cannot be used, or would make the run another one.
    """
    if not (run / CONFIG).is_file():
        raise InputError(f"{run} holds no finished run ({CONFIG} is missing); give the --output of a training")
    before = build_config(file=run / CONFIG, settings={})
    smaller = min(LARGEST_BATCH, before.optim.batch_size or LARGEST_BATCH)
    of_preset = build_config(preset=before.preset, settings={})
    given = flatten(before.model_dump()) | {"device": "auto", "amp": of_preset.amp, "data.workers": None}
    given |= {"model.weights": None}  # all weights are the run's
    given = {key: value for key, value in given.items() if not key.startswith("finetune.")}  # of a stage before
    refused = [key for key in settings if key.startswith("noise.") or key == "finetune.run"]
    if refused:
        raise InputError(f"{refused[0]} cannot be set here: the second stage goes on with what {run} learned from")
    return build_config(
        preset=before.preset,
        settings=given | STAGE_TWO | {"optim.batch_size": smaller, "finetune.run": str(run)} | settings,
    )


def starting_point(config: Config, data: Prepared, device: torch.device, ranks: Ranks = ALONE) -> StartingPoint:
    """Weights of the run to go on from, and what to learn: the rows and labels that its E-step settles on.

    Raises:
        InputError: the run is of other data or another network, or judges too few labels clean.
    """
    settings = config.finetune
    assert settings.run is not None
    run = Path(settings.run)
    _require_same(load_run(run), config, data)
    model = load_model(run, device)
    labels = data.train.labels
    size = min(256, len(labels))
    batches = Batches(data.train.images, labels, batch_size=size, device=device, workers=data.workers, ranks=ranks)
    snapshot = take_snapshot(model.net, model.views, batches.in_order(), amp=bool(config.amp), ranks=ranks)
    if settings.learn_from == "relabelled":
        mixture = fit_mixture(snapshot, config.tcl)
        rows, learned = np.arange(len(labels)), relabelled(mixture, snapshot.embeddings, labels, settings.threshold)
    else:
        rows, learned = np.flatnonzero(_clean(run, model, snapshot, labels, device) > settings.threshold), labels
    if len(rows) < (config.optim.batch_size or 1):
        raise InputError(
            f"only {len(rows)} labels are judged clean, fewer than a batch; lower finetune.threshold or the batch size"
        )
    weights = model.net.state_dict()
    if settings.new_classifier:
        weights = {name: value for name, value in weights.items() if not name.startswith("classifier.")}
    return StartingPoint(weights, rows, learned)


def _require_same(run: FinishedRun, config: Config, data: Prepared) -> None:
    """The network and the images that were learned from are the run's.

    Else the weights would not fit, or what is tested on might have been learned from before.
    """
    other = f"the run in {run.folder} was trained on other data than {config.data.path}"
    if run.classes != data.classes:
        raise InputError(f"{other}: the classes differ")
    if run.shape != data.train.images.shape:
        raise InputError(
            f"{other}: it saw {describe_shape(run.shape)}, these are {describe_shape(data.train.images.shape)}"
        )
    for name, before in run.config["model"].items():
        if name != "weights" and before != getattr(config.model, name):
            raise InputError(f"model.{name} is {before} in {run.folder}, whose weights would not fit; leave it out")
    learned = run.table[run.table["split"] == "train"]
    order = np.argsort(data.train.rows)
    names = [data.train.names[row] for row in order]
    if learned["index"].tolist() != data.train.rows[order].tolist() or learned["file_name"].tolist() != names:
        noun = f"{run.noun}s"
        raise InputError(
            f"{other}: since then {noun} were added, removed or held out anew, so that tests would be on {noun} that "
            "it has seen; train it anew"
        )


def relabelled(mixture: Mixture, embeddings: torch.Tensor, labels: Labels, threshold: float) -> Labels:
    """The likeliest component where its posterior exceeds `threshold`, elsewhere the given label, (N,).

    The threshold is a share of the largest posterior in the set: with unit vectors the posterior cannot come near one
    when there are many classes, so that a fixed bound would relabel nothing.
    """
    component, probability = mixture.likeliest(embeddings)
    sure = probability > threshold * probability.max()
    return np.where(sure.cpu().numpy(), component.cpu().numpy(), labels)


def _clean(run: Path, model: Model, snapshot: Snapshot, labels: Labels, device: torch.device) -> np.ndarray:
    """W (N,) of the given labels, by the method that `run` was trained with."""
    parts = Parts(
        net=model.net,
        views=model.views,
        labels=torch.from_numpy(labels).to(device),
        num_classes=len(model.classes),
        epochs=1,
        generator=torch.Generator(device),
    )
    method = make_method(build_config(file=run / CONFIG, settings={}), parts)
    return method.expectation(snapshot).clean.cpu().numpy()
