"""Run folders for the report, made without a training."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from twincl.results.folder import CONFIG, METRICS, SUMMARY, write_issues
from twincl.results.model_file import DESCRIPTION
from twincl.results.outputs import Outputs, save_outputs

METRICS_OF_AN_EPOCH = {
    "loss": 2.0,
    "loss_contrast": 1.5,
    "loss_cross": 0.5,
    "noise_rate_estimate": 0.25,
    "train_agreement": 0.7,
    "test_accuracy": 0.9,
}
TRUTH = {
    "noise_rate_actual": 0.2,
    "detection_auroc": 0.95,
    "detection_average_precision": 0.9,
    "corrected_label_accuracy": 0.97,
}


def write_run(
    folder: Path,
    path: Path | str,
    names: Sequence[str],
    given: np.ndarray,
    suggested: np.ndarray,
    classes: Sequence[str],
    *,
    epochs: int = 4,
    truth: bool = False,
    embeddings: np.ndarray | None = None,
    shape: Sequence[int] = (3, 16, 16),
) -> Path:
    """A finished run over N images whose given label is suspect where another one is suggested."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    flagged = given != suggested
    quality = np.where(flagged, rng.uniform(0.001, 0.05, len(given)), rng.uniform(0.6, 0.99, len(given)))
    if embeddings is None:
        embeddings = np.eye(max(len(classes), 8))[suggested] + 0.2 * rng.normal(size=(len(given), max(len(classes), 8)))
    embeddings = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    text = np.asarray([*classes, ""], dtype=object)[:-1]
    table = pd.DataFrame(
        {
            "index": np.arange(len(given)),
            "file_name": pd.Series(list(names), dtype=object),
            "given_label": text[given],
            "predicted_label": text[suggested],
            "is_label_issue": flagged,
            "label_quality": quality,
            "clean_probability": np.where(flagged, 0.1, 0.95),
            "suggested_label": text[suggested],
            "suggestion_confidence": rng.uniform(0.6, 0.999, len(given)),
            "split": np.where(np.arange(len(given)) % 5 == 4, "held_out", "train"),
        }
    )
    write_issues(folder, table.sort_values("label_quality").round(6))
    probabilities = np.full((len(given), len(classes)), 0.1 / len(classes), dtype=np.float32)
    probabilities[np.arange(len(given)), suggested] += 0.9
    save_outputs(folder, Outputs(np.arange(len(given)), probabilities, embeddings.astype(np.float32)))
    extra = TRUTH if truth else {}
    records = [{"epoch": epoch + 1, **METRICS_OF_AN_EPOCH, **extra} for epoch in range(epochs)]
    summary = {"test_accuracy_last5_mean": 0.912, "test_data": "40 samples held out of the data (20%)", **extra}
    (folder / METRICS).write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / SUMMARY).write_text(json.dumps(summary | {"twincl_version": "0.1.0"}))
    (folder / DESCRIPTION).write_text(json.dumps({"classes": list(classes), "shape": list(shape)}))
    settings = {"data": {"path": str(path), "image_column": None, "label_column": None}, "noise": {"type": "none"}}
    (folder / CONFIG).write_text(yaml.safe_dump({"method": "tcl", "seed": 0, **settings}, allow_unicode=True))
    return folder


@pytest.fixture(scope="session")
def make_run():
    return write_run


@pytest.fixture
def photo_run(tmp_path, photos, colours):
    """A run on 36 small pictures in a folder, every fourth of them suspect."""
    files = sorted(photos.rglob("*.png"))
    given = np.array([colours.index(file.parent.name) for file in files])
    suggested = np.where(np.arange(len(files)) % 4 == 0, (given + 1) % 3, given)
    names = [file.relative_to(photos).as_posix() for file in files]
    return write_run(tmp_path / "run", photos, names, given, suggested, colours)
