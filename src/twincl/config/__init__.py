"""Typed, frozen, validated configuration; the resolved one is saved with the run.

`settings` declares it, `presets` names sets of values, `build` joins and checks what was given, `explain` teaches.
This package and `runs` are the edge: below them code takes plain arguments.
"""

from twincl.config.build import build_config, parse_assignments, to_yaml
from twincl.config.explain import explained
from twincl.config.presets import PRESETS, merge
from twincl.config.settings import AugmentSettings, Config, DataSettings, NoiseSettings, valid_keys

__all__ = [
    "PRESETS",
    "AugmentSettings",
    "Config",
    "DataSettings",
    "NoiseSettings",
    "build_config",
    "explained",
    "merge",
    "parse_assignments",
    "to_yaml",
    "valid_keys",
]
