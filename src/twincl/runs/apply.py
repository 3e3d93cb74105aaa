"""A trained model at work: what it says of every image of a split."""

import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from twincl.data.batches import Batches
from twincl.data.dataset import RawSplit
from twincl.data.images import load_like
from twincl.results.model_file import Model, calibrated
from twincl.runs.prepare import Progress
from twincl.runs.workers import number_of_workers
from twincl.shapes import is_vector
from twincl.training.snapshot import take_snapshot


@dataclass(frozen=True)
class Answers:
    """What a model says of the M images of a split that decode."""

    embeddings: torch.Tensor  # (M, D) unit rows
    probabilities: torch.Tensor  # (M, K) calibrated
    kept: NDArray[np.int64]  # (M,) their rows in the split
    broken: list[tuple[str, str]]  # (name, reason) of all others


def apply_model(
    model: Model,
    split: RawSplit,
    device: torch.device,
    *,
    workers: int | None = None,
    memory_limit: int = 2 * 2**30,
    progress: Progress = None,
) -> Answers:
    """Look at every image of `split` once; `model` itself stays where it is.

    Feature vectors are looked at in double precision, so that no answer depends on which others are asked for.

    Raises:
        InputError: the split is not like the data that the model was trained on, or not one image decodes.
    """
    count, exact = number_of_workers(workers), is_vector(model.shape)
    loaded = load_like(split, model.shape, memory_limit=memory_limit, workers=count, progress=progress)
    net = copy.deepcopy(model.net).to(device, torch.float64 if exact else torch.float32)
    unlabelled = np.zeros(len(loaded.images), dtype=np.int64)
    size = min(256, len(unlabelled))
    served = Batches(loaded.images, unlabelled, batch_size=size, device=device, workers=count).in_order()
    batches = (replace(batch, images=batch.images.double()) if exact else batch for batch in served)
    snapshot = take_snapshot(net, model.views, batches, amp=False)
    probabilities = calibrated(snapshot.probabilities.log().cpu(), model.temperature)
    return Answers(snapshot.embeddings.cpu(), probabilities, loaded.kept, loaded.broken)
