"""Which labels are disturbed says nothing of what is learned first or held out, though one seed draws all three."""

import numpy as np
import pytest
import torch

from twincl.data.batches import Batches
from twincl.data.holdout import hold_out
from twincl.data.noise import add_noise
from twincl.data.stores import MemoryImages
from twincl.data.streams import stream

COUNT, CLASSES, SIZE = 4000, 10, 250
LABELS = np.arange(COUNT) % CLASSES
NOISES = ("symmetric", "asymmetric", "pair")


def wrong(kind: str, seed: int) -> np.ndarray:
    noisy = add_noise(LABELS, kind=kind, rate=0.4, num_classes=CLASSES, seed=seed)
    return noisy != LABELS


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("epoch", [0, 1])
def test_every_batch_has_its_share_of_wrong_labels(kind: str, epoch: int) -> None:
    images = MemoryImages(np.zeros((COUNT, 1, 1, 1), np.uint8))
    batches = Batches(images, LABELS, batch_size=SIZE, device=torch.device("cpu"))
    for seed in range(3):
        shares = wrong(kind, seed)[batches.learned_from(seed, epoch)].reshape(-1, SIZE).mean(1)
        expected = wrong(kind, seed).mean()
        assert np.abs(shares - expected).max() < 5 * (expected * (1 - expected) / SIZE) ** 0.5


@pytest.mark.parametrize("kind", NOISES)
def test_what_is_held_out_has_its_share(kind: str) -> None:
    for seed in range(3):
        _, held = hold_out(LABELS, 0.2, seed)
        expected = wrong(kind, seed).mean()
        assert abs(wrong(kind, seed)[held].mean() - expected) < 5 * (expected * (1 - expected) / len(held)) ** 0.5


def test_streams_are_their_own_and_the_same_again() -> None:
    keys = [("noise",), ("hold-out",), ("order", 0), ("order", 1)]
    for seed in (0, 7):
        drawn = [tuple(stream(seed, *key).integers(2**62, size=4)) for key in keys]
        assert len(set(drawn)) == len(keys)
        assert drawn == [tuple(stream(seed, *key).integers(2**62, size=4)) for key in keys]
    assert stream(3, "noise").random() == np.random.default_rng(3).random()  # labels drawn before there were streams
