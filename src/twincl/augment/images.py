"""The three faces of an image in training: plain, weak (shift and mirror) and strong (crop and colours).

Images arrive as uint8 (B,C,H,W) with C = 1, 3 or 4 and leave as normalised float32 of the same shape,
contiguous, on the same device. Randomness comes from the generator alone: same state, same view.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from twincl.augment.constants import Constants
from twincl.augment.geometry import CropBox, Shift, draw_crop, draw_shift, resized_crop, shift
from twincl.augment.jitter import Jitter, apply_jitter, draw_jitter
from twincl.errors import InputError
from twincl.ranks import ALONE, Ranks


@dataclass(frozen=True)
class ViewPolicy:
    """How strong the views are; names ending in `_p` are probabilities per image."""

    crop_min: float  # smallest area share of a strong crop; the largest is 1
    flip_p: float
    jitter_p: float
    brightness: float  # factor in [1 - x, 1 + x]
    contrast: float  # factor in [1 - x, 1 + x]
    saturation: float  # factor in [1 - x, 1 + x]
    hue: float  # turn in [-x, x] of the colour circle
    gray_p: float
    solarize_p: float
    blur_p: float
    weak_pad: float  # largest shift of the weak view, as a share of the side
    weak_flip_p: float


# photographs: the transforms of the paper's released code
NATURAL = ViewPolicy(
    crop_min=0.2,
    flip_p=0.5,
    jitter_p=0.8,
    brightness=0.4,
    contrast=0.4,
    saturation=0.4,
    hue=0.1,
    gray_p=0.2,
    solarize_p=0.5,
    blur_p=0.0,
    weak_pad=0.125,
    weak_flip_p=0.5,
)

# digits, letters, signs: a mirror image or a small part may be another class, and colour may be the message
SYMBOLS = ViewPolicy(
    crop_min=0.6,
    flip_p=0.0,
    jitter_p=0.8,
    brightness=0.4,
    contrast=0.4,
    saturation=0.0,
    hue=0.0,
    gray_p=0.0,
    solarize_p=0.0,
    blur_p=0.0,
    weak_pad=0.125,
    weak_flip_p=0.0,
)

POLICIES: dict[str, ViewPolicy] = {"natural": NATURAL, "symbols": SYMBOLS}


def draw_weak(policy: ViewPolicy, count: int, size: tuple[int, int], generator: torch.Generator) -> Shift:
    """Parameters of the weak views of `count` images of `size` (height, width)."""
    return draw_shift(count, size, pad=policy.weak_pad, flip_p=policy.weak_flip_p, generator=generator)


def draw_strong(
    policy: ViewPolicy, count: int, size: tuple[int, int], generator: torch.Generator
) -> tuple[CropBox, Jitter]:
    """Parameters of the strong views of `count` images of `size` (height, width)."""
    box = draw_crop(count, size, crop_min=policy.crop_min, flip_p=policy.flip_p, generator=generator)
    jitter = draw_jitter(
        count,
        jitter_p=policy.jitter_p,
        brightness=policy.brightness,
        contrast=policy.contrast,
        saturation=policy.saturation,
        hue=policy.hue,
        gray_p=policy.gray_p,
        blur_p=policy.blur_p,
        solarize_p=policy.solarize_p,
        generator=generator,
    )
    return box, jitter


class ImageViews:
    """Makes views of batches under one policy and one normalisation (per channel, in units of [0,1])."""

    def __init__(self, policy: ViewPolicy, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        if len(mean) != len(std) or min(std) <= 0:
            raise InputError(f"mean {mean} and std {std} must have one value per channel, and std be positive.")
        self.policy = policy
        self.mean = mean
        self.std = std
        scale = 1 / torch.tensor(std)[:, None, None]
        self._constants = Constants(scale, -torch.tensor(mean)[:, None, None] * scale)

    @torch.no_grad()
    def plain(self, images: Tensor) -> Tensor:
        """The image itself, for evaluation and the E-step."""
        return self._normalise_(_as_float(images))

    @torch.no_grad()
    def weak(self, images: Tensor, generator: torch.Generator, ranks: Ranks = ALONE) -> Tensor:
        """The image shifted and perhaps mirrored."""
        count = len(images) * ranks.world
        by = _take(draw_weak(self.policy, count, _size(images), generator), ranks.rows(count))
        return self._normalise_(_as_float(shift(images, by)))

    @torch.no_grad()
    def strong(self, images: Tensor, generator: torch.Generator, ranks: Ranks = ALONE) -> Tensor:
        """A part of the image enlarged, perhaps mirrored, in other colours."""
        count = len(images) * ranks.world
        box, jitter = draw_strong(self.policy, count, _size(images), generator)
        own = ranks.rows(count)
        return self._normalise_(apply_jitter(resized_crop(_as_float(images), _take(box, own)), _take(jitter, own)))

    def _normalise_(self, images: Tensor) -> Tensor:
        """(x - mean) / std per channel, in place: every caller owns its float copy."""
        channels = images.shape[1]
        if len(self.mean) != channels:
            raise InputError(f"mean and std have {len(self.mean)} values but the images {channels} channels.")
        scale, offset = self._constants.on(images.device)
        return images.mul_(scale).add_(offset)


def _as_float(images: Tensor) -> Tensor:
    """uint8 -> float32 in [0,1], contiguous, a copy."""
    return images.to(torch.float32, memory_format=torch.contiguous_format).div_(255)


def _size(images: Tensor) -> tuple[int, int]:
    return images.shape[-2], images.shape[-1]


_Drawn = TypeVar("_Drawn", Shift, CropBox, Jitter)


def _take(drawn: _Drawn, rows: slice) -> _Drawn:
    """The parameters of some of the images; what is left out stays so."""
    fields: list[Any] = [None if field is None else field[rows] for field in drawn]
    return type(drawn)(*fields)
