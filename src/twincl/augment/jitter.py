"""The random change of colours of a strong view: its parameters, how they are drawn, how they are applied.

The operations run in one fixed order: brightness, contrast, saturation, hue, grey, blur, solarise.
(torchvision shuffles the first four per image; that would split the batch, which is not worth its cost.)
"""

from typing import NamedTuple

import torch
from torch import Tensor

from twincl.augment import color
from twincl.augment.geometry import draw_chance

SOLARIZE_THRESHOLD = 128 / 255
BLUR_SIGMA = (0.1, 2.0)  # pixels


class Jitter(NamedTuple):
    """Strengths per image, (B,) float32, for the functions of `twincl.augment.color`; None: left out."""

    brightness: Tensor | None = None
    contrast: Tensor | None = None
    saturation: Tensor | None = None
    hue: Tensor | None = None
    gray: Tensor | None = None
    blur: Tensor | None = None
    solarize: Tensor | None = None

    def to(self, device: torch.device) -> "Jitter":
        """The same parameters on `device`."""
        return Jitter(*(None if field is None else field.to(device) for field in self))


def draw_jitter(
    count: int,
    *,
    jitter_p: float,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    gray_p: float,
    blur_p: float,
    solarize_p: float,
    generator: torch.Generator,
) -> Jitter:
    """Draw strengths for `count` images, neutral where an operation does not happen to an image.

    With probability `jitter_p` an image gets factors uniform in [max(0, 1-x), 1+x] for brightness, contrast
    and saturation, and a hue turn uniform in [-hue, hue]. Grey, blur and solarise happen independently.
    """

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, generator=generator, device=generator.device)

    def factor(reach: float) -> Tensor | None:
        return torch.where(jittered, uniform(max(0.0, 1 - reach), 1 + reach), 1.0) if reach else None

    def chance(p: float) -> Tensor:
        return draw_chance(count, p, generator)

    jittered = chance(jitter_p)
    return Jitter(
        brightness=factor(brightness),
        contrast=factor(contrast),
        saturation=factor(saturation),
        hue=torch.where(jittered, uniform(-hue, hue), 0.0) if hue else None,
        gray=chance(gray_p).float() if gray_p else None,
        blur=torch.where(chance(blur_p), uniform(*BLUR_SIGMA), 0.0) if blur_p else None,
        solarize=torch.where(chance(solarize_p), SOLARIZE_THRESHOLD, 2.0) if solarize_p else None,
    )


def apply_jitter(images: Tensor, jitter: Jitter) -> Tensor:
    """Change the colours of (B,C,H,W) float images in [0,1]; a fourth channel passes untouched.

    With one channel the operations that need colour (saturation, hue, grey) are left out.
    """
    if images.shape[1] == 4:
        return torch.cat((apply_jitter(images[:, :3], jitter), images[:, 3:]), dim=1)
    jitter = jitter.to(images.device)
    if jitter.brightness is not None:
        images = color.adjust_brightness(images, jitter.brightness)
    if jitter.contrast is not None:
        images = color.adjust_contrast(images, jitter.contrast)
    if images.shape[1] == 3:
        if jitter.saturation is not None:
            images = color.adjust_saturation(images, jitter.saturation)
        if jitter.hue is not None:
            images = color.adjust_hue(images, jitter.hue)
        if jitter.gray is not None:
            images = color.blend_gray(images, jitter.gray)
    if jitter.blur is not None:
        images = color.gaussian_blur(images, jitter.blur)
    if jitter.solarize is not None:
        images = color.solarize(images, jitter.solarize)
    return images
