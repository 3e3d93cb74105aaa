"""Checkpoints: a training that was stopped, in whatever way, goes on where the newest whole one was written.

The name of a file tells the epochs and steps done, so that names sort by age, and a checksum of its content. Writing is
atomic; what was torn or changed since is recognised by the checksum and the checkpoint before it is used.
"""

import hashlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from twincl.errors import InputError, TrainingError
from twincl.files import remove_partial, write_bytes
from twincl.training.loop import TrainState, require_finite, stacked

KEEP = 3  # the newest so many stay
CHECKSUM_LENGTH = 16  # hexadecimal digits of SHA-256


class Resumed(NamedTuple):
    """What came back besides the state."""

    history: list[dict[str, Any]]  # metrics of the epochs done
    damaged: list[Path]  # newer checkpoints that could not be used


def save_checkpoint(folder: Path, state: TrainState, history: list[dict[str, Any]]) -> Path:
    """Write the whole state and the metrics so far; tensors, numbers and strings only, no code.

    Raises:
        TrainingError: the state is not worth going on from: a loss or a weight is not finite.
    """
    if state.terms:
        require_finite(state)
    require_finite_weights(state)
    device = state.generator.device
    content = {
        "epoch": state.epoch,
        "step": state.step,
        "terms": stacked(state.terms),
        "net": state.net.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "method": state.method.state_dict(),
        "generator": state.generator.get_state(),
        "global_generator": torch.get_rng_state(),
        "cuda_generator": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        "history": json.dumps(history),
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    path = folder / f"{state.epoch:05d}-{state.step:07d}-{_checksum(buffer.getbuffer())}.pt"
    folder.mkdir(exist_ok=True)
    write_bytes(path, buffer.getbuffer())
    for old in find_checkpoints(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    return path


def require_finite_weights(state: TrainState) -> None:
    """Look at what the last step made of the network.

    Raises:
        TrainingError: a weight is not finite.
    """
    if not all(weight.isfinite().all() for weight in state.net.parameters()):
        epoch = state.epoch + 1 if state.step else state.epoch
        raise TrainingError(f"the weights became NaN or infinite in epoch {epoch}; try a lower --lr or --no-amp")


def find_checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in `folder`, the newest first."""
    return sorted(folder.glob("*-*-*.pt"), reverse=True)


def remove_checkpoints(folder: Path) -> None:
    """Remove the checkpoints, and the folder if nothing else is in it."""
    if folder.is_dir():
        remove_partial(folder)
        for path in find_checkpoints(folder):
            path.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def load_checkpoint(folder: Path, state: TrainState) -> Resumed:
    """Restore `state` in place from the newest whole checkpoint, executing nothing in it; untouched if there is none.

    Raises:
        InputError: there are checkpoints but none is whole, or it is of another training.
    """
    damaged: list[Path] = []
    for path in find_checkpoints(folder):
        content = _read(path)
        if content is not None:
            return Resumed(_restore(state, content, path), damaged)
        damaged.append(path)
    if damaged:
        raise InputError(f"no checkpoint in {folder} can be read; start anew with --force")
    return Resumed([], damaged)


def _checksum(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()[:CHECKSUM_LENGTH]


def _read(path: Path) -> dict[str, Any] | None:
    """The content of a checkpoint; None if it is not what was written."""
    try:
        raw = path.read_bytes()
        if _checksum(raw) != path.stem.rpartition("-")[2]:
            return None
        content: dict[str, Any] = torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except Exception:  # damage and refusals raise errors of every kind
        return None
    return content


def _restore(state: TrainState, content: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    device = state.generator.device
    try:
        if any(content["method"][name].shape != own.shape for name, own in state.method.state_dict().items()):
            raise ValueError("other shapes")
        state.net.load_state_dict(content["net"])
        state.optimizer.load_state_dict(content["optimizer"])
        state.method.load_state_dict(content["method"])
        _restore_generator(state.generator, content)
        torch.set_rng_state(content["global_generator"])
        if content["cuda_generator"] is not None and device.type == "cuda":
            torch.cuda.set_rng_state(content["cuda_generator"], device)
        state.epoch, state.step = content["epoch"], content["step"]
        terms = {name: values.to(device) for name, values in content["terms"].items()}
        state.terms = [dict(zip(terms, values, strict=True)) for values in zip(*terms.values(), strict=True)]
        history: list[dict[str, Any]] = json.loads(content["history"])
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"the checkpoint {path} is of another training or data; start anew with --force") from error
    return history


def _restore_generator(generator: torch.Generator, content: dict[str, Any]) -> None:
    """As it was; where it was that of another kind of device, a new beginning by seed, epoch and step."""
    kept: torch.Tensor = content["generator"]
    if kept.shape == generator.get_state().shape:
        generator.set_state(kept)
    else:
        place = [generator.initial_seed(), content["epoch"], content["step"]]
        generator.manual_seed(int(np.random.SeedSequence(place).generate_state(1)[0]))
