import sys
from pathlib import Path

import numpy as np
import pytest

from twincl.config import build_config
from twincl.runs.clean import clean

sys.path[:0] = [
    str(Path(__file__).parents[2]),  # for `benchmarks`, which is not installed with the package
    str(Path(__file__).parent),  # for `payload`
]


@pytest.fixture(scope="session")
def vector_run(tmp_path_factory) -> Path:
    """A finished run on feature vectors that no test changes."""
    folder = tmp_path_factory.mktemp("vectors")
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    np.savez(folder / "data.npz", x=rng.normal(size=(40, 4)).astype(np.float32) + 5 * labels[:, None], y=labels)
    settings = {"data.path": str(folder / "data.npz"), "optim.epochs": 1, "data.holdout": 0.0, "amp": False}
    clean(build_config(settings=settings), folder / "run", relabel_above=0.8, drop_below=0.2)
    return folder / "run"
