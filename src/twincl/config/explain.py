"""What the settings mean, read from the comments beside their fields."""

import inspect
import re
from typing import Any, Literal, get_args, get_origin, get_type_hints

from twincl.config.build import to_yaml
from twincl.config.settings import Config, field_names


def explained(config: Config) -> str:
    """The configuration as YAML with what each setting means beside it, as the comments in the sources say."""
    section, lines = "", []
    meanings = _meanings(Config, "")
    for name, field in Config.model_fields.items():
        meanings |= _meanings(field.annotation, f"{name}.")
    for line in to_yaml(config).splitlines():
        indent, key = re.match(r"( *)(\w*)", line).groups()  # type: ignore[union-attr]
        section = section if indent else f"{key}."
        meaning = meanings.get(f"{section}{key}" if indent else key)
        lines.append(f"{line}  # {meaning}" if meaning else line)
    return "# null: not used, or chosen by the run, whose config.yaml says what\n" + "\n".join(lines) + "\n"


def _meanings(kind: Any, prefix: str) -> dict[str, str]:
    """What stands beside the fields of a class of settings in its source, and their choices, by the field's name."""
    if not field_names(kind):
        return {}
    try:
        source = inspect.getsource(kind)
    except OSError:  # installed without sources
        source = ""
    comments = dict(re.findall(r"^    (\w+): .*?  # (.+)$", source, re.MULTILINE))
    found = {}
    for name, annotation in get_type_hints(kind).items():
        choices = ", ".join(_choices(annotation))
        parts = [comments.get(name, "").replace("None:", "null:"), f"one of {choices}" if choices else ""]
        found[prefix + name] = "; ".join(part for part in parts if part)
    return found


def _choices(annotation: Any) -> list[str]:
    """The values of the literals in it."""
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    return [choice for part in get_args(annotation) for choice in _choices(part)]
