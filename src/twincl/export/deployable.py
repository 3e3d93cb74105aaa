"""The model with its normalisation inside, as one module to hand to other runtimes, and the check that they agree."""

import numpy as np
import torch
from torch import Tensor, nn

from twincl.data.images import load_like
from twincl.errors import InputError
from twincl.results.finished import FinishedRun
from twincl.results.judged_data import judged_data
from twincl.results.model_file import Model, calibrated
from twincl.shapes import Shape, is_vector

INPUT, OUTPUTS = "input", ("probabilities", "embeddings")
TOLERANCE = 1e-3  # largest difference to the original that an exported model may show
_COUNT = 16  # samples to compare on


class Deployable(nn.Module):
    """Samples as they are served -> calibrated class probabilities (B,K) and embeddings (B,D) of unit length, float32.

    Images are (B,C,H,W) uint8 in 0..255, feature vectors (B,D) float32; whatever normalisation the network was
    trained with, and the temperature, are inside. In evaluation mode.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.net = model.net.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.views = model.views
        self.temperature = model.temperature
        self.eval()

    def forward(self, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Probabilities and embeddings."""
        embeddings, logits = self.net(self.views.plain(samples))
        return calibrated(logits, self.temperature), embeddings


def expected_inputs(shape: Shape) -> str:
    """What a model takes, in words; `shape` is that of one sample."""
    if is_vector(shape):
        return f"features, float32 (batch, {shape[0]})"
    channels, height, width = shape
    return f"images, uint8 0..255 (batch, {channels}, {height}, {width})"


def sample_inputs(run: FinishedRun, model: Model) -> Tensor:
    """The first samples of the run's own data; where these are no longer there, noise of the same kind."""
    try:
        split = judged_data(run)
        loaded = load_like(split.subset(np.arange(min(_COUNT, len(split)))), model.shape)
        samples = loaded.images.batch(np.arange(len(loaded.images)))
    except InputError:
        generator = torch.Generator().manual_seed(0)
        if is_vector(model.shape):
            samples = torch.randn((_COUNT, *model.shape), generator=generator)
        else:
            samples = torch.randint(0, 256, (_COUNT, *model.shape), dtype=torch.uint8, generator=generator)
    return samples if len(samples) > 1 else samples.repeat(2, *(1 for _ in model.shape))  # a batch of 1 stays 1


def compare(expected: tuple[Tensor, Tensor], found: tuple[Tensor, Tensor], where: str) -> float:
    """The largest difference between what the model says and what its export says.

    Raises:
        InputError: it is beyond `TOLERANCE`; the export must not be kept.
    """
    worst = max(float((one - two).abs().max()) for one, two in zip(expected, found, strict=True))
    if not worst <= TOLERANCE:
        raise InputError(f"the exported model differs from the original by {worst:.2g} in {where}; it is not kept")
    return worst
