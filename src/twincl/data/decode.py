"""One image file of any kind -> a square array of bytes."""

import functools
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from twincl.errors import first_line

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_FORMATS = ("JPEG", "PNG", "BMP", "DIB", "GIF", "WEBP", "TIFF", "PPM", "AVIF", "JPEG2000")


class BrokenImage(Exception):
    """The image cannot be decoded; the message is a short reason."""


def read_header(source: Path | bytes) -> tuple[str, tuple[int, int]]:
    """The Pillow mode and (width, height), without decoding the pixels.

    Raises:
        BrokenImage: this is not an image, or one too large to be decoded safely.
    """
    try:
        with open_image(source) as image:
            _check_size(image)
            return image.mode, image.size
    except Exception as error:
        raise BrokenImage(_reason(error)) from error


def is_grey(mode: str) -> bool:
    """Whether images of this Pillow mode have no colour."""
    return mode in ("1", "L", "LA", "La", "F") or mode.startswith("I")


def decode(source: Path | bytes, *, size: int, channels: int) -> np.ndarray:
    """Decode a file or its content to (size, size, channels) uint8.

    The centre square is kept and resampled to `size` (antialiased bilinear), unless it is of that size.
    EXIF orientation is applied. Transparent parts turn white, unless `channels` is 4, where alpha is kept.
    16-bit grey is scaled by 1/257.

    Raises:
        BrokenImage: this is not an image, or it is truncated, or too large to be decoded safely.
    """
    try:
        with open_image(source) as image:
            _check_size(image)
            image.draft(None, (2 * size, 2 * size))  # a JPEG decodes straight to a size not below this
            image.load()
            upright = ImageOps.exif_transpose(image)
            return _pixels(_square(_to_mode(upright, channels), size), channels)
    except Exception as error:  # damaged files raise errors of every kind
        raise BrokenImage(_reason(error)) from error


def open_image(source: Path | bytes) -> AbstractContextManager[Image.Image]:
    """Open a file or its content with Pillow, as one of the usual formats of photographs and drawings.

    Of the others that Pillow knows, PostScript is handed to an interpreter of programs, and most are hardly ever used.
    """
    return Image.open(BytesIO(source) if isinstance(source, bytes) else source, formats=_formats())


@functools.cache
def _formats() -> tuple[str, ...]:
    """Those that this Pillow was built with."""
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


def _check_size(image: Image.Image) -> None:
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        raise Image.DecompressionBombError


def _reason(error: Exception) -> str:
    if isinstance(error, BrokenImage):
        return str(error)
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return f"more than {Image.MAX_IMAGE_PIXELS} pixels (possible decompression bomb)"
    if isinstance(error, UnidentifiedImageError):
        return "not an image of a known format"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return first_line(error)


def _to_mode(image: Image.Image, channels: int) -> Image.Image:
    """The image in 8 bits per channel and the mode for `channels`."""
    if image.mode.startswith("I") or image.mode == "F":
        image = Image.fromarray(_to_bytes(np.asarray(image), image.mode))
    has_alpha = image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info
    if has_alpha and channels != 4:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        image = Image.alpha_composite(white, layer).convert("RGB")
    elif image.mode == "La":
        image = image.convert("LA")
    elif image.mode not in ("1", "L", "LA", "RGB", "RGBA"):
        image = image.convert("RGBA" if has_alpha else "RGB")  # palette, CMYK, YCbCr, LAB, HSV
    mode = _MODES[channels]
    return image if image.mode == mode else image.convert(mode)


def _to_bytes(values: np.ndarray, mode: str) -> np.ndarray:
    """Grey values (H, W) of 16 or 32 bits or floats as uint8."""
    if mode.startswith("I;16"):
        return np.rint(values.astype(np.float64) / 257).astype(np.uint8)
    values = values.astype(np.float64)
    low, high = values.min(), values.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise BrokenImage("contains NaN or infinite values")
    if low < 0 or high > 65535:
        raise BrokenImage(f"values from {low:g} to {high:g}; expected 0..255 or 0..65535")
    if mode == "F" and high <= 1:
        values *= 255
    elif high > 255:
        values /= 257
    return np.asarray(np.rint(values), dtype=np.uint8)


def _square(image: Image.Image, size: int) -> Image.Image:
    """The centre square, resampled unless it is of that size; cropped first, so that no pixel outside it counts."""
    width, height = image.size
    side = min(width, height)
    if width != height:
        left, top = (width - side) // 2, (height - side) // 2
        image = image.crop((left, top, left + side, top + side))
    return image if side == size else image.resize((size, size), Image.Resampling.BILINEAR)


def _pixels(image: Image.Image, channels: int) -> np.ndarray:
    return np.asarray(image, dtype=np.uint8).reshape(image.height, image.width, channels)
