"""The names that splits go by, and the choice of the two splits that a run uses."""

from dataclasses import dataclass

from twincl.data.dataset import RawDataset, RawSplit
from twincl.errors import InputError, did_you_mean

_KINDS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
    "eval": "test",
}


@dataclass(frozen=True)
class Found:
    """What a reader found: the splits by kind (`train`, `val`, `test`), and what the format says of the classes."""

    splits: dict[str, RawSplit]
    classes: tuple[str, ...] | None = None
    augment_hint: str = "natural"
    ignored: int = 0


def split_kind(name: str) -> str | None:
    """`train`, `val` or `test` for any usual spelling in any case, None for every other name."""
    return _KINDS.get(name.strip().lower())


def choose(found: Found, split: str | None, where: str) -> RawDataset:
    """The training split and one to test on, or only the named `split` in place of `train`.

    `test` comes before `val`, but what has labels before what has none: competitions keep those of their test images.
    """
    splits = {kind: part for kind, part in found.splits.items() if len(part)}
    if not splits:
        raise InputError(f"{where} holds no images; point to a data set that has some.")
    if split is not None:
        kind = split_kind(split)
        if kind not in splits:
            raise InputError(f"{where} has no split '{split}'; {did_you_mean(split, list(splits))}")
        train, test = splits[kind], None
    elif "train" not in splits:
        held = ", ".join(splits)
        raise InputError(
            f"{where} has no training split, only {held}; point to the folder of that split, or name it with --split "
            "where there is such an option."
        )
    else:
        others = [splits[kind] for kind in ("test", "val") if kind in splits]
        train, test = splits["train"], max(others, key=lambda part: part.labels is not None, default=None)
    unused = tuple(kind for kind, part in splits.items() if part is not train and part is not test)
    return RawDataset(train, test, found.classes, found.augment_hint, found.ignored, unused)
