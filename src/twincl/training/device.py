"""Where to compute and in which precision: asked of the hardware or measured, never guessed."""

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional as F

from twincl.errors import InputError, first_line


def choose_device(name: str) -> torch.device:
    """`auto` takes CUDA where there is one; anything else is PyTorch's own name for a device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device '{name}' cannot be used ({first_line(error)}); try --device cpu") from None
    return device


@functools.cache
def mixed_precision_pays(device: torch.device) -> bool:
    """Whether a bfloat16 convolution, forward and backward, is clearly faster than a float32 one here.

    GPUs say whether they compute in it. On processors it is measured once: those without bfloat16 arithmetic emulate
    it, tens of times slower; those with it need two thirds of the time or less. It is measured in processor time on one
    thread, so that the answer, and with it the numbers of a training, does not hang on what else the machine is doing.
    """
    if device.type == "cuda":
        with torch.cuda.device(device):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    image = torch.ones(16, 64, 16, 16).contiguous(memory_format=torch.channels_last)
    kernel = torch.ones(64, 64, 3, 3, requires_grad=True)

    def seconds(enabled: bool) -> float:
        def step() -> None:
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                total = F.conv2d(image, kernel, padding=1).float().sum()
            total.backward()  # type: ignore[no-untyped-call]

        return processor_seconds(step, repeats=5)

    with threads(1):  # several wait for each other, and waiting counts as processor time
        return seconds(True) < 0.8 * seconds(False)


def processor_seconds(step: Callable[[], None], repeats: int) -> float:
    """What `step` takes of the processor, the least of several times, after one that does not count."""
    step()
    timings = []
    for _ in range(repeats):
        start = time.process_time()
        step()
        timings.append(time.process_time() - start)
    return min(timings)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """PyTorch with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def seed_everything(seed: int) -> None:
    """Same seed, same machine, same numbers: seeds PyTorch's global generator and asks for repeatable kernels."""
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # costs a tenth of a step; we read nothing unwritten


@contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """A training inside another program: what it seeds and switches in PyTorch is afterwards as it was before."""
    switches: tuple[tuple[Any, str], ...] = (
        (torch.backends.cudnn, "deterministic"),
        (torch.backends.cudnn, "benchmark"),
        (torch.utils.deterministic, "fill_uninitialized_memory"),
    )
    before = [getattr(owner, name) for owner, name in switches]
    strictness = torch.get_deterministic_debug_mode()
    seeds_cuda = device.type == "cuda" or torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if seeds_cuda else []):
        try:
            yield
        finally:
            torch.set_deterministic_debug_mode(strictness)
            for (owner, name), value in zip(switches, before, strict=True):
                setattr(owner, name, value)
