"""Pre-activation residual nets for small images, without a classification layer.

`PreActResNet18` is the encoder of the paper's experiments on CIFAR; `SmallNet` is a net of the same kind that
a CPU can train. Both map (B,C,H,W) float images to (B,dim) features. Weights start as PyTorch's layers do by
default, like the authors' released code.
"""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from twincl.nets.convolution import Conv3x3

Shortcut = Literal["activated", "identity"]


class PreActBlock(nn.Module):
    """Two 3x3 convolutions, each after BatchNorm and ReLU, and a shortcut around them.

    Where shape changes, the shortcut is a 1x1 convolution of the activated input relu(bn1(x)). Where it does
    not, `shortcut` says what passes: "activated" passes relu(bn1(x)) as the authors' code does, "identity"
    passes x itself as in the article on identity mappings.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, shortcut: Shortcut = "activated") -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = Conv3x3(inputs, outputs, stride)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = Conv3x3(outputs, outputs)
        changes = stride != 1 or inputs != outputs
        self.projection = nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False) if changes else None
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """(B,inputs,H,W) -> (B,outputs,H/stride,W/stride), rounded up."""
        activated = F.relu(self.bn1(x))
        if self.projection is not None:
            around: Tensor = self.projection(activated)
        else:
            around = activated if self.shortcut == "activated" else x
        inner: Tensor = self.conv2(F.relu(self.bn2(self.conv1(activated))))
        return inner + around


class PreActResNet18(nn.Module):
    """Stem of 64 channels, stages of 64, 128, 256, 512 channels with two blocks each; dim 512."""

    def __init__(self, channels: int = 3, shortcut: Shortcut = "activated") -> None:
        super().__init__()
        self.dim = 512
        self.stem = nn.Sequential(Conv3x3(channels, 64), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
        widths = (64, 128, 256, 512)
        blocks = []
        for before, width in zip((64, *widths), widths, strict=False):
            blocks.append(PreActBlock(before, width, 1 if width == 64 else 2, shortcut))
            blocks.append(PreActBlock(width, width, 1, shortcut))
        self.blocks = nn.Sequential(*blocks)
        self.bn = nn.BatchNorm2d(self.dim)

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W) -> (B,512)."""
        return _pooled(F.relu(self.bn(self.blocks(self.stem(images)))))


class SmallNet(nn.Module):
    """One block per stage of 32, 64, 128, 256 channels; dim 256, or 128 without the last stage.

    The stem's stride keeps the work small: 1 up to 16 pixels (where the last stage is left out), 2 up to 64,
    4 beyond. Any image size can be passed later; `img_size` only decides the shape of the net.
    """

    def __init__(self, channels: int = 3, img_size: int = 32, shortcut: Shortcut = "activated") -> None:
        super().__init__()
        tiny = img_size <= 16
        stride = 1 if tiny else 2 if img_size <= 64 else 4
        widths = (32, 64, 128) if tiny else (32, 64, 128, 256)
        self.dim = widths[-1]
        self.stem = Conv3x3(channels, 32, stride)
        self.blocks = nn.Sequential(
            *(
                PreActBlock(before, width, 1 if width == 32 else 2, shortcut)
                for before, width in zip((32, *widths), widths, strict=False)
            )
        )
        self.bn = nn.BatchNorm2d(self.dim)

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W) -> (B,dim)."""
        return _pooled(F.relu(self.bn(self.blocks(self.stem(images)))))


def _pooled(maps: Tensor) -> Tensor:
    """Mean over all places: (B,C,H,W) -> (B,C)."""
    return maps.mean(dim=(2, 3))
