"""Judging labels: those of the training after an epoch, and at the end those of every image in the user's data."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from twincl.core.noise_model import NoiseModel, fit_noise_model
from twincl.methods.method import Snapshot
from twincl.results.issues import issue_table
from twincl.results.judgement import Judgement, judge_labels
from twincl.results.outputs import Outputs
from twincl.runs.prepare import LabelledSet, Prepared


@dataclass(frozen=True)
class Judged:
    """A judgement on images with their names; N images in the order of the user's data."""

    judgement: Judgement
    model: NoiseModel
    outputs: Outputs
    names: list[str]
    held_out: NDArray[np.bool_]  # (N,) never learned from

    def table(self, classes: tuple[str, ...]) -> pd.DataFrame:
        """The issue table."""
        return issue_table(
            self.judgement,
            self.outputs.class_probabilities.argmax(1),
            names=self.names,
            rows=self.outputs.rows,
            held_out=self.held_out,
            classes=classes,
        )


def judge_training(snapshot: Snapshot, given: NDArray[np.int64]) -> tuple[NoiseModel, Judgement]:
    """Fit the noise model to the training labels, and judge these."""
    probabilities = snapshot.probabilities.cpu().numpy()
    model = fit_noise_model(probabilities, given)
    return model, judge_labels(model.calibrated(probabilities), given, model)


def judge_all(model: NoiseModel, data: Prepared, train: Snapshot, test: Snapshot | None) -> Judged:
    """Judge the training images and those that were split off for testing."""
    parts: list[tuple[LabelledSet, Snapshot]] = [(data.train, train)]
    if data.held_out is not None and test is not None:
        parts.append((data.held_out, test))
    rows = np.concatenate([labelled.rows for labelled, _ in parts])
    order = np.argsort(rows)
    given = np.concatenate([labelled.labels for labelled, _ in parts])[order]
    names = [name for labelled, _ in parts for name in labelled.names]
    held_out = np.repeat([False, True][: len(parts)], [len(labelled.rows) for labelled, _ in parts])
    raw = np.concatenate([snapshot.probabilities.cpu().numpy() for _, snapshot in parts])
    calibrated = model.calibrated(raw[order])
    embeddings = np.concatenate([snapshot.embeddings.cpu().numpy() for _, snapshot in parts])
    return Judged(
        judge_labels(calibrated, given, model),
        model,
        Outputs(rows[order], calibrated, embeddings[order]),
        [names[row] for row in order],
        held_out[order],
    )
