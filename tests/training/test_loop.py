"""The loop calls a method when the contract says so, and stops where numbers end."""

import itertools

import pytest
import torch

from twincl.errors import TrainingError
from twincl.methods.method import Detection
from twincl.training.loop import require_finite


class Diary:
    """A method that notes what it is asked, and learns one number for each class."""

    def __init__(self, update_every=1, broken_term=None):
        self.update_every, self.broken_term = update_every, broken_term
        self.calls, self.snapshots = [], []
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def expectation(self, snapshot, rows=None):
        self.calls.append("expectation")
        count = 12 if rows is None else len(rows)
        assert len(snapshot.embeddings) == count
        self.snapshots.append((snapshot, rows))
        return Detection(torch.ones(count), torch.ones(count))

    def losses(self, batch, epoch):
        self.calls.append(f"losses {epoch}")
        terms = {"pull": (self.weight - 1) ** 2, "push": 0 * self.weight + 2.0}
        if self.broken_term:
            terms[self.broken_term] = self.weight * 0 / 0
        return terms

    def after_step(self):
        self.calls.append("after_step")

    def state_dict(self):
        return {}


def diary(tiny, *, sample=None, **options):
    training = tiny(Diary(**options), sample=sample)
    training.state.optimizer = torch.optim.SGD([training.state.method.weight], lr=1.0)
    return training


@pytest.mark.parametrize(
    ("update_every", "epochs", "after"),
    [(1, 3, [1, 2, 3]), (2, 5, [2, 4, 5]), (3, 2, [2]), (10, 1, [1])],
)
def test_expectation_once_before_then_when_due_and_after_the_last(tiny, update_every, epochs, after):
    training = diary(tiny, update_every=update_every)
    seen = training.train(epochs)
    expected = ["expectation"]
    for epoch in range(epochs):
        expected += [f"losses {epoch}", "after_step"] * 3
        expected += ["expectation"] if epoch + 1 in after else []
    assert training.state.method.calls == expected
    assert [epoch.number for epoch in seen] == list(range(1, epochs + 1))
    assert [epoch.number for epoch in seen if epoch.detection is not None] == after
    assert [epoch.number for epoch in seen if epoch.snapshot is not None] == after
    assert training.state.epoch == epochs


def test_it_goes_on_where_the_state_stands(tiny):
    training = diary(tiny)
    training.state.epoch = 2
    seen = training.train(3)
    assert [epoch.number for epoch in seen] == [3]
    assert training.state.method.calls == [*["losses 2", "after_step"] * 3, "expectation"]


def test_steps_follow_the_schedule_and_the_gradient_of_the_sum(tiny):
    training = diary(tiny)
    asked, steps = [], []

    def schedule(step):
        asked.append(step)
        return 0.25 / (step + 1)

    seen = training.train(2, schedule=schedule, on_step=lambda step, of: steps.append((step, of)))
    assert sorted(set(asked)) == list(range(6))
    assert steps == [(1, 3), (2, 3), (3, 3)] * 2
    weight, sums = 0.0, []
    for step in range(6):
        sums.append((weight - 1) ** 2)
        weight -= 0.25 / (step + 1) * 2 * (weight - 1)
    assert float(training.state.method.weight.detach()) == pytest.approx(weight)
    assert seen[0].losses == pytest.approx({"pull": sum(sums[:3]) / 3, "push": 2.0})
    assert seen[1].losses["pull"] == pytest.approx(sum(sums[3:]) / 3)
    assert [epoch.learning_rate for epoch in seen] == pytest.approx([0.25 / 3, 0.25 / 6])
    assert all(epoch.train_seconds > 0 for epoch in seen)


def test_a_term_that_is_not_finite_is_named(tiny):
    training = diary(tiny, broken_term="repulsion")
    with pytest.raises(TrainingError, match=r"loss term 'repulsion' became nan in step 1 of epoch 1; try a lower --lr"):
        training.train(2)


def test_a_term_is_looked_at_once_and_named_by_its_step(tiny):
    state = tiny().state
    state.terms = [{"pull": torch.tensor(1.0)} for _ in range(60)]
    state.terms[55] = {"pull": torch.tensor(torch.inf)}
    require_finite(state, since=56)
    with pytest.raises(TrainingError, match="'pull' became inf in step 56 of epoch 1"):
        require_finite(state, since=50)


def test_a_network_that_is_not_finite_is_reported_where_no_loss_shows_it(tiny):
    training = tiny(count=4)  # one step: the loss was finite, what it did to the weights is not
    with pytest.raises(TrainingError, match=r"the network gives NaN after epoch 1; try a lower --lr"):
        training.train(1, schedule=lambda step: 1e38)


class Learner(Diary):
    """Moves the weights of the network, so that every look at it is another."""

    def losses(self, batch, epoch):
        terms = super().losses(batch, epoch)
        self.seen.append(batch.index)
        return terms | {"net": sum(weight.sum() for weight in self.net.parameters())}


def learner(tiny, **options):
    training = tiny(Learner(update_every=options.pop("update_every", 1)), **options)
    method, state = training.state.method, training.state
    method.net, method.seen = state.net, []
    state.optimizer = torch.optim.SGD([*state.net.parameters(), method.weight], lr=0.01)
    return training


@pytest.mark.parametrize("update_every", [1, 2])
def test_of_a_sample_only_what_is_learned_from_next_is_looked_at(tiny, update_every):
    training = learner(tiny, sample=4, update_every=update_every)
    seen = training.train(5)
    method = training.state.method
    looked_at = [rows for _, rows in method.snapshots]
    for done, rows in zip(range(0, 5, update_every), looked_at, strict=False):
        ahead = torch.cat(method.seen[done : done + update_every]).unique()
        assert rows.tolist() == ahead.tolist()
    assert looked_at[-1] is None, "at the end everything is"
    assert [epoch.number for epoch in seen if epoch.snapshot is not None] == (
        [1, 2, 3, 4, 5] if update_every == 1 else [2, 4, 5]
    )
    for epoch, rows in zip((epoch for epoch in seen if epoch.snapshot is not None), looked_at[1:], strict=True):
        assert (epoch.rows is None) == (rows is None)
        assert epoch.rows is None or epoch.rows.tolist() == rows.tolist()


def test_what_is_said_of_a_sample_is_said_now(tiny):
    """The rows of a part are those that a look at all would have given."""
    training = learner(tiny, sample=4)
    training.train(1)
    part, rows = training.state.method.snapshots[0]
    every = learner(tiny, sample=4)
    every.train(1, sampled=False)
    whole, none = every.state.method.snapshots[0]
    assert none is None
    for some, all_ in zip(part, whole, strict=True):
        torch.testing.assert_close(some, all_[rows])


def test_otherwise_everything_is_looked_at(tiny):
    training = learner(tiny, sample=4)
    training.train(3, sampled=False)
    for (before, _), (now, rows) in itertools.pairwise(training.state.method.snapshots):
        assert rows is None
        assert (now.probabilities != before.probabilities).any(1).all()
    assert [len(index) for index in training.state.method.seen] == [4, 4, 4]
