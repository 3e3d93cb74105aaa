"""Warnings come once, and only when something has lasted."""

import torch

from twincl.methods.method import Snapshot
from twincl.runs.listener import Silence
from twincl.runs.warner import Warner


class Notes(Silence):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_a_symptom_is_told_once_when_it_has_lasted():
    notes = Notes()
    warner = Warner(("cat", "dog"), notes)
    given = torch.arange(20) % 2
    healthy = Snapshot(torch.zeros(20, 2), torch.eye(2)[given])
    collapsed = Snapshot(torch.zeros(20, 2), torch.eye(2)[torch.ones(20, dtype=torch.long)])
    clean = torch.where(given == 1, 0.9, 0.2)
    for snapshot in (collapsed, collapsed, healthy, collapsed, collapsed):
        warner.look(snapshot, given.numpy(), clean)
    assert notes.notes == []
    for _ in range(3):
        warner.look(collapsed, given.numpy(), clean)
    assert len(notes.notes) == 1
    assert notes.notes[0].startswith("warning: 100% of the training data are predicted to be 'dog'")
    assert len(warner.at_the_end()) == 1
    assert len(notes.notes) == 1


def test_at_the_end_everything_is_told():
    notes = Notes()
    warner = Warner(("cat", "dog"), notes)
    given = torch.arange(20) % 2
    warner.look(Snapshot(torch.zeros(20, 2), torch.eye(2)[given]), given.numpy(), torch.ones(20))
    assert notes.notes == [], "labels that all look right are no fault while training goes on"
    assert warner.at_the_end() == [notes.notes[0].removeprefix("warning: ")]
