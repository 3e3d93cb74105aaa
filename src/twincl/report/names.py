"""Names that somebody else chose, made fit to be shown."""

import unicodedata

_UNSHOWABLE = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of pairs, line and paragraph separators


def shown(name: str) -> str:
    r"""The name as valid Unicode on one line: what cannot be shown is spelled as Python would, a newline as \n.

    Marks for the direction of writing are kept, as some scripts need them: the page isolates each name instead.
    """
    if name.isprintable():
        return name
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNSHOWABLE else char for char in name
    )


def shortened(name: str, length: int) -> str:
    """The name for a figure: at most `length` characters, an ellipsis in the place of the rest."""
    text = shown(name)
    return text if len(text) <= length else text[: length - 1] + "…"
