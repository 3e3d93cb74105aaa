"""The 3x3 convolution of both families of residual nets."""

from torch import Tensor, nn
from torch.nn import functional as F


class Conv3x3(nn.Conv2d):
    """(B,inputs,H,W) -> (B,outputs,H/stride,W/stride), rounded up, without a bias.

    A map of one place has only one place to go to, so there the stride is left out: with it, PyTorch 2.13 on CPU fills
    the weight's gradient from memory that was never written, in bfloat16.
    """

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__(inputs, outputs, 3, stride=stride, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The convolution."""
        if x.shape[2:] == (1, 1):
            return F.conv2d(x, self.weight, padding=1)
        return super().forward(x)
