"""Detection at a million samples and a thousand classes, and the neighbours of 50,000 among 50,000."""

from functools import partial

import numpy as np
import torch
from torch.nn import functional as F

from benchmarks.speed.estep import clustered_snapshot
from benchmarks.speed.options import Figures, Options
from benchmarks.speed.resident import additional_bytes, in_child
from benchmarks.speed.timing import best_in_turn, seconds
from twincl.augment.images import NATURAL, ImageViews
from twincl.core.neighbors import knn_votes
from twincl.methods.method import Parts, Snapshot
from twincl.methods.tcl import TCL, TCLSettings
from twincl.nets.preact import SmallNet
from twincl.nets.twin import TwinNet

DIM = 128
SHARES = (4, 2, 1)


def run(options: Options) -> Figures:
    """Everything in processes of their own, since memory is what is measured."""
    samples, classes, keys, repeats = (40_000, 100, 4_000, 1) if options.quick else (1_000_000, 1_000, 50_000, 2)
    found = in_child(_detection, samples, classes, repeats)
    return found | {"knn_peak_mb": in_child(_neighbours, keys) / 1e6}


def _detection(samples: int, classes: int, repeats: int) -> Figures:
    """mu, sigma, posterior and clean probability: per class, which begins with the one for all samples."""
    labels = torch.arange(samples) % classes
    snapshot = clustered_snapshot(labels, classes, DIM)
    inputs = sum(part.nbytes for part in snapshot)

    def expectation(count: int) -> None:
        part = Snapshot(snapshot.embeddings[:count], snapshot.probabilities[:count])
        _method(labels[:count], classes).expectation(part)

    counts = [samples // share for share in SHARES]
    expectation(counts[0])  # imports and thread pools are not the equations' memory
    first: list[float] = []
    additional = additional_bytes(lambda: first.append(seconds(lambda: expectation(samples))))
    best = best_in_turn(repeats, {str(count): partial(expectation, count) for count in counts})
    times = [best[str(count)] for count in counts]
    return {
        "detection_memory_ratio": additional / inputs,
        "detection_time_exponent": float(np.polyfit(np.log(counts), np.log(times), 1)[0]),
        "scale": {
            "classes": classes,
            "inputs_mb": inputs / 1e6,
            "additional_mb": additional / 1e6,
            "seconds": dict(zip(map(str, counts), times, strict=True)),
        },
    }


def _method(labels: torch.Tensor, classes: int) -> TCL:
    net = TwinNet(SmallNet(3), classes, feat_dim=DIM, head_bn=True, dropout=0.25)
    views = ImageViews(NATURAL, (0.5,) * 3, (0.25,) * 3)
    parts = Parts(net, views, labels, classes, 1, torch.Generator())
    return TCL(parts, TCLSettings(sigma="per_class", gmm_scope="per_class"))


def _neighbours(count: int) -> int:
    """Bytes beyond the inputs that the vote of the 200 nearest takes."""
    embeddings, labels = F.normalize(torch.randn(count, DIM), dim=1), torch.arange(count) % 10
    knn_votes(embeddings[:10], embeddings[:500], labels[:500], 10)
    return additional_bytes(lambda: knn_votes(embeddings, embeddings, labels, 10))
