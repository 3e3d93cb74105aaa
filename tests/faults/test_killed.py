"""kill -9 at any moment, then the same command with --resume: as if nothing had happened."""

import subprocess

from benchmarks.faults import command, killed_trainings


def test_a_training_killed_at_random_moments_ends_bit_identical(tmp_path):
    subprocess.run(command(tmp_path / "whole"), check=True, stdout=subprocess.DEVNULL)
    kills, equal = killed_trainings(tmp_path, kills=4, seed=3, longest=12)
    assert len(kills) == 4
    assert equal
    assert all(equal)
