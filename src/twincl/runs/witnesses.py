"""Who is asked of a label beside the classifier: training samples near by, for the labels they were given."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from twincl.augment.views import Views
from twincl.core.opinions import class_opinions
from twincl.core.spread import evenly_ranked
from twincl.methods.method import Snapshot
from twincl.runs.prepare import LabelledSet

WITNESSES, WITNESSES_PER_CLASS = 10_000, 100  # training samples among which neighbours are looked for, at most
BLOCK = 4096  # samples at a time
LIFT = 0.5  # the constant beside feature vectors, in units of their usual length


@dataclass(frozen=True)
class Seen:
    """Samples, and what the network at rest says of them."""

    samples: LabelledSet
    snapshot: Snapshot
    views: Views

    def places(self, rows: NDArray[np.int64]) -> Tensor:
        """Unit vectors (n, D) of some samples, by whose cosine they are neighbours.

        Of images their embeddings; feature vectors as they were given, standardised: these know of no label. A constant
        is put beside the features, so that their length counts and not their direction alone.
        """
        device = self.snapshot.embeddings.device
        if len(self.samples.images.shape) > 1:
            return self.snapshot.embeddings[torch.from_numpy(rows).to(device)]
        features = self.views.plain(self.samples.images.batch(rows).to(device))
        constant = features.new_full((len(rows), 1), LIFT * features.shape[1] ** 0.5)
        return F.normalize(torch.cat([features, constant], dim=1), dim=1)


def opinions(seen: Seen, train: Seen) -> NDArray[np.float32]:
    """What classifier and neighbours say of the samples of `seen`, (N, K); neighbours are of `train`."""
    count, classes = seen.snapshot.probabilities.shape
    device = seen.snapshot.probabilities.device
    witnesses = np.sort(evenly_ranked(train.samples.labels, max(WITNESSES, WITNESSES_PER_CLASS * classes)))
    keys, labels = train.places(witnesses), torch.from_numpy(train.samples.labels[witnesses]).to(device)
    own = np.full(count, -1)
    if seen is train:
        own[witnesses] = np.arange(len(witnesses))
    found = [
        class_opinions(
            seen.snapshot.probabilities[rows[0] : rows[-1] + 1],
            seen.places(rows),
            keys,
            labels,
            torch.from_numpy(own[rows]).to(device),
        )
        for rows in np.split(np.arange(count), range(BLOCK, count, BLOCK))
    ]
    return torch.cat(found).cpu().numpy()
