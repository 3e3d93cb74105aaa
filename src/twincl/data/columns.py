"""Which column holds the image or features, the label or the split: by the given name, else by the usual ones."""

from twincl.errors import InputError, did_you_mean

_PATH_COLUMNS = ("file_name", "filename", "filepath", "file_path", "file", "path", "image_path")
IMAGE_COLUMNS = (*_PATH_COLUMNS, "image", "img")
FEATURE_COLUMNS = ("embedding", "embeddings", "features", "feature", "vector", "vectors")
NAME_COLUMNS = (*_PATH_COLUMNS, "id")  # of a row of features
LABEL_COLUMNS = ("label", "labels", "class", "class_name", "target", "category", "fine_label", "y")
SPLIT_COLUMNS = ("split", "subset", "set", "fold_name")
_OFFERED = 50  # columns looked at for a hint


def find_column(names: list[str], given: str | None, usual: tuple[str, ...], where: str) -> str | None:
    """The column `given`, else the first of the `usual` names in any case, else None.

    Raises:
        InputError: `given` is not among `names`.
    """
    folded = {name.strip().lower(): name for name in reversed(names)}  # the first of two equal names wins
    if given is not None:
        if given in names:
            return given
        if given.strip().lower() in folded:
            return folded[given.strip().lower()]
        raise InputError(f"{where} has no column '{given}'; {did_you_mean(given, names[:_OFFERED])}")
    return next((folded[name] for name in usual if name in folded), None)
