import dataclasses

import pytest
import torch

from twincl.augment.geometry import CropBox, resized_crop
from twincl.augment.images import NATURAL, POLICIES, SYMBOLS, ImageViews, draw_strong
from twincl.augment.jitter import SOLARIZE_THRESHOLD, Jitter, apply_jitter, draw_jitter
from twincl.errors import InputError

EVERYTHING = dataclasses.replace(NATURAL, blur_p=0.5)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch(count: int = 6, channels: int = 3, size: int = 16) -> torch.Tensor:
    return torch.randint(0, 256, (count, channels, size, size), dtype=torch.uint8, generator=seeded(9))


def views(channels: int, policy=NATURAL) -> ImageViews:
    return ImageViews(policy, mean=(0.5, 0.4, 0.3, 0.0)[:channels], std=(0.2, 0.25, 0.3, 1.0)[:channels])


@pytest.mark.parametrize("policy", [*POLICIES.values(), EVERYTHING])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [8, 28, 64])
def test_views_keep_shape_and_leave_the_input_and_global_randomness_alone(size, channels, policy):
    images = batch(channels=channels, size=size)
    before, state = images.clone(), torch.get_rng_state()
    make = views(channels, policy)
    for view in (make.plain(images), make.weak(images, seeded()), make.strong(images, seeded())):
        assert view.shape == images.shape
        assert view.dtype == torch.float32
        assert view.isfinite().all()
        assert view.is_contiguous()
        assert not view.requires_grad
    assert torch.equal(images, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_plain_is_the_normalised_image():
    images = batch()
    mean, std = torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.2, 0.25, 0.3])
    expected = (images / 255 - mean[:, None, None]) / std[:, None, None]
    torch.testing.assert_close(views(3).plain(images), expected, atol=1e-5, rtol=0)


def test_same_state_same_view_and_next_state_another():
    images, generator = batch(), seeded(5)
    first = views(3, EVERYTHING).strong(images, generator)
    assert torch.equal(first, views(3, EVERYTHING).strong(images, seeded(5)))
    assert not torch.equal(first, views(3, EVERYTHING).strong(images, generator))
    assert torch.equal(views(3).weak(images, seeded(5)), views(3).weak(images, seeded(5)))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_strong_view_can_be_replayed_one_image_at_a_time(channels):
    images = batch(channels=channels)
    make = ImageViews(EVERYTHING, mean=(0.0,) * channels, std=(1.0,) * channels)
    together = make.strong(images, seeded(2))
    box, jitter = draw_strong(EVERYTHING, 6, (16, 16), seeded(2))
    for i in range(6):
        one = slice(i, i + 1)
        alone = resized_crop(images[one] / 255, CropBox(*(field[one] for field in box)))
        alone = apply_jitter(alone, Jitter(*(None if field is None else field[one] for field in jitter)))
        torch.testing.assert_close(together[one], alone, atol=1e-5, rtol=0)


def test_views_are_pixels_before_normalisation():
    make = ImageViews(EVERYTHING, mean=(0.0,) * 3, std=(1.0,) * 3)
    strong = make.strong(batch(64, size=32), seeded())
    assert strong.min() >= 0
    assert strong.max() <= 1 + 1e-6


def test_fourth_channel_and_missing_colours():
    images = batch(channels=4) / 255
    jitter = draw_strong(EVERYTHING, 6, (16, 16), seeded())[1]
    changed = apply_jitter(images, jitter)
    assert torch.equal(changed[:, 3], images[:, 3])
    assert torch.equal(changed[:, :3], apply_jitter(images[:, :3], jitter))
    only_colour = Jitter(saturation=torch.zeros(6), hue=torch.full((6,), 0.3), gray=torch.ones(6))
    assert torch.equal(apply_jitter(images[:, :1], only_colour), images[:, :1])


def test_jitter_is_drawn_as_asked():
    strengths = {"brightness": 0.4, "contrast": 1.5, "saturation": 0.2, "hue": 0.1}
    chances = {"jitter_p": 0.8, "gray_p": 0.2, "blur_p": 0.3, "solarize_p": 0.5}
    jitter = draw_jitter(20_000, **strengths, **chances, generator=seeded())
    ranges = {"brightness": (0.6, 1.4), "contrast": (0.0, 2.5), "saturation": (0.8, 1.2), "hue": (-0.1, 0.1)}
    for name, (low, high) in ranges.items():
        values = getattr(jitter, name)
        neutral = 0.0 if name == "hue" else 1.0
        drawn = values[values != neutral]
        assert len(drawn) / 20_000 == pytest.approx(0.8, abs=0.02)
        assert low <= drawn.min()
        assert drawn.max() <= high
        assert drawn.mean() == pytest.approx((low + high) / 2, abs=0.03)
    assert jitter.gray.mean() == pytest.approx(0.2, abs=0.02)
    assert (jitter.blur > 0).float().mean() == pytest.approx(0.3, abs=0.02)
    assert (jitter.solarize == torch.tensor(SOLARIZE_THRESHOLD)).float().mean() == pytest.approx(0.5, abs=0.02)


def test_symbols_are_never_mirrored_or_inverted():
    box, jitter = draw_strong(SYMBOLS, 1000, (28, 28), seeded())
    assert not box.mirror.any()
    assert jitter.solarize is None
    assert jitter.hue is None
    assert (box.height * box.width).min() >= 0.55 * 28 * 28


def test_wrong_normalisation_is_refused():
    with pytest.raises(InputError, match="1 values but the images 3 channels"):
        views(1).plain(batch())
    with pytest.raises(InputError, match="std"):
        ImageViews(NATURAL, mean=(0.5,), std=(0.0,))
    with pytest.raises(InputError, match="std"):
        ImageViews(NATURAL, mean=(0.5,), std=())
