"""A step of TCL with PreAct ResNet-18 against the released code's step, and against what the machine allows."""

from collections.abc import Callable
from functools import partial

import torch

from benchmarks.speed.limit import encoder_flops, gemm_flops
from benchmarks.speed.options import Figures, Options
from benchmarks.speed.product import CLASSES, Steps, random_images, random_training
from benchmarks.speed.reference import Reference
from benchmarks.speed.timing import seconds

SOURCES = {"one_mix": ("weak", 3), "three_mix": ("all", 5)}  # what is mixed, and images a sample in the encoder


def run(options: Options) -> Figures:
    """Worst of the batch sizes, and for the limit also of the two ways to mix."""
    sizes, repeats = ((4, 8), 1) if options.quick else ((64, 256), 3)
    found = {str(size): _compare(size, repeats, options) for size in sizes}
    figures: Figures = {
        f"step_ratio_{name}": min(figures[f"ratio_{name}"] for figures in found.values()) for name in SOURCES
    }
    figures["step_limit_fraction"] = min(
        figures[f"limit_fraction_{name}"] for figures in found.values() for name in SOURCES
    )
    return figures | {"step": found}


def _compare(batch_size: int, repeats: int, options: Options) -> dict[str, float]:
    count = 8 * batch_size
    reference = Reference(*random_images(count), CLASSES, batch_size)
    ours = {
        name: Steps(random_training("preact_resnet18", count, batch_size, options, mix_sources=sources))
        for name, (sources, _) in SOURCES.items()
    }
    dtype = torch.bfloat16 if options.amp else torch.float32
    timers: dict[str, Callable[[], float]] = {"reference": partial(_reference_seconds, reference)}
    timers |= {name: partial(seconds, steps) for name, steps in ours.items()}
    best = dict.fromkeys(timers, float("inf"))
    flops = 0.0
    for _ in range(repeats):
        flops = max(flops, gemm_flops(dtype, repeats=3))
        for name, timer in timers.items():
            best[name] = min(best[name], timer())

    encoder = encoder_flops(ours["one_mix"].training.state.net.encoder)
    figures = {"reference_samples_per_second": batch_size / best["reference"], "gemm_gflops": flops / 1e9}
    for name, (_, images) in SOURCES.items():
        limit = flops / (images * encoder)  # samples a second
        figures[f"samples_per_second_{name}"] = batch_size / best[name]
        figures[f"limit_samples_per_second_{name}"] = limit
        figures[f"ratio_{name}"] = best["reference"] / best[name]
        figures[f"limit_fraction_{name}"] = batch_size / best[name] / limit
    return figures


def _reference_seconds(reference: Reference) -> float:
    """A step and the fetching of the next batch, while the workers are at work; they end here, so as not to disturb."""
    batches = reference.batches()
    batch = next(batches)
    torch.use_deterministic_algorithms(False)  # ours asks for repeatable kernels, the released code does not

    def step() -> None:
        reference.descend(batch)
        next(batches)

    try:
        return seconds(step)
    finally:
        torch.use_deterministic_algorithms(True, warn_only=True)
