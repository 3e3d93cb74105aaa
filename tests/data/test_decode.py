from io import BytesIO

import numpy as np
import pytest
from picture import noise, png
from PIL import Image

from twincl.data.decode import BrokenImage, decode, read_header


def encoded(image, kind="PNG", **options):
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_no_resampling_at_the_native_size(tmp_path):
    (tmp_path / "x.png").write_bytes(png())
    for source in (png(), tmp_path / "x.png"):
        assert np.array_equal(decode(source, size=8, channels=3), np.asarray(noise()))


def test_the_centre_is_kept():
    image = noise((12, 8))
    assert np.array_equal(decode(encoded(image), size=8, channels=3), np.asarray(image)[:, 2:10])
    assert np.array_equal(decode(encoded(image.rotate(90, expand=True)), size=8, channels=3).shape, (8, 8, 3))


def test_resampling_is_antialiased():
    board = Image.fromarray((np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8))
    small = decode(encoded(board), size=8, channels=1)
    assert small.shape == (8, 8, 1)
    assert np.abs(small.astype(int) - 127).max() <= 3


def test_exif_orientation():
    image = Image.new("RGB", (16, 16), "black")
    image.paste("white", (0, 0, 8, 8))  # top left
    exif = Image.Exif()
    exif[0x0112] = 6  # shown after a quarter turn to the right: top left becomes top right
    pixels = decode(encoded(image, "JPEG", exif=exif, quality=95), size=16, channels=1)
    assert pixels[3, 12, 0] > 250
    assert pixels[3, 3, 0] < 5


def test_16_bit():
    values = np.array([[0, 257], [32896, 65535]], dtype=np.uint16)
    assert decode(encoded(Image.fromarray(values)), size=2, channels=1)[..., 0].tolist() == [[0, 1], [128, 255]]
    assert decode(encoded(Image.fromarray(values)), size=2, channels=3)[..., 2].tolist() == [[0, 1], [128, 255]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0, 255], [7, 100]], dtype=np.int32), [[0, 255], [7, 100]]),
        (np.array([[0, 65535], [257, 514]], dtype=np.int32), [[0, 255], [1, 2]]),
        (np.array([[0, 1], [0.2, 0.4]], dtype=np.float32), [[0, 255], [51, 102]]),
        (np.array([[0, 255], [7, 99.6]], dtype=np.float32), [[0, 255], [7, 100]]),
    ],
)
def test_32_bit(values, expected):
    image = encoded(Image.fromarray(values), "TIFF")
    assert read_header(image)[0] in ("I", "F")
    assert decode(image, size=2, channels=1)[..., 0].tolist() == expected


def test_values_outside_any_range():
    for value in (np.nan, -1, 1e6):
        with pytest.raises(BrokenImage, match="values"):
            decode(encoded(Image.fromarray(np.full((2, 2), value, np.float32)), "TIFF"), size=2, channels=1)


def test_cmyk():
    red = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    pixels = decode(encoded(red, "JPEG", quality=95), size=8, channels=3).reshape(-1, 3)
    assert pixels[:, 0].min() > 245
    assert pixels[:, 1:].max() < 10


def test_palette():
    image = Image.new("RGB", (2, 1), (255, 0, 0))
    image.putpixel((1, 0), (0, 0, 255))
    data = encoded(image.resize((4, 2), Image.Resampling.NEAREST).quantize(2))
    assert read_header(data)[0] == "P"
    assert decode(data, size=2, channels=3)[0].tolist() == [[255, 0, 0], [0, 0, 255]]


def test_palette_with_transparency_turns_white():
    image = Image.new("P", (2, 2), 0)
    image.putpalette([10, 20, 30, 200, 100, 50])
    image.putpixel((0, 0), 1)
    pixels = decode(encoded(image, transparency=0), size=2, channels=3)
    assert pixels[0].tolist() == [[200, 100, 50], [255, 255, 255]]


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_alpha(mode):
    colour = (100, 100, 100, 128) if mode == "RGBA" else (100, 128)
    data = encoded(Image.new(mode, (4, 4), colour))
    assert abs(int(decode(data, size=4, channels=3)[0, 0, 0]) - 177) <= 1
    assert abs(int(decode(data, size=4, channels=1)[0, 0, 0]) - 177) <= 1
    assert decode(data, size=4, channels=4)[0, 0].tolist() == [100, 100, 100, 128]


def test_colour_key_transparency():
    image = Image.new("RGB", (2, 2), (1, 2, 3))
    image.putpixel((0, 0), (9, 9, 9))
    assert decode(encoded(image, transparency=(1, 2, 3)), size=2, channels=3)[0].tolist() == [[9] * 3, [255] * 3]


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16"])
def test_every_mode_and_channel_count(mode, channels):
    image = Image.fromarray(np.arange(64, dtype=np.uint16).reshape(8, 8)) if mode == "I;16" else noise((8, 8), mode)
    pixels = decode(encoded(image), size=4, channels=channels)
    assert pixels.shape == (4, 4, channels)
    assert pixels.dtype == np.uint8


def test_bit_images_are_black_and_white():
    assert set(np.unique(decode(encoded(noise((8, 8), "1")), size=8, channels=3))) == {0, 255}


def test_a_large_jpeg_is_close_to_its_full_decoding():
    gradient = Image.fromarray(np.add.outer(np.arange(512), np.arange(768)).clip(0, 1279).astype(np.float32) / 5)
    data = encoded(gradient.convert("L"), "JPEG", quality=95)
    small = decode(data, size=32, channels=1)[..., 0].astype(int)
    full = np.asarray(Image.open(BytesIO(data)).resize((32, 32), Image.Resampling.BILINEAR, box=(128, 0, 640, 512)))
    assert np.abs(small - full).max() <= 4


def test_broken_images(tmp_path):
    whole = encoded(noise((64, 64)), "JPEG")
    for data in (whole[: len(whole) // 2], png((64, 64))[:500]):
        with pytest.raises(BrokenImage, match=r"truncated|broken"):
            decode(data, size=8, channels=3)
    with pytest.raises(BrokenImage, match="not an image"):
        decode(b"hello", size=8, channels=3)
    with pytest.raises(BrokenImage, match="no such file"):
        decode(tmp_path / "absent.png", size=8, channels=3)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [32, 64])  # above the limit; above twice the limit, where Pillow itself refuses
def test_decompression_bombs(monkeypatch, side):
    data = png((side, side))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(BrokenImage, match="decompression bomb"):
        decode(data, size=8, channels=3)
    with pytest.raises(BrokenImage, match="decompression bomb"):
        read_header(data)
