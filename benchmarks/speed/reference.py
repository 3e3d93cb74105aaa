"""The reference: a step as the authors' released code does it, made to run on a CPU and written out here.

Pillow transforms image by image in two loader processes; six images a sample through the encoder (weak, three
mixed, two strong); float32, channels first. Losses, network and optimiser are the same as ours.
"""

import random
from collections.abc import Iterator

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from twincl.augment.geometry import CANDIDATES, RATIO
from twincl.core.losses import alignment, cross_supervision, info_nce, mean_entropy, negative_marginal_entropy
from twincl.core.mixture import mixture_logits
from twincl.core.targets import bootstrap_targets
from twincl.nets.registry import create_encoder
from twincl.nets.twin import TwinNet

WORKERS = 2
TAU = 0.25
MEAN, STD = (torch.tensor(values)[:, None, None] for values in ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)))

Sample = tuple[int, Tensor, Tensor, Tensor, int]
Fetched = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


# transforms, one image at a time, drawn and applied as torchvision's are


def strong(image: Image.Image) -> Tensor:
    """RandomResizedCrop 0.2-1, flip 0.5, ColorJitter 0.4 0.4 0.4 0.1 with p 0.8, grey 0.2, solarise 0.5."""
    image = _flip(_resized_crop(image))
    if random.random() < 0.8:
        image = _color_jitter(image)
    if random.random() < 0.2:
        image = image.convert("L").convert("RGB")
    if random.random() < 0.5:
        image = ImageOps.solarize(image, 128)
    return normalised(image)


def weak(image: Image.Image) -> Tensor:
    """Flip, then a crop of the image's own size out of its frame of 4 black pixels."""
    width, height = image.size
    framed = ImageOps.expand(_flip(image), 4)
    left, top = random.randint(0, 8), random.randint(0, 8)
    return normalised(framed.crop((left, top, left + width, top + height)))


def normalised(image: Image.Image) -> Tensor:
    """(3, H, W) float32."""
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
    return pixels.float().div_(255).sub_(MEAN).div_(STD)


def _flip(image: Image.Image) -> Image.Image:
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else image


def _resized_crop(image: Image.Image) -> Image.Image:
    width, height = image.size
    for _ in range(CANDIDATES):
        area = width * height * random.uniform(0.2, 1)
        ratio = np.exp(random.uniform(np.log(RATIO[0]), np.log(RATIO[1])))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            left, top = random.randint(0, width - w), random.randint(0, height - h)
            box = image.crop((left, top, left + w, top + h))
            return box.resize((width, height), Image.Resampling.BILINEAR)
    return image


def _color_jitter(image: Image.Image) -> Image.Image:
    enhancers = [ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color, None]
    random.shuffle(enhancers)
    for enhancer in enhancers:
        image = enhancer(image).enhance(random.uniform(0.6, 1.4)) if enhancer else _turn_hue(image)
    return image


def _turn_hue(image: Image.Image) -> Image.Image:
    hue, saturation, value = image.convert("HSV").split()
    turned = np.array(hue) + np.uint8(round(random.uniform(-0.1, 0.1) * 255) % 256)  # wraps around, as the circle does
    return Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert("RGB")


class _Samples(Dataset[Sample]):
    """One image after the other, its three views and its label."""

    def __init__(self, pixels: np.ndarray, labels: np.ndarray) -> None:
        self.pixels, self.labels = pixels, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Sample:
        image = Image.fromarray(self.pixels[row])
        return row, weak(image), strong(image), strong(image), int(self.labels[row])


class Reference:
    """Network, optimiser and loader of the reference, with PreAct ResNet-18 on images (N, 32, 32, 3)."""

    def __init__(self, pixels: np.ndarray, labels: np.ndarray, classes: int, batch_size: int) -> None:
        encoder = create_encoder("preact_resnet18", shape=(3, *pixels.shape[1:3]))
        self.net = TwinNet(encoder, classes, feat_dim=128, head_bn=True, dropout=0.25)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-3)
        self.means = F.normalize(torch.randn(classes, 128), dim=1)
        self.clean = torch.rand(len(labels))
        self.classes = classes
        self._samples, self._batch_size = _Samples(pixels, labels), batch_size

    def batches(self) -> Iterator[Fetched]:
        """An epoch; the workers start with the iteration and end with it."""
        loader: DataLoader[Sample] = DataLoader(
            self._samples, self._batch_size, shuffle=True, num_workers=WORKERS, drop_last=True
        )
        return iter(loader)

    def descend(self, batch: Fetched) -> None:
        """One step of the optimiser."""
        index, third, first, second, labels = batch
        b = len(index)
        pool = torch.cat([third, first, second])
        share = float(np.random.default_rng().beta(1, 1))
        share = max(share, 1 - share)
        partner = torch.randperm(len(pool))
        mixed = share * pool + (1 - share) * pool[partner]

        out = self.net(torch.cat([third, mixed, first, second]))
        _, mixed_logits, logits1, logits2 = out.logits.split([b, 3 * b, b, b])
        _, mixed_embeddings, embeddings1, embeddings2 = out.embeddings.split([b, 3 * b, b, b])

        one_hot, clean = F.one_hot(labels, self.classes).float(), self.clean[index]
        predictions1, predictions2 = logits1.detach().softmax(1), logits2.detach().softmax(1)
        targets1 = bootstrap_targets(one_hot, clean, predictions1)
        targets2 = bootstrap_targets(one_hot, clean, predictions2)
        targets = bootstrap_targets(one_hot, clean, (predictions1 + predictions2) / 2).repeat(3, 1)
        mixed_targets = share * targets + (1 - share) * targets[partner]
        predictions = torch.cat([logits1, logits2, mixed_logits])
        class_term, mixture_term = alignment(
            mixed_logits, mixture_logits(mixed_embeddings, self.means, TAU), mixed_targets
        )
        loss = (
            info_nce(embeddings1, embeddings2, TAU)
            + cross_supervision(logits1, logits2, targets1, targets2)
            + negative_marginal_entropy(predictions)
            + mean_entropy(predictions)
            + class_term
            + mixture_term
        )
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
