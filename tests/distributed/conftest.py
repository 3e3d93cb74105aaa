"""Runs `duties.py` once in real groups of two and of three processes; the tests look at what each of them found."""

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

DUTIES = Path(__file__).with_name("duties.py")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start_group(world: int, command: list[str]) -> list[subprocess.Popen]:
    """`world` processes of `command` in the environment that torchrun would give them."""
    place = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    return [
        subprocess.Popen(
            command,
            env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]


@pytest.fixture(scope="session")
def group():
    return start_group


@pytest.fixture(scope="session")
def duties() -> ModuleType:
    """The module that the processes run, to do alone what they do together."""
    spec = importlib.util.spec_from_file_location("duties", DUTIES)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session", params=[2, 3])
def found(request, tmp_path_factory) -> list[dict]:
    """What each rank of a group found: duty -> its result."""
    folder = tmp_path_factory.mktemp(f"world{request.param}")
    processes = start_group(request.param, [sys.executable, str(DUTIES), str(folder)])
    try:
        errors = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * request.param, "\n".join(errors)
    return [torch.load(folder / f"{rank}.pt") for rank in range(request.param)]
