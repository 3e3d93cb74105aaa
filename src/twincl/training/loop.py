"""The training loop. It knows no method: a method is asked for losses and, now and then, for its expectation step."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from twincl.augment.views import Views
from twincl.data.batches import Batch, Batches
from twincl.errors import TrainingError
from twincl.methods.method import Detection, LossTerms, Method, Snapshot
from twincl.nets.twin import TwinNet
from twincl.ranks import ALONE, Ranks
from twincl.training.snapshot import take_snapshot

LOOK_EVERY = 50  # steps from one look at the losses to the next: on a GPU every look waits for the steps before it


@dataclass
class TrainState:
    """Everything that moves while training, in one place: this is what a checkpoint holds."""

    net: TwinNet
    optimizer: torch.optim.Optimizer
    method: Method
    generator: torch.Generator  # of views and mixup
    epoch: int = 0  # epochs finished
    step: int = 0  # steps finished of the epoch after them
    terms: list[LossTerms] = field(default_factory=list)  # of these steps, detached


class Epoch(NamedTuple):
    """What a finished epoch tells those who listen."""

    number: int  # from one
    learning_rate: float
    losses: dict[str, float]  # mean of each term
    train_seconds: float  # steps and expectation step, without anything a listener does
    snapshot: Snapshot | None  # where the epoch ended with an expectation step, the last always does
    detection: Detection | None  # of the training labels, likewise
    rows: np.ndarray | None  # the samples that both are of; None: all, as after the last epoch

    @property
    def seen(self) -> np.ndarray | slice:
        """Picks these samples out of an array of all."""
        return slice(None) if self.rows is None else self.rows


StepListener = Callable[[int, int], None]  # step from one, steps in the epoch


def fit(
    state: TrainState,
    views: Views,
    batches: Batches,
    *,
    epochs: int,
    seed: int,
    amp: bool,
    schedule: Callable[[int], float],
    sampled: bool = False,
    on_step: StepListener | None = None,
    ranks: Ranks = ALONE,
) -> Iterator[Epoch]:
    """Algorithm 1, one epoch for each item taken from the iterator; goes on where `state` stands.

    Args:
        state: moved in place; whole, and fit to be saved, whenever `on_step` is called and an epoch is handed out.
        views: the augmentations, of which the loop itself uses only the plain one.
        batches: the training set with its given labels.
        epochs: number of epochs in all.
        seed: of the order of the samples.
        amp: compute the forward passes of expectation steps in bfloat16; those of its losses are the method's own.
        schedule: learning rate of a step, counted from zero over the whole training.
        sampled: expectation steps look only at what is learned from until the next; after the last epoch at all.
        on_step: called after each step.
        ranks: who trains together; every rank goes through the same epochs and is given the same numbers.

    Raises:
        TrainingError: a loss term, or what the network says of an image, is no longer finite.
    """

    def expectation() -> tuple[Snapshot, Detection, np.ndarray | None]:
        rows = rows_ahead(state, batches, epochs=epochs, seed=seed) if sampled else None
        snapshot = take_snapshot(state.net, views, batches.in_order(rows), amp=amp, ranks=ranks)
        if not all(output.isfinite().all() for output in snapshot):
            raise TrainingError(f"the network gives NaN after epoch {state.epoch}; try a lower --lr or --no-amp")
        found = state.method.expectation(snapshot, None if rows is None else torch.from_numpy(rows))
        ranks.same_([*found, *state.method.state_dict().values()])  # other machines may round otherwise
        return snapshot, found, rows

    steps = batches.steps_per_epoch
    if state.epoch == state.step == 0:
        expectation()
    state.net.train()
    while state.epoch < epochs:
        start = time.perf_counter()
        done = state.epoch * steps
        for batch in batches.shuffled(seed, state.epoch, skip=state.step):
            terms = descend(state, batch, rate=schedule(done + state.step))
            state.terms.append(terms)
            state.step += 1
            if state.step % LOOK_EVERY == 0:
                require_finite(state, since=state.step - LOOK_EVERY)
            if on_step:
                on_step(state.step, steps)
        require_finite(state)
        losses = {name: values.mean().item() for name, values in stacked(state.terms).items()}
        state.epoch, state.step, state.terms = state.epoch + 1, 0, []
        due = state.epoch % state.method.update_every == 0 or state.epoch == epochs
        snapshot, found, rows = expectation() if due else (None, None, None)
        rate = schedule(done + steps - 1)
        yield Epoch(state.epoch, rate, losses, time.perf_counter() - start, snapshot, found, rows)


def rows_ahead(state: TrainState, batches: Batches, *, epochs: int, seed: int) -> np.ndarray | None:
    """The samples that will be learned from until the next expectation step, sorted; None after the last epoch."""
    ahead = range(state.epoch, min(state.epoch + state.method.update_every, epochs))
    if not ahead:
        return None
    return np.unique(np.concatenate([batches.learned_from(seed, epoch) for epoch in ahead]))


def descend(state: TrainState, batch: Batch, *, rate: float) -> LossTerms:
    """One step of the optimiser on the sum of the method's terms; returns them detached."""
    for group in state.optimizer.param_groups:
        group["lr"] = rate
    terms = state.method.losses(batch, state.epoch)
    state.optimizer.zero_grad(set_to_none=True)
    torch.stack(list(terms.values())).sum().backward()  # type: ignore[no-untyped-call]
    state.optimizer.step()
    state.method.after_step()
    return {name: value.detach() for name, value in terms.items()}


def require_finite(state: TrainState, since: int = 0) -> None:
    """Look at the terms of the steps of this epoch, those after the first `since`.

    Raises:
        TrainingError: a term is not finite; the first is named, since after its step no other is.
    """
    looked_at = state.terms[since:]
    values = torch.stack([torch.stack(list(terms.values())) for terms in looked_at]).cpu()  # (steps, terms)
    broken = (~values.isfinite()).nonzero().tolist()
    if broken:
        step, term = broken[0]
        raise TrainingError(
            f"the loss term '{list(state.terms[0])[term]}' became {float(values[step, term])} in step "
            f"{since + step + 1} of epoch {state.epoch + 1}; try a lower --lr or --no-amp"
        )


def stacked(terms: list[LossTerms]) -> LossTerms:
    """The terms of several steps, each as one tensor (steps,) in the main memory."""
    return {name: torch.stack([step[name] for step in terms]).cpu() for name in (terms[0] if terms else ())}
