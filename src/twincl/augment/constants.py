"""Numbers that views need with every batch, on whatever device it is."""

import torch
from torch import Tensor

_CPU = torch.device("cpu")


class Constants:
    """Tensors that are moved to a device once: every copy to a GPU would wait for all that it has to do."""

    def __init__(self, *tensors: Tensor) -> None:
        self._at: dict[torch.device, tuple[Tensor, ...]] = {_CPU: tensors}

    def on(self, device: torch.device) -> tuple[Tensor, ...]:
        """The tensors, on `device`."""
        if device not in self._at:
            self._at[device] = tuple(tensor.to(device) for tensor in self._at[_CPU])
        return self._at[device]
