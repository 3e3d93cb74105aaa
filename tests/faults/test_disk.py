"""A disk that fills up, a folder that turns read-only, data that vanish: one sentence, the checkpoints intact."""

import contextlib
import os
import resource
import subprocess

import pytest

from twincl.config import build_config
from twincl.errors import InputError, TrainingError
from twincl.results.folder import CHECKPOINTS
from twincl.runs.listener import Silence
from twincl.runs.train import train
from twincl.training.checkpoint import find_checkpoints


class After(Silence):
    """Does something when the first epoch is done."""

    def __init__(self, action):
        self.action = action

    def epoch(self, record, epochs):
        if record["epoch"] == 1:
            self.action()


def config_for(data, **settings):
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return build_config(
        settings={"data.path": str(data), "optim.epochs": 3, "optim.batch_size": 8, "amp": False} | given
    )


@pytest.fixture
def whole(photos, tmp_path):
    train(config_for(photos), tmp_path / "whole")
    return tmp_path / "whole"


def assert_goes_on(config, run, whole):
    assert len(find_checkpoints(run / CHECKPOINTS)) >= 1
    train(config, run, resume=True)
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_files_that_cannot_grow(photos, tmp_path, whole):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    run = tmp_path / "run"
    try:
        with pytest.raises(
            TrainingError, match=r"cannot be written \(File too large\); the checkpoints in .* --resume"
        ):
            train(
                config_for(photos),
                run,
                listener=After(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))),
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert not list(run.rglob(".partial-*")), "nothing half-written is left"
    assert_goes_on(config_for(photos), run, whole)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, where that may be made."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk(photos, small_disk, whole):
    filler = small_disk / "filler"

    def fill():
        with filler.open("wb") as file, contextlib.suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(2**16))

    with pytest.raises(TrainingError, match=r"cannot be written \(No space left on device\); the checkpoints in"):
        train(config_for(photos), small_disk / "run", listener=After(fill))
    filler.unlink()
    assert_goes_on(config_for(photos), small_disk / "run", whole)


def test_a_folder_that_turns_read_only(photos, small_disk, whole):
    def lock():
        subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    with pytest.raises(TrainingError, match=r"cannot be written \(Read-only file system\); the checkpoints in"):
        train(config_for(photos), small_disk / "run", listener=After(lock))
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    assert_goes_on(config_for(photos), small_disk / "run", whole)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    ("harm", "reason"), [(lambda file: file.unlink(), "no such file"), (lambda file: file.write_bytes(b"x"), "not an")]
)
def test_an_image_that_vanishes_or_turns_unreadable(picture_folder, tmp_path, workers, harm, reason):
    data = picture_folder(tmp_path / "data", per_class=30, size=64)  # too much for one megabyte
    victim = data / "red" / "03.png"
    streamed = {"data__memory_limit_mb": 1, "data__workers": workers, "data__holdout": 0.0}
    config = config_for(data, method="cross-entropy", optim__batch_size=30, **streamed)
    content = victim.read_bytes()
    with pytest.raises(InputError, match=rf"red/03.png can no longer be decoded \({reason}.*restore it"):
        train(config, tmp_path / "run", listener=After(lambda: harm(victim)))
    victim.write_bytes(content)
    train(config, tmp_path / "whole")
    assert_goes_on(config, tmp_path / "run", tmp_path / "whole")
