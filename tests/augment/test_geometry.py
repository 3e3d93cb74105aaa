import numpy as np
import pytest
import torch
from PIL import Image, ImageOps
from torch import Tensor

from twincl.augment.geometry import CropBox, Shift, draw_crop, draw_shift, resized_crop, shift


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_uint8(count: int, channels: int, size: tuple[int, int]) -> Tensor:
    return torch.randint(0, 256, (count, channels, *size), dtype=torch.uint8, generator=seeded())


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("size", [(8, 8), (28, 28), (32, 20), (64, 64)])
def test_resized_crop_follows_pillow(size, channels):
    height, width = size
    images = random_uint8(12, channels, size)
    box = draw_crop(12, size, crop_min=0.2, flip_p=0.5, generator=seeded(1))
    result = resized_crop(images / 255, box)
    for i, image in enumerate(images):
        top, left, h, w = (int(field[i]) for field in box[:4])
        for channel, ours in zip(image, result[i], strict=True):
            pil = Image.fromarray(channel.numpy()).crop((left, top, left + w, top + h))
            pil = pil.resize((width, height), Image.Resampling.BILINEAR)
            pil = ImageOps.mirror(pil) if box.mirror[i] else pil
            theirs = torch.from_numpy(np.array(pil, dtype=np.float32))
            assert (ours * 255 - theirs).abs().max() <= 1.5


def test_whole_box_is_the_image_and_mirror_flips_it():
    images = random_uint8(2, 3, (10, 14)) / 255
    zero = torch.zeros(2)
    box = CropBox(zero, zero, zero + 10, zero + 14, torch.tensor([False, True]))
    expected = torch.stack((images[0], images[1].flip(2)))
    torch.testing.assert_close(resized_crop(images, box), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("size", [(32, 32), (8, 8), (28, 20)])
def test_crop_boxes_lie_inside_and_follow_the_distribution(size):
    height, width = size
    box = draw_crop(20_000, size, crop_min=0.2, flip_p=0.3, generator=seeded())
    for field in box[:4]:
        assert torch.equal(field, field.round())
    assert box.top.min() >= 0
    assert box.left.min() >= 0
    assert (box.top + box.height).max() <= height
    assert (box.left + box.width).max() <= width
    assert box.height.min() >= 1
    assert box.width.min() >= 1
    share = box.height * box.width / (height * width)
    slack = 1 / height + 1 / width  # rounding to whole pixels
    assert share.min() >= 0.2 * (1 - 2 * slack) - slack / 2
    assert box.mirror.float().mean() == pytest.approx(0.3, abs=0.02)


def test_crop_distribution_equals_sequential_rejection():
    rng = np.random.default_rng(0)
    shares, ratios = [], []
    for _ in range(20_000):
        for _ in range(10):
            area = rng.uniform(0.2, 1) * 64 * 64
            ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
            w, h = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
            if 0 < w <= 64 and 0 < h <= 64:
                break
        else:
            w = h = 64
        shares.append(w * h / 64**2)
        ratios.append(np.log(w / h))
    box = draw_crop(20_000, (64, 64), crop_min=0.2, flip_p=0.5, generator=seeded())
    ours = (box.height * box.width / 64**2).numpy()
    our_ratios = (box.width / box.height).log().numpy()
    levels = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(np.quantile(ours, levels), np.quantile(shares, levels), atol=0.02)
    np.testing.assert_allclose(np.quantile(our_ratios, levels), np.quantile(ratios, levels), atol=0.02)
    free = box.height < 64
    place = (box.top[free] / (64 - box.height[free])).mean()
    assert place == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("size", "expected"), [((16, 160), (16, 21)), ((160, 16), (21, 16)), ((20, 20), (20, 20))])
def test_centre_box_where_no_candidate_fits(size, expected):
    box = draw_crop(64, size, crop_min=1.0, flip_p=0.0, generator=seeded())
    fallen = (box.height == expected[0]) & (box.width == expected[1])
    assert fallen.float().mean() > 0.5
    assert (box.top[fallen] == (size[0] - expected[0]) // 2).all()
    assert (box.left[fallen] == (size[1] - expected[1]) // 2).all()


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_shift_equals_padding_and_slicing(channels, dtype):
    height, width, pad = 12, 16, 3
    images = random_uint8(40, channels, (height, width)).to(dtype)
    by = draw_shift(40, (height, width), pad=0.25, flip_p=0.5, generator=seeded(3))
    padded = torch.nn.functional.pad(images, (4, 4, pad, pad))
    result = shift(images, by)
    assert result.dtype == dtype
    for i in range(40):
        top, left = int(by.down[i]) + pad, int(by.right[i]) + 4
        expected = padded[i, :, top : top + height, left : left + width]
        assert torch.equal(result[i], expected.flip(2) if by.mirror[i] else expected)


def test_shift_reaches_every_offset_equally():
    by = draw_shift(30_000, (32, 16), pad=0.125, flip_p=0.0, generator=seeded())
    for offsets, reach in ((by.down, 4), (by.right, 2)):
        values, counts = offsets.unique(return_counts=True)
        assert values.tolist() == list(range(-reach, reach + 1))
        assert (counts / 30_000 * len(values) - 1).abs().max() < 0.1
    assert not by.mirror.any()


def test_shift_beyond_the_image_leaves_zeros():
    images = torch.ones(1, 1, 4, 4)
    far = Shift(torch.tensor([9]), torch.tensor([-9]), torch.tensor([False]))
    assert not shift(images, far).any()


def test_images_do_not_affect_each_other():
    images = random_uint8(6, 3, (16, 16)) / 255
    box = draw_crop(6, (16, 16), crop_min=0.2, flip_p=0.5, generator=seeded())
    by = draw_shift(6, (16, 16), pad=0.125, flip_p=0.5, generator=seeded())
    for i in range(6):
        one = slice(i, i + 1)
        alone = resized_crop(images[one], CropBox(*(field[one] for field in box)))
        torch.testing.assert_close(resized_crop(images, box)[one], alone)
        assert torch.equal(shift(images, by)[one], shift(images[one], Shift(*(field[one] for field in by))))
