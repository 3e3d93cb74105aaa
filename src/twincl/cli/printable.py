"""Text of strangers on a terminal."""


def printable(text: str) -> str:
    """The text with everything spelled out that a terminal would obey or hide: escape codes, marks of direction."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else sign.encode("unicode_escape").decode() for sign in text
    )
