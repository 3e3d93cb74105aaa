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


def run_ranks(world: int, command: list[str], timeout: float = 120) -> tuple[list[int], list[str]]:
    """Runs `command` as `world` processes in the environment that torchrun would give them.

    Returns:
        The exit code of each and what it said on its error stream; none outlives the call.
    """
    place = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        said = [process.communicate(timeout=timeout)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [process.returncode for process in processes], said


@pytest.fixture(scope="session")
def run_group():
    return run_ranks


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
    codes, errors = run_ranks(request.param, [sys.executable, str(DUTIES), str(folder)], timeout=300)
    assert codes == [0] * request.param, "\n".join(errors)
    return [torch.load(folder / f"{rank}.pt") for rank in range(request.param)]
