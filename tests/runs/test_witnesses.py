"""Who may vote on a label: training samples, some of each label where there are many, never the sample itself."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from twincl.augment.features import FEATURES, FeatureViews
from twincl.augment.images import NATURAL, ImageViews
from twincl.core.opinions import class_opinions
from twincl.data.stores import MemoryFeatures, MemoryImages
from twincl.methods.method import Snapshot
from twincl.runs import witnesses
from twincl.runs.prepare import LabelledSet
from twincl.runs.witnesses import Seen, opinions


def labelled(images) -> LabelledSet:
    count = len(images)
    return LabelledSet(images, np.arange(count) % 3, [str(row) for row in range(count)], np.arange(count))


def snapshot(count: int, seed: int) -> Snapshot:
    generator = torch.Generator().manual_seed(seed)
    embeddings = F.normalize(torch.randn(count, 4, generator=generator), dim=1)
    return Snapshot(embeddings, torch.randn(count, 3, generator=generator).softmax(1))


def images(count: int, seed: int) -> Seen:
    pixels = MemoryImages(np.zeros((count, 8, 8, 3), np.uint8))
    return Seen(labelled(pixels), snapshot(count, seed), ImageViews(NATURAL, (0.5,) * 3, (0.2,) * 3))


@pytest.mark.parametrize(("most", "voters"), [(100, range(20)), (5, [0, 2, 7, 12, 17])])
@pytest.mark.parametrize("block", [7, 4096])
def test_who_is_asked(most: int, voters, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witnesses, "WITNESSES", most)
    monkeypatch.setattr(witnesses, "WITNESSES_PER_CLASS", 1)
    monkeypatch.setattr(witnesses, "BLOCK", block)
    train, held_out = images(20, 0), images(6, 1)
    rows = torch.tensor(list(voters))
    seen, others = train.snapshot, held_out.snapshot
    keys, labels = seen.embeddings[rows], torch.from_numpy(train.samples.labels)[rows]
    own = torch.full((20,), -1)
    own[rows] = torch.arange(len(rows))
    expected = class_opinions(seen.probabilities, seen.embeddings, keys, labels, own)
    np.testing.assert_allclose(opinions(train, train), expected, rtol=1e-5)
    strangers = class_opinions(others.probabilities, others.embeddings, keys, labels, torch.full((6,), -1))
    np.testing.assert_allclose(opinions(held_out, train), strangers, rtol=1e-5)


def test_many_classes_have_more_witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witnesses, "WITNESSES", 2)
    monkeypatch.setattr(witnesses, "WITNESSES_PER_CLASS", 4)
    train = images(12, 0)
    embeddings, probabilities = train.snapshot
    labels = torch.from_numpy(train.samples.labels)
    every = class_opinions(probabilities, embeddings, embeddings, labels, torch.arange(12))
    np.testing.assert_allclose(opinions(train, train), every, rtol=1e-5)


def test_feature_vectors_are_neighbours_as_they_were_given() -> None:
    """In units of each feature's deviation, whatever the network has made of them; a constant feature says nothing."""
    values = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32) * [1, 50, 3, 0] + [0, 9, -9, 7]
    values = values.astype(np.float32)
    mean, deviation = values.mean(0), values.std(0)
    train = Seen(
        labelled(MemoryFeatures(values)), snapshot(12, 0), FeatureViews(FEATURES, tuple(mean), tuple(deviation))
    )
    units = np.column_stack([(values[:, :3] - mean[:3]) / deviation[:3], np.full(12, 0.5 * np.sqrt(4))])
    units = torch.from_numpy((units / np.linalg.norm(units, axis=1, keepdims=True)).astype(np.float32))
    labels = torch.from_numpy(train.samples.labels)
    expected = class_opinions(train.snapshot.probabilities, units, units, labels, torch.arange(12))
    np.testing.assert_allclose(opinions(train, train), expected, rtol=1e-4)


def test_one_feature_has_more_than_two_directions() -> None:
    """Three classes in a row on a line: the one in the middle has neighbours of its own."""
    values = (
        np.repeat([-1, 0, 1], 30).astype(np.float32)[:, None] + np.linspace(-0.1, 0.1, 90, dtype=np.float32)[:, None]
    )
    views = FeatureViews(FEATURES, (float(values.mean()),), (float(values.std()),))
    samples = LabelledSet(
        MemoryFeatures(values), np.repeat([0, 1, 2], 30), [str(row) for row in range(90)], np.arange(90)
    )
    undecided = Snapshot(torch.zeros(90, 4), torch.full((90, 3), 1 / 3))
    train = Seen(samples, undecided, views)
    assert opinions(train, train).argmax(1).tolist() == samples.labels.tolist()
