"""Peak memory of a whole training, from file to run folder: `small` on as many images as CIFAR-10 has."""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.speed.options import Figures, Options
from benchmarks.speed.product import random_images
from benchmarks.speed.resident import in_child, peak_bytes
from twincl.config import build_config
from twincl.runs.train import train


def run(options: Options) -> Figures:
    """One epoch on random images, tested on a fifth as many."""
    count = 1_000 if options.quick else 50_000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "images.npz"
        images, labels = random_images(count)
        test_images, test_labels = random_images(count // 5, seed=1)
        np.savez(file, x_train=images, y_train=labels, x_test=test_images, y_test=test_labels)
        peak = in_child(_train, str(file), str(Path(folder) / "run"), options.amp)
    return {"train_peak_mb": peak / 1e6, "memory": {"images": count}}


def _train(file: str, output: str, amp: bool) -> int:
    settings = {"data.path": file, "model.name": "small", "augment.name": "natural", "optim.epochs": 1, "amp": amp}
    train(build_config(settings=settings), Path(output))
    return peak_bytes()
