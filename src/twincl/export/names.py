"""Names that every file system takes, and that no two things share."""

import re
import unicodedata

from twincl.data.splits import split_kind

_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # Windows refuses these
_LONGEST = 200  # bytes; file systems take 255, and a number and a suffix may follow


def safe_name(name: str) -> str:
    """The name with everything replaced that cannot be, hide or leave a folder; itself where there is nothing."""
    text = _FORBIDDEN.sub("_", name)
    text = re.sub(r"^[. ]+|[. ]+$", lambda found: "_" * len(found[0]), text) or "_"
    if _DEVICES.fullmatch(text):
        text += "_"
    raw = text.encode("utf-8", "surrogateescape")
    return text if len(raw) <= _LONGEST else raw[:_LONGEST].decode("utf-8", "ignore")


def safe_folder(name: str) -> str:
    """A safe name that no reader takes for a split: the class `train` becomes `train_`."""
    text = safe_name(name)
    return text + "_" if split_kind(text) else text


class Unique:
    """Hands out names, each once; two that differ in case or in how accents are written count as the same."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}  # number given to the last of each name, so that no search begins anew

    def take(self, stem: str, suffix: str = "") -> str:
        """`stem` and `suffix` if that is free, otherwise with the first free number from 2 between them."""
        name = stem + suffix
        wanted = key = _folded(name)
        number = self._last.get(wanted, 1)
        while key in self._taken:
            number += 1
            name = f"{stem}-{number}{suffix}"
            key = _folded(name)
        self._taken.add(key)
        self._last[wanted] = number
        return name


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
