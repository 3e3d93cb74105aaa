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
from twincl.results.folder import CONFIG
from twincl.results.model_file import Model, load_model
from twincl.results.settings import flatten
from twincl.runs.assemble import StartingPoint, make_method
from twincl.runs.prepare import Labels, Prepared
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
        InputError: there is no run, or a setting cannot be used.
    """
    if not (run / CONFIG).is_file():
        raise InputError(f"{run} holds no finished run ({CONFIG} is missing); give the --output of a training")
    before = build_config(file=run / CONFIG, settings={})
    smaller = min(LARGEST_BATCH, before.optim.batch_size or LARGEST_BATCH)
    of_preset = build_config(preset=before.preset, settings={})
    given = flatten(before.model_dump()) | {"device": "auto", "amp": of_preset.amp, "data.workers": None}
    given = {key: value for key, value in given.items() if not key.startswith("finetune.")}  # of a stage before
    return build_config(
        preset=before.preset,
        settings=given | STAGE_TWO | {"optim.batch_size": smaller, "finetune.run": str(run)} | settings,
    )


def starting_point(config: Config, data: Prepared, device: torch.device, ranks: Ranks = ALONE) -> StartingPoint:
    """Weights of the run to go on from, and what to learn: the rows and labels that its E-step settles on.

    Raises:
        InputError: the run is of other data, or judges too few labels clean.
    """
    settings = config.finetune
    assert settings.run is not None
    run = Path(settings.run)
    model = load_model(run, device)
    if model.classes != data.classes or model.shape != data.train.images.shape:
        raise InputError(f"the run in {run} was trained on other data: classes or shape differ from {config.data.path}")
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
