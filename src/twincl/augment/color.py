"""Colour operations on batches: (B,C,H,W) float in [0,1] and one strength per image (B,) -> the same shape.

They follow Pillow's `ImageEnhance` and `ImageOps` without its rounding to whole grey levels. C is 1 or 3
where nothing else is said. Each has a neutral strength that returns the image unchanged, so a batch in which
only some images are altered needs no splitting. No operation writes to its input.

`torch.where` on image-sized masks is avoided: it is several times slower on a CPU than 0/1 arithmetic.
"""

import torch
from torch import Tensor

LUMA = (0.299, 0.587, 0.114)  # ITU-R 601, as in Pillow's conversion to L


def luma(images: Tensor) -> Tensor:
    """Grey value of each pixel, (B,1,H,W); one-channel images are their own grey."""
    if images.shape[1] == 1:
        return images
    red, green, blue = images.unbind(1)
    return (red * LUMA[0]).add_(green, alpha=LUMA[1]).add_(blue, alpha=LUMA[2]).unsqueeze(1)


def adjust_brightness(images: Tensor, factor: Tensor) -> Tensor:
    """Multiply by `factor` >= 0 (neutral: 1) and clamp."""
    return (images * _per_image(factor)).clamp_(0, 1)


def adjust_contrast(images: Tensor, factor: Tensor) -> Tensor:
    """Stretch around the image's mean grey by `factor` >= 0 (neutral: 1; 0 gives uniform grey) and clamp."""
    mean = images.flatten(2).mean(dim=2)  # grey of the mean colour: the mean grey, in one pass
    mean = luma(mean[..., None, None]).flatten()
    # a lerp from a value per image misses PyTorch's fast path
    return (images * _per_image(factor)).add_(_per_image(mean * (1 - factor))).clamp_(0, 1)


def adjust_saturation(images: Tensor, factor: Tensor) -> Tensor:
    """Stretch away from each pixel's grey by `factor` >= 0 (neutral: 1; 0 gives a grey image) and clamp."""
    return torch.lerp(luma(images), images, _per_image(factor)).clamp_(0, 1)


def adjust_hue(images: Tensor, turns: Tensor) -> Tensor:
    """Turn the HSV hue by `turns` of the colour circle (neutral: 0); C = 3.

    Exact: a turn keeps the largest and the smallest channel value of a pixel (HSV value and chroma), so the
    new channels are trapezoids of the turned hue between those two.
    """
    red, green, blue = images.unbind(1)  # (B,H,W) each
    largest = torch.maximum(torch.maximum(red, green), blue)
    smallest = torch.minimum(torch.minimum(red, green), blue)
    chroma = largest - smallest
    # hue in sixths of the circle, counted from the channel that is largest
    at_red = largest.clone().eq_(red)
    at_green = largest.clone().eq_(green).mul_(1 - at_red)
    at_blue = (1 - at_red).sub_(at_green)
    hue = at_red.mul_(green - blue).addcmul_(at_green, blue - red).addcmul_(at_blue, red - green)
    hue.div_(chroma.clamp(min=1e-8)).add_(at_green, alpha=2).add_(at_blue, alpha=4)
    hue.add_(6 * turns[:, None, None])
    hue.sub_((hue / 6).floor_().mul_(6))  # into [0, 6); faster than remainder_
    turned = torch.empty_like(images)
    torch.sub(hue, 3, out=turned[:, 0]).abs_().sub_(1)
    torch.sub(hue, 2, out=turned[:, 1]).abs_().neg_().add_(2)
    torch.sub(hue, 4, out=turned[:, 2]).abs_().neg_().add_(2)
    return turned.clamp_(0, 1).mul_(chroma[:, None]).add_(smallest[:, None])


def blend_gray(images: Tensor, share: Tensor) -> Tensor:
    """Move each pixel towards its grey by `share` in [0,1] (neutral: 0; 1 gives a grey image)."""
    return torch.lerp(images, luma(images), _per_image(share))


def solarize(images: Tensor, threshold: Tensor) -> Tensor:
    """Invert the values at or above `threshold` (neutral: anything above 1); any C."""
    above = images.clone().ge_(_per_image(threshold))
    return above.sub_(images).abs_()


def gaussian_blur(images: Tensor, sigma: Tensor) -> Tensor:
    """Blur with standard deviation `sigma` >= 0 in pixels (neutral: 0); any C.

    The window spans a tenth of the shorter side as in SimCLR, at least 3 pixels; at the border the weights of
    the pixels inside the image are rescaled to sum to one.
    """
    height, width = images.shape[-2:]
    radius = max(1, min(height, width) // 20)
    vertical = _blur_weights(height, radius, sigma)[:, None]  # (B,1,H,H)
    horizontal = _blur_weights(width, radius, sigma)[:, None]  # (B,1,W,W), transposed on use
    return vertical @ images @ horizontal.mT


def _blur_weights(size: int, radius: int, sigma: Tensor) -> Tensor:
    """Rows of weights that sum to one, (B,size,size)."""
    place = torch.arange(size, device=sigma.device)
    distance = (place[:, None] - place).abs()
    scale = sigma.clamp(min=1e-3)[:, None, None]  # narrow enough to leave the pixel itself alone
    weights = torch.exp(-0.5 * (distance / scale) ** 2) * (distance <= radius)
    return weights / weights.sum(dim=2, keepdim=True)


def _per_image(strength: Tensor) -> Tensor:
    return strength[:, None, None, None]
