"""Classes of ImageNet: data that name them by their synset meet data that say more of each."""

import re

import numpy as np

from twincl.data.dataset import RawSplit

_SYNSET = re.compile(r"n\d{8}")


def match_synsets(split: RawSplit, classes: tuple[str, ...] | None) -> RawSplit:
    """`split` with labels as in `classes`, where those begin with a synset; samples of other classes are left out.

    Its labels may be synsets (`n01440764`, the folders of ILSVRC) or numbers in the order of the synsets; all other
    data are left as they are.
    """
    if split.labels is None or not classes or not all(_SYNSET.match(name) for name in classes):
        return split
    given = [str(label) for label in split.labels.tolist()]
    if all(_SYNSET.fullmatch(label) for label in set(given)):
        names = {name.split(maxsplit=1)[0]: name for name in classes}
    elif all(label.isdecimal() for label in set(given)):
        names = {str(number): name for number, name in enumerate(classes)}
    else:
        return split
    rows = np.array([row for row, label in enumerate(given) if label in names], dtype=np.int64)
    kept = split.subset(rows)
    return RawSplit(kept.pixels, np.array([names[given[row]] for row in rows], dtype=object), kept.names)
