"""The expectation step against a bare inference pass of the same network over the same, already normalised, images."""

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmarks.speed.options import Figures, Options
from benchmarks.speed.product import CLASSES, random_training
from benchmarks.speed.timing import best_in_turn
from twincl.methods.method import Snapshot
from twincl.nets.precision import precision
from twincl.runs.assemble import Training
from twincl.training.snapshot import take_snapshot

BATCH = 256


def run(options: Options) -> Figures:
    """With the encoder `small`, 50,000 images and 10 classes."""
    count, repeats = (2048, 1) if options.quick else (50_000, 3)
    training = random_training("small", count, BATCH, options)
    state, views, batches = training.state, training.views, training.batches
    images = [views.plain(batch.images) for batch in batches.in_order()]
    snapshot = clustered_snapshot(
        torch.cat([batch.labels for batch in batches.in_order()]), CLASSES, state.net.feat_dim
    )
    best = best_in_turn(
        repeats,
        {
            "bare": lambda: _bare_inference(training, images),
            "snapshot": lambda: take_snapshot(state.net, views, batches.in_order(), amp=training.amp),
            "detection": lambda: state.method.expectation(snapshot),
        },
    )
    return {
        "estep_ratio": (best["snapshot"] + best["detection"]) / best["bare"],
        "detection_fraction": best["detection"] / best["bare"],
        "estep": {"images": count} | {f"{name}_seconds": value for name, value in best.items()},
    }


@torch.inference_mode()
def _bare_inference(training: Training, images: list[Tensor]) -> None:
    net = training.state.net
    net.eval()
    for batch in images:
        with precision(batch.device, training.amp):
            net(batch)
    net.train()


def clustered_snapshot(labels: Tensor, classes: int, dim: int, block: int = 10_000) -> Snapshot:
    """What a network that has learned might say: a cluster a class, and of labels (N,) a third in another cluster.

    An untrained network's embeddings coincide, and so would take the mixtures no time.
    """
    generator = torch.Generator().manual_seed(0)
    centres = F.normalize(torch.randn(classes, dim, generator=generator), dim=1)
    wrong = torch.rand(len(labels), generator=generator) < 0.33
    own = torch.where(wrong, torch.randint(classes, labels.shape, generator=generator), labels)
    embeddings = torch.empty(len(labels), dim).normal_(generator=generator).mul_(0.7 / dim**0.5)
    probabilities = torch.empty(len(labels), classes).uniform_(generator=generator)
    rows = torch.arange(block)
    for v, p, k in zip(*(torch.split(part, block) for part in (embeddings, probabilities, own)), strict=True):
        v += centres[k]
        v /= v.norm(dim=1, keepdim=True)
        p[rows[: len(k)], k] += classes
        p /= p.sum(1, keepdim=True)
    return Snapshot(embeddings, probabilities)
