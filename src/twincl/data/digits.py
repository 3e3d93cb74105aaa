"""The 1,797 digits of 8 x 8 pixels that scikit-learn brings along: a data set without a download."""

import numpy as np

from twincl.data.dataset import RawSplit
from twincl.data.splits import Found

_TEST_SIZE = 360


def read_digits() -> Found:
    """1,437 training and 360 test images, (N, 8, 8); the division is stratified and always the same."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    pixels = np.rint(digits.images * (255 / 16)).astype(np.uint8)  # stored as 0..16
    labels = digits.target.astype(np.int64)
    whole = RawSplit(pixels, labels, [str(row) for row in range(len(labels))])
    train, test = train_test_split(np.arange(len(labels)), test_size=_TEST_SIZE, stratify=labels, random_state=0)
    return Found(
        {"train": whole.subset(train), "test": whole.subset(test)},
        tuple(str(digit) for digit in range(10)),
        augment_hint="symbols",
    )
