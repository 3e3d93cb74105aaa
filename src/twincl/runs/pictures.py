"""The samples of a finished run as pictures."""

from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from twincl.data.dataset import RawSplit
from twincl.data.decode import decode, open_image, read_header

SIDE = 112  # longest side of a thumbnail
_LOSSLESS = 64  # thumbnails up to this side keep every pixel


class Pictures:
    """Samples by their row in a split; what cannot be decoded any more is None."""

    def __init__(self, split: RawSplit):
        self._pixels = split.pixels
        self.are_images = not split.is_features

    def sample(self, row: int) -> NDArray[np.uint8] | NDArray[np.float32] | None:
        """The image (H, W, 3) in full size, transparent parts white; or the feature vector (D,)."""
        if not self.are_images:
            return np.asarray(self._pixels[row])
        image = self._image(row, None)
        return None if image is None else np.asarray(image)

    def thumbnail(self, row: int) -> bytes | None:
        """The whole image, its longest side at most 112 pixels, as WebP or, where it is small, PNG."""
        image = self._image(row, SIDE) if self.are_images else None
        if image is None:
            return None
        image.thumbnail((SIDE, SIDE))
        buffer = BytesIO()
        if max(image.size) <= _LOSSLESS:
            image.save(buffer, "PNG", optimize=True)
        else:
            image.save(buffer, "WEBP", quality=80)
        return buffer.getvalue()

    def _image(self, row: int, side: int | None) -> Image.Image | None:
        source = self._pixels[row]
        if isinstance(source, np.ndarray):
            return _on_white(
                Image.fromarray(np.ascontiguousarray(source[..., 0] if source.shape[2:] == (1,) else source))
            )
        try:
            return _read(source, side)
        except Exception:  # damaged files raise errors of every kind
            return None


def _read(source: Path | bytes, side: int | None) -> Image.Image:
    """A file or its content, upright; decoded no larger than needed for `side` where the format can do that."""
    mode, size = read_header(source)
    if mode.startswith("I") or mode == "F":  # more than 8 bits: as the training sees them, the centre square
        return _on_white(Image.fromarray(decode(source, size=min(size), channels=1)[..., 0]))
    with open_image(source) as image:
        if side is not None:
            image.draft(None, (2 * side, 2 * side))
        return _on_white(ImageOps.exif_transpose(image))


def _on_white(image: Image.Image) -> Image.Image:
    """The image in RGB."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
