"""The precision of a forward pass; everything around it is computed in float32."""

from contextlib import AbstractContextManager

import torch


def precision(device: torch.device, amp: bool) -> AbstractContextManager[object]:
    """The context of a forward pass and of nothing else: with `amp` convolutions and linear layers are bfloat16.

    Similarities divided by a small temperature or variance must not be computed in it: eight bits are too few there.
    """
    return torch.autocast(device.type, torch.bfloat16, enabled=amp)
