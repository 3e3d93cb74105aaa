"""What a method sees of its samples in training: three faces of each, whatever kind of sample it is."""

from typing import Protocol

import torch
from torch import Tensor

from twincl.ranks import ALONE, Ranks


class Views(Protocol):
    """Makes views of batches as they are served; a view is float32 of the same shape, on the same device.

    Randomness comes from the generator alone: same state, same view. Of many ranks each hands in its own rows of a
    batch; all draw for the whole batch, so that their generators stay in step and their views are those of one rank.
    """

    def plain(self, batch: Tensor, /) -> Tensor:
        """The samples themselves, normalised: for evaluation and the E-step."""

    def weak(self, batch: Tensor, generator: torch.Generator, /, ranks: Ranks = ALONE) -> Tensor:
        """The samples changed a little."""

    def strong(self, batch: Tensor, generator: torch.Generator, /, ranks: Ranks = ALONE) -> Tensor:
        """The samples changed as far as their classes allow."""
