"""The first classes of a data set alone, to compare methods on a part of a large one."""

from dataclasses import replace

import numpy as np

from twincl.data.classes import encode_labels
from twincl.data.splits import Found


def first_classes(found: Found, count: int) -> Found:
    """The samples of the first `count` classes, in the order in which all splits together number them."""
    numbers, _ = encode_labels(*(split.labels for split in found.splits.values()), classes=found.classes)
    splits = {
        kind: split if number is None else split.subset(np.flatnonzero(number < count))
        for (kind, split), number in zip(found.splits.items(), numbers, strict=True)
    }
    return replace(found, splits=splits, classes=found.classes and found.classes[:count])
