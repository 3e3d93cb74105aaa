"""Encoders from the optional package timm, as `timm:NAME`."""

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from twincl.errors import InputError, did_you_mean


class TimmEncoder(nn.Module):
    """A timm model without its classification layer: (B,C,H,W) -> (B,dim); untrained unless `pretrained`.

    `mean` and `std` are what its pretrained weights expect of images.

    Raises InputError if timm cannot be imported, has no such model, or the model cannot take such images.
    """

    def __init__(self, name: str, *, channels: int, img_size: int, pretrained: bool = False) -> None:
        super().__init__()
        timm = _import_timm()
        if not timm.is_model(name):
            raise InputError(f"timm has no model '{name}': {did_you_mean(name, timm.list_models())}")
        try:
            self.model = _create(timm, name, channels, img_size, pretrained)
            self.dim = _output_width(self.model, channels, img_size)
        except Exception as error:
            images = f"{channels} x {img_size} x {img_size}"
            raise InputError(f"timm's '{name}' cannot encode images of {images}: {error}") from error

        about = getattr(self.model, "pretrained_cfg", {})
        self.mean = tuple(about.get("mean", (0.5,) * channels))
        self.std = tuple(about.get("std", (0.5,) * channels))

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W) -> (B,dim)."""
        features: Tensor = self.model(images)
        return features


def _import_timm() -> Any:
    try:
        return importlib.import_module("timm")
    except ModuleNotFoundError as error:
        if error.name == "timm":
            raise InputError("encoders 'timm:...' need timm: pip install 'twincl[timm]'") from error
        raise InputError(f"timm is installed but does not import: {error}.") from error
    except Exception as error:  # a torchvision built for another torch raises RuntimeError
        raise InputError(
            "timm is installed but does not import; most often torchvision is installed but does not import "
            f"beside this torch: install both from the same index ({error})."
        ) from error


def _create(timm: Any, name: str, channels: int, img_size: int, pretrained: bool) -> nn.Module:
    """Transformers must be told the image size; convolutional models refuse the argument."""
    wanted = {"pretrained": pretrained, "num_classes": 0, "in_chans": channels}
    try:
        model: nn.Module = timm.create_model(name, img_size=img_size, **wanted)
    except TypeError:
        model = timm.create_model(name, **wanted)
    return model


def _output_width(model: nn.Module, channels: int, img_size: int) -> int:
    """Asked of the model itself: what a model declares need not be what leaves it without its head."""
    training = model.training
    with torch.no_grad():
        features: Tensor = model.eval()(torch.zeros(1, channels, img_size, img_size))
    model.train(training)
    if features.ndim != 2:
        raise ValueError(f"it returns {features.ndim} dimensions where (images, features) are needed")
    return features.shape[1]
