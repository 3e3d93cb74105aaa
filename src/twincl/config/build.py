"""One configuration from preset, YAML file and settings by name, the later winning, and back to YAML."""

import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from twincl.config.presets import PRESETS, Values, merge
from twincl.config.settings import Config, valid_keys
from twincl.errors import InputError, did_you_mean


def build_config(*, preset: str | None = None, file: Path | None = None, settings: Mapping[str, Any]) -> Config:
    """Join preset, YAML file and `settings` (dotted names), the later winning, and check the result.

    Raises:
        InputError: an unknown preset or key, a value of the wrong type or range, an unreadable file, or one that was
            written for another preset.
    """
    from_file = _read_yaml(file) if file else {}
    asked, of_file = preset or settings.get("preset"), from_file.get("preset")
    name = str(asked or of_file or "default")
    if name not in PRESETS:
        raise InputError(f"unknown preset '{name}': {did_you_mean(name, list(PRESETS))}")
    if asked and of_file and asked != of_file:
        raise InputError(
            f"{file} was written for the preset '{of_file}', and its settings would stay when '{asked}' is asked for; "
            "leave out one of the two, or take from the file what it did not change"
        )
    nested: Values = {}
    for key, value in settings.items():
        section, _, inner = key.partition(".")
        nested = merge(nested, {section: {inner: value}} if inner else {section: value})
    nested["preset"] = name
    _refuse_unknown(_dotted(from_file), where=f" in {file}")
    _refuse_sections(settings)
    _refuse_unknown(settings, where="")
    try:
        return Config.model_validate(merge(merge(PRESETS[name], from_file), nested))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"] if isinstance(part, str) and "[" not in part)
        reason = first["msg"].replace("Input should", "it should", 1)
        raise InputError(f"the value {reprlib.repr(first['input'])} of {key} cannot be used: {reason}") from None


def parse_assignments(assignments: Iterable[str]) -> Values:
    """`section.key=value` strings as a dictionary; the value is read as YAML, so 0.1, true, null and text all work."""
    settings = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise InputError(f"--set needs section.key=value, not '{assignment}'")
        try:
            settings[key.strip()] = _number(yaml.safe_load(text))
        except Exception:  # besides its own errors, PyYAML lets those of the values through
            raise InputError(f"the value in --set '{assignment}' is not valid YAML") from None
    return settings


def _number(value: Any) -> Any:
    """YAML reads 1e-3 as text; people mean the number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def to_yaml(config: Config) -> str:
    """The whole configuration as YAML, readable by `build_config`."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def _read_yaml(file: Path) -> Values:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"the configuration file {file} cannot be read: {reason}") from None
    except Exception as error:  # besides its own errors, PyYAML lets those of the values through
        raise InputError(f"the configuration file {file} is not valid YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InputError(f"the configuration file {file} must hold section: {{key: value}} pairs")
    return content


def _dotted(nested: Mapping[str, Any]) -> list[str]:
    sections = {key.partition(".")[0] for key in valid_keys() if "." in key}
    keys: list[str] = []
    for key, value in nested.items():
        inner = isinstance(value, Mapping) and key in sections
        keys += [f"{key}.{name}" for name in value] if inner else [str(key)]
    return keys


def _refuse_unknown(keys: Iterable[str], where: str) -> None:
    valid = valid_keys()
    sections = {key.partition(".")[0] for key in valid}
    for key in keys:
        if key not in valid and key not in sections:
            section = key.partition(".")[0]
            near = [name for name in valid if name.startswith(f"{section}.")] or valid
            raise InputError(f"unknown setting '{key}'{where}: {did_you_mean(key, near)}")


def _refuse_sections(keys: Iterable[str]) -> None:
    """A section as a whole is for files; by name its settings are given one by one."""
    valid = valid_keys()
    for key in keys:
        inside = [name for name in valid if name.startswith(f"{key}.")]
        if inside:
            raise InputError(f"'{key}' is a section of settings; name one of them, such as {inside[0]}")
