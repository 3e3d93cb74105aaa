"""Finished runs to export: one trained on digits, and any data under a made-up verdict."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from twincl.config import build_config, to_yaml
from twincl.data.classes import encode_labels
from twincl.data.read import read_dataset
from twincl.files import write_json, write_text
from twincl.nets.registry import create_encoder
from twincl.nets.twin import TwinNet
from twincl.results.folder import CONFIG, METRICS, SUMMARY, write_issues
from twincl.results.model_file import save_model
from twincl.results.outputs import Outputs, save_outputs
from twincl.runs.train import train


@pytest.fixture(scope="session")
def digits(tmp_path_factory) -> Path:
    """A run of a few epochs on digits of which a third of the labels are redrawn; no test changes it."""
    run = tmp_path_factory.mktemp("runs") / "digits"
    settings = {
        "data.path": "digits",
        "noise.type": "symmetric",
        "noise.rate": 0.3,
        "optim.epochs": 4,
        "optim.batch_size": 64,
        "amp": False,
    }
    train(build_config(settings=settings), run)
    return run


@pytest.fixture(scope="session")
def vectors(tmp_path_factory) -> Path:
    """A run on feature vectors; no test changes it."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    features = rng.normal(size=(90, 12)) + 3 * np.eye(3, 12)[labels]
    np.savez(folder / "vectors.npz", x=features.astype(np.float32), y=labels)
    settings = {"data.path": str(folder / "vectors.npz"), "optim.epochs": 2, "optim.batch_size": 16, "amp": False}
    train(build_config(settings=settings), folder / "run")
    return folder / "run"


def make_run(folder: Path, data: Path, *, seed: int = 0) -> Path:
    """A run folder about the training split of `data` as if all of it had been judged, each row by chance."""
    rng = np.random.default_rng(seed)
    raw = read_dataset(str(data))
    (given,), classes = encode_labels(raw.train.labels, classes=raw.classes)
    count, names = len(raw.train), np.asarray(classes, dtype=object)
    probabilities = rng.dirichlet(np.full(len(classes), 0.3), count).astype(np.float32)
    predicted, clean = probabilities.argmax(1), rng.random(count).round(6)
    issue = (clean < 0.5) & (predicted != given)
    suggested = np.where(issue, predicted, given)
    table = pd.DataFrame(
        {
            "index": np.arange(count),
            "file_name": pd.Series(raw.train.names, dtype=object),
            "given_label": names[given],
            "predicted_label": names[predicted],
            "is_label_issue": issue,
            "label_quality": clean,
            "clean_probability": clean,
            "suggested_label": names[suggested],
            "suggestion_confidence": probabilities[np.arange(count), suggested].astype(float).round(6),
            "split": np.where(rng.random(count) < 0.2, "held_out", "train"),
        }
    )
    folder.mkdir()
    write_issues(folder, table.sort_values(["label_quality", "index"]))
    embeddings = rng.normal(size=(count, 4)).astype(np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    save_outputs(folder, Outputs(np.arange(count), probabilities, embeddings))
    torch.manual_seed(seed)
    net = TwinNet(create_encoder("small", shape=(3, 16, 16)), len(classes), feat_dim=4, head_bn=True, dropout=0.25)
    about = {
        "encoder": "small",
        "shortcut": "activated",
        "feat_dim": 4,
        "head_bn": True,
        "dropout": 0.25,
        "classes": list(classes),
        "shape": [3, 16, 16],
        "mean": [0.4, 0.5, 0.6],
        "std": [0.2, 0.3, 0.4],
    }
    save_model(folder, net, about)
    write_text(folder / CONFIG, to_yaml(build_config(settings={"data.path": str(data)})))
    write_text(folder / METRICS, "")
    write_json(folder / SUMMARY, {})
    return folder


@pytest.fixture(scope="session")
def run_on():
    return make_run


@pytest.fixture(scope="session")
def photo_run(photos, tmp_path_factory) -> Path:
    """A run about the folder of 3 x 12 pictures; no test changes it."""
    return make_run(tmp_path_factory.mktemp("runs") / "photos", photos)


@pytest.fixture
def fingerprint():
    """Every file below a folder with its content: what must not change."""

    def look(folder: Path) -> dict[str, bytes]:
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    return look
