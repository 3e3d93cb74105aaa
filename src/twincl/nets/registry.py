"""Encoders by name: what they are called, how they are built, which one suits data and machine."""

from collections.abc import Callable
from pathlib import Path

from torch import nn

from twincl.errors import InputError, did_you_mean
from twincl.nets.mlp import MLP
from twincl.nets.preact import PreActResNet18, Shortcut, SmallNet
from twincl.nets.resnet import ResNet, load_imagenet_weights, resnet18, resnet50
from twincl.nets.timm_encoder import TimmEncoder
from twincl.shapes import Shape, is_vector

TIMM_PREFIX = "timm:"

# name -> build(channels, img_size, shortcut)
IMAGE_ENCODERS: dict[str, Callable[[int, int, Shortcut], nn.Module]] = {
    "small": lambda channels, img_size, shortcut: SmallNet(channels, img_size, shortcut),
    "preact_resnet18": lambda channels, img_size, shortcut: PreActResNet18(channels, shortcut),
    "resnet18": lambda channels, img_size, shortcut: resnet18(channels),
    "resnet50": lambda channels, img_size, shortcut: resnet50(channels),
}

# name -> build(number of features)
FEATURE_ENCODERS: dict[str, Callable[[int], nn.Module]] = {"mlp": MLP}


def create_encoder(
    name: str,
    *,
    shape: Shape,
    shortcut: Shortcut = "activated",
    weights: Path | None = None,
) -> nn.Module:
    """Build the encoder `name` ("timm:NAME" for one of timm's): a module with the feature width as `dim`.

    `shape` is (C,H,W) of images or (D,) of feature vectors. `shortcut` concerns the pre-activation nets only.
    `weights` is a local file of ImageNet weights, for resnet18 and resnet50. Raises InputError for an unknown name,
    an encoder of the other kind of data or weights that do not fit.
    """
    if name not in (*IMAGE_ENCODERS, *FEATURE_ENCODERS) and not name.startswith(TIMM_PREFIX):
        raise InputError(
            f"unknown encoder '{name}': {did_you_mean(name, [*IMAGE_ENCODERS, *FEATURE_ENCODERS, 'timm:NAME'])}"
        )
    of_features = name in FEATURE_ENCODERS
    if of_features != is_vector(shape):
        takes, given = ("feature vectors", "images") if of_features else ("images", "feature vectors")
        raise InputError(f"encoder '{name}' takes {takes}, but the data are {given}; leave model.name open (null).")
    if of_features:
        encoder = FEATURE_ENCODERS[name](*shape)
    else:
        channels, img_size = shape[0], max(shape[1:])
        if name.startswith(TIMM_PREFIX):
            encoder = TimmEncoder(name.removeprefix(TIMM_PREFIX), channels=channels, img_size=img_size)
        else:
            encoder = IMAGE_ENCODERS[name](channels, img_size, shortcut)
    if weights is not None:
        if not isinstance(encoder, ResNet):
            raise InputError(f"encoder '{name}' takes no weights file: only resnet18 and resnet50 do.")
        load_imagenet_weights(encoder, weights)
    return encoder


def choose_encoder(shape: Shape, device_type: str) -> str:
    """The encoder to use when none is named: `device_type` as in torch ("cpu", "cuda", ...)."""
    if is_vector(shape):
        return "mlp"
    if device_type == "cpu":
        return "small"
    return "preact_resnet18" if max(shape[1:]) <= 64 else "resnet18"
