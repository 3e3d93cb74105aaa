"""The data set that a configuration names, read as it says."""

from twincl.config import DataSettings
from twincl.data.dataset import RawDataset
from twincl.data.read import read_dataset


def read_configured(settings: DataSettings, path: str | None = None) -> RawDataset:
    """The data at `settings.path`, or in the same way those at another `path`; nothing is decoded.

    Raises:
        InputError: there are none, or they cannot be read.
    """
    return read_dataset(
        settings.path if path is None else path,
        image_column=settings.image_column,
        label_column=settings.label_column,
        allow_outside=settings.allow_outside,
        max_classes=settings.max_classes,
    )
