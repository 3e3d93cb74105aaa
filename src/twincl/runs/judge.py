"""Judging labels: those of the training after an epoch, and at the end those of every image in the user's data."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from twincl.core.noise_model import NoiseModel, fit_noise_model
from twincl.core.opinions import class_opinions
from twincl.core.spread import evenly_spaced
from twincl.methods.method import Snapshot
from twincl.results.issues import issue_table
from twincl.results.judgement import Judgement, judge_labels
from twincl.results.outputs import Outputs
from twincl.runs.prepare import LabelledSet, Prepared

WITNESSES, WITNESSES_PER_CLASS = 10_000, 100  # training samples among which neighbours are looked for, at most


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


def judge_all(classifier: NoiseModel, data: Prepared, train: Snapshot, test: Snapshot | None) -> Judged:
    """Judge the training images and those that were split off for testing, by classifier and neighbours.

    `classifier` is the noise model of the training labels by the classifier alone. That of the judgement is fitted to
    the training labels, too.
    """
    parts: list[tuple[LabelledSet, Snapshot]] = [(data.train, train)]
    if data.held_out is not None and test is not None:
        parts.append((data.held_out, test))
    rows = np.concatenate([labelled.rows for labelled, _ in parts])
    order = np.argsort(rows)
    given = np.concatenate([labelled.labels for labelled, _ in parts])[order]
    names = [name for labelled, _ in parts for name in labelled.names]
    held_out = np.repeat([False, True][: len(parts)], [len(labelled.rows) for labelled, _ in parts])
    raw = np.concatenate([snapshot.probabilities.cpu().numpy() for _, snapshot in parts])
    embeddings = np.concatenate([snapshot.embeddings.cpu().numpy() for _, snapshot in parts])
    opinions = [_opinions(snapshot, train, data.train.labels) for _, snapshot in parts]
    model, of_training = _judge(opinions[0], data.train.labels)
    return Judged(
        judge_labels(model.calibrated(np.concatenate(opinions)[order]), given, model),
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


def _opinions(snapshot: Snapshot, train: Snapshot, given: NDArray[np.int64]) -> NDArray[np.float32]:
    """What classifier and neighbours say of the images of `snapshot`, (N, K); neighbours are of the training set."""
    device, classes = train.embeddings.device, train.probabilities.shape[1]
    most = max(WITNESSES, WITNESSES_PER_CLASS * classes)
    witnesses = torch.from_numpy(evenly_spaced(len(given), most)).to(device)
    own = torch.full((len(snapshot.embeddings),), -1, device=device)
    if snapshot is train:
        own[witnesses] = torch.arange(len(witnesses), device=device)
    labels = torch.from_numpy(given).to(device)[witnesses]
    found = class_opinions(snapshot.probabilities, snapshot.embeddings, train.embeddings[witnesses], labels, own)
    return found.cpu().numpy()
