"""Where the pixels of a view come from: the resized crop and the shifted crop, with an optional mirror.

Drawing (`draw_*`) makes one set of parameters per image from an explicit generator, on its device; applying
(`resized_crop`, `shift`) is a pure function of images and parameters, so any view can be replayed.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

RATIO = (3 / 4, 4 / 3)  # width / height of a crop box
CANDIDATES = 10  # boxes drawn per image before the centre box is taken


class CropBox(NamedTuple):
    """Per image: the box to enlarge to the full size, whole pixels (B,) float32, and `mirror` (B,) bool."""

    top: Tensor
    left: Tensor
    height: Tensor
    width: Tensor
    mirror: Tensor

    def to(self, device: torch.device) -> "CropBox":
        """The same parameters on `device`."""
        return CropBox(*(field.to(device) for field in self))


class Shift(NamedTuple):
    """Per image: pixels by which the window moves down and right (B,) int64, and `mirror` (B,) bool."""

    down: Tensor
    right: Tensor
    mirror: Tensor

    def to(self, device: torch.device) -> "Shift":
        """The same parameters on `device`."""
        return Shift(*(field.to(device) for field in self))


def draw_chance(count: int, p: float, generator: torch.Generator) -> Tensor:
    """`count` independent events of probability `p`, (B,) bool."""
    return torch.rand(count, generator=generator, device=generator.device) < p


def draw_crop(
    count: int, size: tuple[int, int], *, crop_min: float, flip_p: float, generator: torch.Generator
) -> CropBox:
    """Draw boxes of area share uniform in [crop_min, 1] and log-uniform ratio in `RATIO`.

    Of `CANDIDATES` boxes per image the first that fits within `size` (height, width) is taken, at a uniform
    place; where none fits, the largest centred box of admissible ratio.
    """
    height, width = size
    device = generator.device
    share, ratio = torch.rand(2, CANDIDATES, count, generator=generator, device=device)
    area = (crop_min + (1 - crop_min) * share) * (height * width)
    low, high = (math.log(bound) for bound in RATIO)
    ratio = torch.exp(low + (high - low) * ratio)
    widths, heights = (area * ratio).sqrt().round(), (area / ratio).sqrt().round()
    fits = (widths >= 1) & (widths <= width) & (heights >= 1) & (heights <= height)
    first = fits.int().argmax(dim=0, keepdim=True)
    found = fits.any(dim=0)

    centre_height, centre_width = _largest_box(height, width)
    h = torch.where(found, heights.gather(0, first)[0], centre_height)
    w = torch.where(found, widths.gather(0, first)[0], centre_width)
    down, right = torch.rand(2, count, generator=generator, device=device)
    # float32 may round u * (n + 1) up to n + 1 although u < 1, hence the minimum
    top = torch.where(found, (down * (height - h + 1)).floor(), ((height - h) / 2).floor())
    left = torch.where(found, (right * (width - w + 1)).floor(), ((width - w) / 2).floor())
    mirror = draw_chance(count, flip_p, generator)
    return CropBox(top.minimum(height - h), left.minimum(width - w), h, w, mirror)


def _largest_box(height: int, width: int) -> tuple[float, float]:
    ratio = min(max(width / height, RATIO[0]), RATIO[1])
    return max(1.0, round(min(height, width / ratio))), max(1.0, round(min(width, height * ratio)))


def draw_shift(count: int, size: tuple[int, int], *, pad: float, flip_p: float, generator: torch.Generator) -> Shift:
    """Draw shifts uniform over the whole pixels in [-int(pad * size), int(pad * size)], per direction."""
    reach = [int(pad * side) for side in size]
    down, right = (
        torch.randint(-most, most + 1, (count,), generator=generator, device=generator.device) for most in reach
    )
    return Shift(down, right, draw_chance(count, flip_p, generator))


def resized_crop(images: Tensor, box: CropBox) -> Tensor:
    """Enlarge each image's box to the size of the image: (B,C,H,W) float -> the same shape.

    Bilinear with half-pixel centres, clamped inside the box, as Pillow's `crop` then `resize`; since a box is
    never larger than the image no antialiasing applies. The mirror costs nothing: it reverses the positions.
    """
    height, width = images.shape[-2:]
    box = box.to(images.device)
    rows = _positions(box.top, box.height, height)
    columns = _positions(box.left, box.width, width)
    columns = torch.where(box.mirror[:, None], columns.flip(1), columns)
    # grid_sample counts from -1 to 1 across the image, edge to edge
    y = ((2 * rows + 1) / height - 1)[:, :, None].expand(-1, height, width)
    x = ((2 * columns + 1) / width - 1)[:, None, :].expand(-1, height, width)
    grid = torch.stack((x, y), dim=-1)
    return F.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def _positions(start: Tensor, length: Tensor, out: int) -> Tensor:
    """Source coordinates of `out` target pixels along one side, (B,out), in [start, start + length - 1]."""
    start, length = start[:, None], length[:, None]
    centres = torch.arange(out, device=start.device) + 0.5
    inside = (centres * length / out - 0.5).clamp_(min=0).minimum(length - 1)
    return start + inside


def shift(images: Tensor, by: Shift) -> Tensor:
    """Move the window by whole pixels, zeros beyond the edges, then mirror: (B,C,H,W) of any dtype."""
    batch, channels, height, width = images.shape
    by = by.to(images.device)
    along = torch.arange(width, device=images.device)
    rows = torch.arange(height, device=images.device) + by.down[:, None]
    columns = torch.where(by.mirror[:, None], along.flip(0), along) + by.right[:, None]
    inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
    source = rows.clamp(0, height - 1)[:, :, None] * width + columns.clamp(0, width - 1)[:, None, :]
    source = source.view(batch, 1, -1).expand(-1, channels, -1)
    moved = images.reshape(batch, channels, -1).gather(2, source).view_as(images)
    return moved * inside[:, None].to(images.dtype)
