"""Labels that people gave to CIFAR's images (CIFAR-10N, CIFAR-100N): the sets, and where their file lies."""

from pathlib import Path
from typing import NamedTuple

from twincl.data.cifar import find_cifar
from twincl.errors import InputError


class HumanLabels(NamedTuple):
    """A published file, and a table of our own that may stand in for it."""

    images: str  # the data set that is labelled
    published: str
    table: str
    keys: dict[str, str]  # of the sets, by the names that they have in papers


HUMAN_LABELS = {
    "cifar10n": HumanLabels(
        "cifar10",
        "CIFAR-10_human.pt",
        "cifar10n_labels.csv",
        {
            "aggre": "aggre_label",
            "random1": "random_label1",
            "random2": "random_label2",
            "random3": "random_label3",
            "worst": "worse_label",
        },
    ),
    "cifar100n": HumanLabels("cifar100", "CIFAR-100_human.pt", "cifar100n_labels.csv", {"noisy": "noisy_label"}),
}
TRUE_LABELS = "clean_label"  # the key of both files


def label_settings(data: str, name: str, folder: Path) -> dict[str, str] | None:
    """Settings that take one set of labels from a file beside the images in `folder`; None where there is no file."""
    known = HUMAN_LABELS[data]
    file = _find(known, folder)
    if file is None:
        return None
    return {"data.labels": f"{file}:{known.keys[name]}", "data.true_labels": f"{file}:{TRUE_LABELS}"}


def _find(known: HumanLabels, folder: Path) -> Path | None:
    """The table, or the published file, which is in the order of the python batches.

    None where there is neither, or only the published one and the images are read from other files.
    """
    batches = _find_batches(folder)
    published = [place / known.published for place in (folder, batches)] if batches else []
    return next((file for file in (folder / known.table, *published) if file.is_file()), None)


def _find_batches(folder: Path) -> Path | None:
    """Where the images are read from, if that is python batches; None, too, where it is not clear from which."""
    try:
        return find_cifar(folder) if folder.is_dir() else None
    except InputError:
        return None
