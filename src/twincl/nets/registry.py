"""Encoders by name: what they are called, how they are built, which one suits a machine."""

from collections.abc import Callable
from pathlib import Path

from torch import nn

from twincl.errors import InputError, nearest
from twincl.nets.preact import PreActResNet18, Shortcut, SmallNet
from twincl.nets.resnet import ResNet, load_imagenet_weights, resnet18, resnet50
from twincl.nets.timm_encoder import TimmEncoder

TIMM_PREFIX = "timm:"

# name -> build(channels, img_size, shortcut)
ENCODERS: dict[str, Callable[[int, int, Shortcut], nn.Module]] = {
    "small": lambda channels, img_size, shortcut: SmallNet(channels, img_size, shortcut),
    "preact_resnet18": lambda channels, img_size, shortcut: PreActResNet18(channels, shortcut),
    "resnet18": lambda channels, img_size, shortcut: resnet18(channels),
    "resnet50": lambda channels, img_size, shortcut: resnet50(channels),
}


def create_encoder(
    name: str,
    *,
    channels: int,
    img_size: int,
    shortcut: Shortcut = "activated",
    weights: Path | None = None,
) -> nn.Module:
    """Build the encoder `name` ("timm:NAME" for one of timm's): a module with the feature width as `dim`.

    `shortcut` concerns the pre-activation nets only. `weights` is a local file of ImageNet weights, for
    resnet18 and resnet50. Raises InputError for an unknown name or weights that do not fit.
    """
    if name.startswith(TIMM_PREFIX):
        encoder: nn.Module = TimmEncoder(name.removeprefix(TIMM_PREFIX), channels=channels, img_size=img_size)
    elif name in ENCODERS:
        encoder = ENCODERS[name](channels, img_size, shortcut)
    else:
        raise InputError(f"unknown encoder '{name}': {nearest(name, [*ENCODERS, 'timm:NAME'])}")
    if weights is not None:
        if not isinstance(encoder, ResNet):
            raise InputError(f"encoder '{name}' takes no weights file: only resnet18 and resnet50 do.")
        load_imagenet_weights(encoder, weights)
    return encoder


def choose_encoder(img_size: int, device_type: str) -> str:
    """The encoder to use when none is named: `device_type` as in torch ("cpu", "cuda", ...)."""
    if device_type == "cpu":
        return "small"
    return "preact_resnet18" if img_size <= 64 else "resnet18"
