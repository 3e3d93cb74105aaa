"""A training that was stopped goes on where its last finished epoch ended."""

import json
from pathlib import Path
from typing import Any

import torch

from twincl.errors import InputError
from twincl.files import atomic_path
from twincl.training.loop import TrainState


def save_checkpoint(path: Path, state: TrainState, history: list[dict[str, Any]]) -> None:
    """Write the whole state and the metrics so far, atomically; tensors, numbers and strings only, no code."""
    content = {
        "epoch": state.epoch,
        "net": state.net.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "method": state.method.state_dict(),
        "generator": state.generator.get_state(),
        "global_generator": torch.get_rng_state(),
        "cuda_generators": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "history": json.dumps(history),
    }
    with atomic_path(path) as temporary:
        torch.save(content, temporary)


def load_checkpoint(path: Path, state: TrainState) -> list[dict[str, Any]]:
    """Restore `state` in place from `path` without executing anything in it; returns the metrics so far."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        state.net.load_state_dict(content["net"])
        state.optimizer.load_state_dict(content["optimizer"])
        if any(content["method"][name].shape != own.shape for name, own in state.method.state_dict().items()):
            raise InputError(f"the checkpoint {path} was written for other images; start anew with --force")
        state.method.load_state_dict(content["method"])
        state.generator.set_state(content["generator"])
        torch.set_rng_state(content["global_generator"])
        if content["cuda_generators"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(content["cuda_generators"])
        state.epoch = content["epoch"]
        history: list[dict[str, Any]] = json.loads(content["history"])
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the checkpoint {path} cannot be read ({type(error).__name__}); start anew with --force"
        ) from error
    return history
