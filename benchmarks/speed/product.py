"""The training that users run, on random images: the objects of `runs.assemble`, the step of `training.loop`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.speed.options import Options
from twincl.config import build_config
from twincl.data.batches import Batch
from twincl.data.stores import MemoryImages
from twincl.methods.tcl import TCL
from twincl.runs.assemble import Training, assemble
from twincl.runs.prepare import Evaluation, LabelledSet, Prepared
from twincl.runs.resolve import resolve
from twincl.training.loop import descend

CLASSES = 10


def random_images(count: int, size: int = 32, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(N, size, size, 3) uint8 and labels (N,)."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, size, size, 3), dtype=np.uint8), rng.integers(0, CLASSES, count)


def random_training(encoder: str, count: int, batch_size: int, options: Options, **settings: Any) -> Training:
    """A training on `count` random images of 32x32x3; `settings` are those of TCL."""
    pixels, labels = random_images(count)
    train = LabelledSet(MemoryImages(pixels), labels, [str(row) for row in range(count)], np.arange(count))
    data = Prepared(train, None, Evaluation(None, None, None, "none"), tuple(map(str, range(CLASSES))), "natural", [])
    given = {
        "model.name": encoder,
        "optim.batch_size": batch_size,
        "amp": options.amp,
        **{f"tcl.{name}": value for name, value in settings.items()},
    }
    training = assemble(resolve(build_config(settings=given), data, options.device), data, options.device)
    assert isinstance(training.state.method, TCL)
    training.state.epoch = training.state.method.label_epochs  # from here on targets are made in every step
    training.state.net.train()
    return training


class Steps:
    """Calls of this are the steps of a training that never ends, each with the fetching of its batch."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self._batches = self._endless()

    def __call__(self) -> None:
        """One step as in `training.loop.fit`."""
        batch = self.fetch()
        self.descend(batch)

    def fetch(self) -> Batch:
        """The next batch."""
        return next(self._batches)

    def descend(self, batch: Batch) -> None:
        """The rest of the step."""
        terms = descend(self.training.state, batch, rate=self.training.schedule(0))
        torch.stack(list(terms.values()))  # what is kept for the log

    def _endless(self) -> Iterator[Batch]:
        epoch = 0
        while True:
            yield from self.training.batches.shuffled(0, epoch)
            epoch += 1
