"""A trained classifier on disk: `model.safetensors` with the weights, `model.json` with what is needed to use them."""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from twincl.augment.features import FEATURES, FeatureViews
from twincl.augment.images import NATURAL, ImageViews
from twincl.augment.views import Views
from twincl.errors import InputError
from twincl.files import atomic_path, write_json
from twincl.nets.registry import create_encoder
from twincl.nets.twin import TwinNet
from twincl.shapes import Shape, is_vector

WEIGHTS, DESCRIPTION = "model.safetensors", "model.json"


class Model(NamedTuple):
    """A trained network with what surrounds it."""

    net: TwinNet  # in evaluation mode
    views: Views
    classes: tuple[str, ...]
    shape: Shape  # of its input: (C, H, W) of images, (D,) of feature vectors
    temperature: float = 1.0  # that calibrates its probabilities


def calibrated(logits: Tensor, temperature: float) -> Tensor:
    """Class probabilities (N, K) from logits, or from logarithms of probabilities; the order of classes stays."""
    return (logits / temperature).softmax(1)


def save_model(folder: Path, net: TwinNet, description: dict[str, Any]) -> None:
    """Write weights and description into `folder`.

    `description` has: encoder, shortcut, feat_dim, head_bn, dropout, classes, shape, mean, std, temperature.
    """
    tensors = {name: value.contiguous().cpu() for name, value in net.state_dict().items()}
    with atomic_path(folder / WEIGHTS) as temporary:
        save_file(tensors, temporary)
    write_json(folder / DESCRIPTION, description)


def load_model(folder: Path, device: torch.device) -> Model:
    """Read what `save_model` wrote; executes nothing.

    Raises:
        InputError: there is no model in the folder, or its two files do not fit each other.
    """
    weights, description = folder / WEIGHTS, folder / DESCRIPTION
    for file in (weights, description):
        if not file.is_file():
            raise InputError(
                f"{folder} holds no trained model ({file.name} is missing); give the --output of a training"
            )
    try:
        about = json.loads(description.read_text(encoding="utf-8"))
        shape = tuple(about["shape"])
        encoder = create_encoder(about["encoder"], shape=shape, shortcut=about["shortcut"])
        net = TwinNet(
            encoder,
            len(about["classes"]),
            feat_dim=about["feat_dim"],
            head_bn=about["head_bn"],
            dropout=about["dropout"],
        )
        net.load_state_dict(load_file(weights))
        views = _plain_views(shape, tuple(about["mean"]), tuple(about["std"]))
        temperature = float(about.get("temperature", 1.0))  # folders of earlier versions have none
        if not 0 < temperature < math.inf:
            raise ValueError(f"a temperature of {temperature}")
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"the model in {folder} cannot be loaded ({type(error).__name__}: {error})") from error
    net = net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # as it was trained
    return Model(net.eval(), views, tuple(about["classes"]), shape, temperature)


def _plain_views(shape: Shape, mean: tuple[float, ...], std: tuple[float, ...]) -> Views:
    """A trained model sees only plain views, which are the same under every policy."""
    if len(mean) != shape[0]:
        raise ValueError(f"{len(mean)} means for data of shape {shape}")
    return FeatureViews(FEATURES, mean, std) if is_vector(shape) else ImageViews(NATURAL, mean, std)
