"""ResNet-18 and ResNet-50 for larger images, without a classification layer.

Parameters carry torchvision's names, so published ImageNet weights load as they are. Without weights,
convolutions start from He's normal distribution (fan out) and BatchNorm from 1 and 0, as torchvision's do.
"""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from twincl.archives import check_zip
from twincl.errors import InputError
from twincl.nets.convolution import Conv3x3


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut; `expansion` times `width` channels leave."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = Conv3x3(inputs, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = Conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _downsample(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """(B,inputs,H,W) -> (B,width,H/stride,W/stride)."""
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """1x1, 3x3 (with the stride), 1x1 convolutions and a shortcut."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _conv(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = Conv3x3(width, width, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = _conv(width, 4 * width, 1)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.downsample = _downsample(inputs, 4 * width, stride)

    def forward(self, x: Tensor) -> Tensor:
        """(B,inputs,H,W) -> (B,4*width,H/stride,W/stride)."""
        out = F.relu(self.bn1(self.conv1(x)))
        out = F.relu(self.bn2(self.conv2(out)))
        return F.relu(self.bn3(self.conv3(out)) + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """7x7 stem of stride 2, max pooling, four stages, mean over all places: (B,C,H,W) -> (B,dim)."""

    def __init__(
        self, block: type[BasicBlock] | type[Bottleneck], depths: tuple[int, int, int, int], channels: int = 3
    ) -> None:
        super().__init__()
        self.conv1 = _conv(channels, 64, 7, stride=2)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for number, (depth, width) in enumerate(zip(depths, (64, 128, 256, 512), strict=True), start=1):
            stage = nn.Sequential()
            for index in range(depth):
                stage.append(block(inputs, width, 2 if number > 1 and index == 0 else 1))
                inputs = width * block.expansion
            self.add_module(f"layer{number}", stage)
        self.dim = inputs
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W) -> (B,dim)."""
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(images))), kernel_size=3, stride=2, padding=1)
        for name in ("layer1", "layer2", "layer3", "layer4"):
            x = self.get_submodule(name)(x)
        return x.mean(dim=(2, 3))


def resnet18(channels: int = 3) -> ResNet:
    """ResNet-18, dim 512."""
    return ResNet(BasicBlock, (2, 2, 2, 2), channels)


def resnet50(channels: int = 3) -> ResNet:
    """ResNet-50, dim 2048."""
    return ResNet(Bottleneck, (3, 4, 6, 3), channels)


def load_imagenet_weights(net: ResNet, path: Path) -> None:
    """Fill `net` from a local file of torchvision's weights (.safetensors, .pth or .pt), ignoring `fc.*`.

    For 1 channel the stem's three colour filters are summed, which equals showing the grey image to all
    three; for 4 channels the fourth filter is the mean of the three. Raises InputError if the file cannot be
    read or belongs to another net; `net` is then unchanged.
    """
    weights = {key: value for key, value in _read(Path(path)).items() if not key.startswith("fc.")}
    own = net.state_dict()
    missing, unknown = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    # files from before PyTorch 0.4.1 lack BatchNorm's batch counter, which nothing here reads
    missing = [key for key in missing if not key.endswith("num_batches_tracked")]
    if missing or unknown:
        difference = f"lacks '{missing[0]}'" if missing else f"has the unknown '{unknown[0]}'"
        raise InputError(f"{path} does not fit this ResNet: it {difference}; use weights of the same depth.")
    weights["conv1.weight"] = _for_channels(weights["conv1.weight"], own["conv1.weight"].shape[1])
    for key, value in weights.items():
        if value.shape != own[key].shape:
            shapes = f"shape {tuple(value.shape)}, expected {tuple(own[key].shape)}"
            raise InputError(f"{path} does not fit this ResNet: '{key}' has {shapes}.")
    net.load_state_dict(own | weights)


def _read(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise InputError(f"no weights file at {path}.")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            content: Any = load_file(path)
        else:
            check_zip(path)
            content = torch.load(path, map_location="cpu", weights_only=True)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} cannot be read as a weights file (.safetensors, .pth or .pt).") from error
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise InputError(f"{path} is not a state dict: names mapped to tensors were expected.")
    return content


def _for_channels(stem: Tensor, channels: int) -> Tensor:
    if stem.ndim != 4 or stem.shape[1] != 3 or channels == 3:
        return stem
    if channels == 1:
        return stem.sum(dim=1, keepdim=True)
    return torch.cat((stem, stem.mean(dim=1, keepdim=True).expand(-1, channels - 3, -1, -1)), dim=1)


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)


def _downsample(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(_conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))
