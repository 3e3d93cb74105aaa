"""What the machine could do at most: its matrix multiplication, and the work that an encoder needs."""

from functools import partial

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.speed.timing import seconds

SIZES = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 1152, 128), (4096, 4608, 512))  # two are convolutions' own


def gemm_flops(dtype: torch.dtype, *, repeats: int) -> float:
    """Floating-point operations a second of the fastest of several matrix multiplications."""
    best = 0.0
    for rows, inner, columns in SIZES:
        left, right = torch.ones(rows, inner, dtype=dtype), torch.ones(inner, columns, dtype=dtype)
        out = torch.empty(rows, columns, dtype=dtype)
        for _ in range(repeats + 1):
            best = max(best, 2 * rows * inner * columns / seconds(partial(torch.mm, left, right, out=out)))
    return best


def encoder_flops(encoder: nn.Module, size: int = 32) -> float:
    """Operations of one image's forward and backward pass; the gradient of the image itself is not needed."""
    images = 2
    with FlopCounterMode(display=False) as counter:
        encoder(torch.zeros(images, 3, size, size)).sum().backward()
    encoder.zero_grad(set_to_none=True)
    return float(counter.get_total_flops()) / images
