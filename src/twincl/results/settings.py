"""Settings as a run keeps them, in sections."""

from collections.abc import Mapping
from typing import Any


def flatten(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Nested settings by dotted name."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{name}": inner for name, inner in flatten(value).items()}
        else:
            flat[key] = value
    return flat
