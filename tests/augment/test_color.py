import colorsys

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from twincl.augment import color
from twincl.augment.jitter import SOLARIZE_THRESHOLD

SIZES = [(8, 8), (32, 32), (28, 20), (64, 64)]


def random_uint8(count: int, channels: int, size: tuple[int, int], seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, channels, *size), dtype=torch.uint8, generator=generator)


def to_pil(image: Tensor) -> Image.Image:
    pixels = image.permute(1, 2, 0).numpy()
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def levels_apart(ours: Tensor, pil: Image.Image) -> float:
    """Largest difference in grey levels between a (C,H,W) float image and a Pillow image."""
    theirs = torch.from_numpy(np.array(pil, dtype=np.float32))
    theirs = theirs[None] if theirs.ndim == 2 else theirs.permute(2, 0, 1)
    return float((ours * 255 - theirs).abs().max())


ENHANCERS = [
    (color.adjust_brightness, ImageEnhance.Brightness),
    (color.adjust_contrast, ImageEnhance.Contrast),
    (color.adjust_saturation, ImageEnhance.Color),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("ours", "theirs"), ENHANCERS)
def test_enhancements_follow_pillow(ours, theirs, channels, size):
    images = random_uint8(5, channels, size)
    factors = torch.tensor([0.0, 0.6, 1.0, 1.4, 2.5])
    result = ours(images / 255, factors)
    for image, factor, one in zip(images, factors, result, strict=True):
        assert levels_apart(one, theirs(to_pil(image)).enhance(float(factor))) <= 2


@pytest.mark.parametrize("channels", [1, 3])
def test_solarize_follows_pillow_exactly(channels):
    ramp = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(1, channels, 16, 16).contiguous()
    result = color.solarize(ramp / 255, torch.tensor([SOLARIZE_THRESHOLD]))
    assert levels_apart(result[0], ImageOps.solarize(to_pil(ramp[0]), 128)) < 1e-3


@pytest.mark.parametrize("size", SIZES)
def test_gray_follows_pillow(size):
    images = random_uint8(3, 3, size)
    result = color.blend_gray(images / 255, torch.ones(3))
    for image, one in zip(images, result, strict=True):
        assert levels_apart(one, ImageOps.grayscale(to_pil(image)).convert("RGB")) <= 1


def test_hue_is_exact_against_a_scalar_reference():
    images = random_uint8(4, 3, (8, 8)) / 255
    images[0, :, 0] = torch.tensor([0.0, 0.5, 1.0]).repeat(3)[:8]  # grey, black and white pixels
    images[0, :, 1, :6] = torch.tensor([[1.0, 1, 0, 0, 0, 1], [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 1]])  # pure
    turns = torch.tensor([-0.1, 0.07, 0.5, 0.93])
    result = color.adjust_hue(images, turns)
    for image, turn, one in zip(images, turns.tolist(), result, strict=True):
        for pixel, ours in zip(image.flatten(1).T.tolist(), one.flatten(1).T.tolist(), strict=True):
            hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
            assert ours == pytest.approx(colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value), abs=2e-5)


def test_hue_follows_pillow_up_to_its_8_bit_hue():
    images = random_uint8(3, 3, (32, 32))
    steps = [-25, 3, 128]
    result = color.adjust_hue(images / 255, torch.tensor(steps) / 256)
    for image, step, one in zip(images, steps, result, strict=True):
        hue, saturation, value = to_pil(image).convert("HSV").split()
        hue = hue.point([(level + step) % 256 for level in range(256)])
        pil = Image.merge("HSV", (hue, saturation, value)).convert("RGB")
        theirs = torch.from_numpy(np.array(pil, dtype=np.float32)).permute(2, 0, 1)
        difference = (one * 255 - theirs).abs()
        assert difference.mean() < 2
        assert difference.max() < 10  # one step of Pillow's hue moves a channel by up to 6 levels


NEUTRAL = [
    (color.adjust_brightness, 1.0),
    (color.adjust_contrast, 1.0),
    (color.adjust_saturation, 1.0),
    (color.adjust_hue, 0.0),
    (color.blend_gray, 0.0),
    (color.gaussian_blur, 0.0),
    (color.solarize, 2.0),
]


@pytest.mark.parametrize(("operation", "strength"), NEUTRAL)
def test_neutral_strength_changes_nothing(operation, strength):
    images = random_uint8(4, 3, (16, 16)) / 255
    torch.testing.assert_close(operation(images, torch.full((4,), strength)), images, atol=1e-6, rtol=0)


@pytest.mark.parametrize(("operation", "strength"), NEUTRAL)
def test_images_do_not_affect_each_other_and_stay_untouched(operation, strength):
    images = random_uint8(4, 3, (16, 12)) / 255
    before = images.clone()
    strengths = torch.tensor([0.3, 0.5, strength, 0.8])
    together = operation(images, strengths)
    alone = torch.cat([operation(images[i : i + 1], strengths[i : i + 1]) for i in range(4)])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=0)
    assert torch.equal(images, before)
    assert together.min() >= 0
    assert together.max() <= 1 + 1e-6


def test_blur_equals_a_naive_weighted_mean():
    image = random_uint8(1, 2, (9, 11)) / 255
    sigma = 0.7
    result = color.gaussian_blur(image, torch.tensor([sigma]))
    for y in range(9):
        for x in range(11):
            total = torch.zeros(2)
            mass = 0.0
            for v in range(max(0, y - 1), min(9, y + 2)):
                for u in range(max(0, x - 1), min(11, x + 2)):
                    weight = float(np.exp(-((v - y) ** 2 + (u - x) ** 2) / (2 * sigma**2)))
                    total += weight * image[0, :, v, u]
                    mass += weight
            torch.testing.assert_close(result[0, :, y, x], total / mass, atol=1e-6, rtol=1e-5)


def test_blur_keeps_a_flat_image():
    flat = torch.full((1, 1, 64, 64), 0.3)
    torch.testing.assert_close(color.gaussian_blur(flat, torch.tensor([2.0])), flat)
