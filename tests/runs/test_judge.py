"""Who may vote on a label: training samples, evenly spaced where there are many, never the sample itself."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from twincl.core.opinions import class_opinions
from twincl.methods.method import Snapshot
from twincl.runs import judge


def snapshot(count: int, seed: int) -> Snapshot:
    generator = torch.Generator().manual_seed(seed)
    embeddings = F.normalize(torch.randn(count, 4, generator=generator), dim=1)
    return Snapshot(embeddings, torch.randn(count, 3, generator=generator).softmax(1))


@pytest.mark.parametrize(("most", "voters"), [(100, range(20)), (5, [0, 4, 9, 14, 19])])
def test_witnesses(most: int, voters, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "WITNESSES", most)
    monkeypatch.setattr(judge, "WITNESSES_PER_CLASS", 1)
    train, held_out, given = snapshot(20, 0), snapshot(6, 1), np.arange(20) % 3
    rows = torch.tensor(list(voters))
    keys, labels = train.embeddings[rows], torch.from_numpy(given)[rows]
    own = torch.full((20,), -1)
    own[rows] = torch.arange(len(rows))
    expected = class_opinions(train.probabilities, train.embeddings, keys, labels, own)
    np.testing.assert_allclose(judge._opinions(train, train, given), expected, rtol=1e-5)
    strangers = class_opinions(held_out.probabilities, held_out.embeddings, keys, labels, torch.full((6,), -1))
    np.testing.assert_allclose(judge._opinions(held_out, train, given), strangers, rtol=1e-5)


def test_many_classes_have_more_witnesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "WITNESSES", 2)
    monkeypatch.setattr(judge, "WITNESSES_PER_CLASS", 4)
    train, given = snapshot(12, 0), np.arange(12) % 3
    every = class_opinions(*train[::-1], train.embeddings, torch.from_numpy(given), torch.arange(12))
    np.testing.assert_allclose(judge._opinions(train, train, given), every, rtol=1e-5)
