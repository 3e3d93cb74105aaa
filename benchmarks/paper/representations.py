"""What the network of a finished run makes of its images, with the truth beside it, for the figures."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from twincl.config import build_config
from twincl.data.batches import Batches
from twincl.data.images import Images
from twincl.methods.method import Snapshot
from twincl.methods.tcl import fit_mixture
from twincl.results.folder import CONFIG
from twincl.results.model_file import Model, load_model
from twincl.runs.prepare import prepare
from twincl.training.snapshot import take_snapshot

Labels = NDArray[np.int64]


class Representations(NamedTuple):
    """N training images, M test images, of K classes."""

    classes: tuple[str, ...]
    train: NDArray[np.float32]  # (N, D)
    truth: Labels  # (N,)
    wrong: NDArray[np.bool_]  # (N,) the given label is not the true one
    posterior: NDArray[np.float32]  # (N,) of the given label, Eq. 7
    test: NDArray[np.float32]  # (M, D)
    predicted: Labels  # (M,)


def look_at(run: Path, data: str | None = None) -> Representations:
    """Send all images of the run through its network; `data` is where they lie now, if they were moved."""
    config = build_config(file=run / CONFIG, settings={"data.path": data} if data else {})
    device = torch.device("cpu")
    prepared, model = prepare(config, device), load_model(run, device)
    evaluation, given = prepared.evaluation, prepared.train.labels
    assert evaluation.images is not None
    train, test = _snapshot(model, prepared.train.images), _snapshot(model, evaluation.images)
    truth = given if evaluation.truth is None else evaluation.truth
    return Representations(
        classes=model.classes,
        train=train.embeddings.numpy(),
        truth=truth,
        wrong=given != truth,
        posterior=fit_mixture(train, config.tcl).posterior_of(torch.from_numpy(given), train.embeddings).numpy(),
        test=test.embeddings.numpy(),
        predicted=test.probabilities.argmax(1).numpy(),
    )


def _snapshot(model: Model, images: Images) -> Snapshot:
    unlabelled = np.zeros(len(images), dtype=np.int64)
    batches = Batches(images, unlabelled, batch_size=min(256, len(images)), device=torch.device("cpu"))
    return take_snapshot(model.net, model.views, batches.in_order(), amp=False)
