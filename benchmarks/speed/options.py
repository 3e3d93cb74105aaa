"""What a section is told and what it answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Options:
    """Of one run of the benchmark."""

    device: torch.device
    amp: bool  # whether bfloat16 pays on this machine, measured once
    quick: bool  # a smoke run: everything is executed, no figure means anything
    profile: bool  # print where the time of a step goes


Figures = dict[str, Any]  # the keys of the targets, and one key with the details behind them
Section = Callable[[Options], Figures]
