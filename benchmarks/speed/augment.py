"""The strong view of 32x32 images on one core against the same transforms in Pillow, one image at a time."""

import torch
from PIL import Image

from benchmarks.speed.options import Figures, Options
from benchmarks.speed.product import random_images
from benchmarks.speed.reference import MEAN, STD, strong
from benchmarks.speed.timing import best_in_turn
from twincl.augment.images import NATURAL, ImageViews
from twincl.training.device import threads


def run(options: Options) -> Figures:
    """Images a second of both, normalised float32 at the end."""
    count, repeats = (64, 2) if options.quick else (256, 15)
    pixels, _ = random_images(count)
    pictures = [Image.fromarray(one) for one in pixels]
    batch = torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous()
    views = ImageViews(NATURAL, tuple(MEAN.flatten().tolist()), tuple(STD.flatten().tolist()))
    generator = torch.Generator().manual_seed(0)
    with threads(1):
        best = best_in_turn(
            repeats,
            {
                "ours": lambda: views.strong(batch, generator),
                "pillow": lambda: [strong(picture) for picture in pictures],
            },
        )
    rates = {f"{name}_images_per_second": count / value for name, value in best.items()}
    return {"augment_ratio": best["pillow"] / best["ours"], "augment": rates}
