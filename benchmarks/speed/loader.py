"""Whether worker processes that decode 224-pixel JPEGs keep a ResNet-18 busy when the images do not fit in memory."""

import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.speed.options import Figures, Options
from benchmarks.speed.product import Steps
from twincl.config import build_config
from twincl.runs.assemble import assemble
from twincl.runs.prepare import prepare
from twincl.runs.resolve import resolve

SIZE = 224


def run(options: Options) -> Figures:
    """Share of the time of a step that passes before its batch is there; the first, which starts the workers, apart."""
    count, batch_size, steps = (32, 4, 3) if options.quick else (512, 32, 6)
    with tempfile.TemporaryDirectory() as folder:
        _write_photographs(Path(folder), count)
        settings = {
            "data.path": folder,
            "data.img_size": SIZE,
            "data.memory_limit_mb": 1,
            "data.holdout": 0.0,
            "model.name": "resnet18",
            "optim.batch_size": batch_size,
            "augment.name": "natural",
            "amp": options.amp,
        }
        config = build_config(settings=settings)
        data = prepare(config, options.device)
        assert not data.train.images.in_memory
        training = assemble(resolve(config, data, options.device), data, options.device)
        training.state.net.train()
        product = Steps(training)
        product()
        waited, worked = 0.0, 0.0
        for _ in range(steps):
            start = time.perf_counter()
            batch = product.fetch()
            there = time.perf_counter()
            product.descend(batch)
            waited, worked = waited + there - start, worked + time.perf_counter() - there
    details = {"batch_size": batch_size, "wait_seconds": waited / steps, "work_seconds": worked / steps}
    return {"loader_wait_fraction": waited / (waited + worked), "loader": details}


def _write_photographs(folder: Path, count: int) -> None:
    """JPEGs with the spectrum of photographs, much in the large and little in the small, in two classes."""
    rng = np.random.default_rng(0)
    for row in range(count):
        layers = [
            np.asarray(
                Image.fromarray(rng.integers(0, 256, (side, side, 3), dtype=np.uint8)).resize((SIZE, SIZE)), np.float32
            )
            / side
            for side in (4, 16, 64)
        ]
        pixels = sum(layers) / sum(1 / side for side in (4, 16, 64))
        file = folder / f"class{row % 2}" / f"{row:04}.jpg"
        file.parent.mkdir(exist_ok=True)
        Image.fromarray(np.asarray(pixels).astype(np.uint8)).save(file, quality=90)
