"""Judging labels: those of the training after an epoch, and at the end those of every image in the user's data."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from twincl.augment.views import Views
from twincl.core.noise_model import NoiseModel, fit_noise_model
from twincl.methods.method import Snapshot
from twincl.results.issues import issue_table
from twincl.results.judgement import Judgement, judge_labels
from twincl.results.outputs import Outputs
from twincl.runs.prepare import Prepared
from twincl.runs.witnesses import Seen, opinions


@dataclass(frozen=True)
class Judged:
    """A judgement on images with their names; N images in the order of the user's data."""

    judgement: Judgement
    of_training: Judgement  # on the labels that were learned from alone
    temperature: float  # that calibrates the classifier
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


def judge_quickly(snapshot: Snapshot, given: NDArray[np.int64]) -> tuple[NoiseModel, Judgement]:
    """Judge the training labels by the classifier alone, as after every epoch."""
    return _judge(snapshot.probabilities.cpu().numpy(), given)


def judge_all(classifier: NoiseModel, data: Prepared, train: Snapshot, test: Snapshot | None, views: Views) -> Judged:
    """Judge the training images and those that were split off for testing, by classifier and neighbours.

    `classifier` is the noise model of the training labels by the classifier alone. That of the judgement is fitted to
    the training labels, too.
    """
    parts = [Seen(data.train, train, views)]
    if data.held_out is not None and test is not None:
        parts.append(Seen(data.held_out, test, views))
    rows = np.concatenate([part.samples.rows for part in parts])
    order = np.argsort(rows)
    given = np.concatenate([part.samples.labels for part in parts])[order]
    names = [name for part in parts for name in part.samples.names]
    held_out = np.repeat([False, True][: len(parts)], [len(part.samples.rows) for part in parts])
    raw = np.concatenate([part.snapshot.probabilities.cpu().numpy() for part in parts])
    embeddings = np.concatenate([part.snapshot.embeddings.cpu().numpy() for part in parts])
    said = [opinions(part, parts[0]) for part in parts]
    model, of_training = _judge(said[0], data.train.labels)
    return Judged(
        judge_labels(model.calibrated(np.concatenate(said)[order]), given, model),
        of_training,
        classifier.temperature,
        Outputs(rows[order], classifier.calibrated(raw[order]), embeddings[order]),
        [names[row] for row in order],
        held_out[order],
    )


def _judge(probabilities: NDArray[np.float32], given: NDArray[np.int64]) -> tuple[NoiseModel, Judgement]:
    """Fit the noise model to labels, and judge these."""
    model = fit_noise_model(probabilities, given)
    return model, judge_labels(model.calibrated(probabilities), given, model)
