"""Images in an array -> the size and channels asked for, by the same rules as `decode` has for files."""

import numpy as np
import torch
from torch.nn.functional import interpolate

_CHUNK = 1024  # images resized at a time, to bound the float copy


def convert(pixels: np.ndarray, size: int | None, channels: int | None) -> np.ndarray | torch.Tensor:
    """Images (N, H, W[, C]) uint8 as they are where they fit, otherwise as a tensor (N, C, size, size).

    `size` None keeps H and W. `channels` None keeps grey and colour, and puts transparent images on white.
    """
    present = pixels.shape[3] if pixels.ndim == 4 else 1
    wanted = channels or min(present, 3)
    if (
        size in (None, *pixels.shape[1:3])
        and wanted == present
        and (size is None or pixels.shape[1] == pixels.shape[2])
    ):
        return pixels
    side = size or 0
    height, width = (side, side) if size else pixels.shape[1:3]
    out = torch.empty((len(pixels), wanted, height, width), dtype=torch.uint8)
    for start in range(0, len(pixels), _CHUNK):
        part = torch.from_numpy(np.ascontiguousarray(pixels[start : start + _CHUNK])).float()
        part = part.unsqueeze(1) if part.ndim == 3 else part.permute(0, 3, 1, 2)
        part = _to_channels(part, wanted)
        out[start : start + _CHUNK] = (_to_square(part, size) if size else part).round().clamp(0, 255).to(torch.uint8)
    return out


def _to_channels(images: torch.Tensor, wanted: int) -> torch.Tensor:
    """(N, C, H, W) float in 0..255 -> (N, wanted, H, W): alpha onto white, grey by luma as in Pillow."""
    present = images.shape[1]
    if present == wanted:
        return images
    if present == 4:
        alpha = images[:, 3:] / 255
        images = images[:, :3] * alpha + 255 * (1 - alpha)
        return images if wanted == 3 else _to_channels(images, wanted)
    if wanted == 1:
        weights = images.new_tensor([0.299, 0.587, 0.114]).view(1, 3, 1, 1)
        return (images * weights).sum(1, keepdim=True)
    colour = images.expand(-1, 3, -1, -1)
    return colour if wanted == 3 else torch.cat([colour, torch.full_like(colour[:, :1], 255)], 1)


def _to_square(images: torch.Tensor, size: int) -> torch.Tensor:
    """The centre square, resampled to (N, C, size, size) unless it is of that size."""
    height, width = images.shape[2:]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    square = images[:, :, top : top + side, left : left + side]
    if side == size:
        return square
    return interpolate(square, (size, size), mode="bilinear", align_corners=False, antialias=True)
