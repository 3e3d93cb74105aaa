"""Input of every kind, drawn at random: accepted, or refused in one sentence; never another exception, never a hang."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.hostile_inputs import KINDS, attempt

EXAMPLES = {"arguments": 60, "parquet": 80, "labels as parquet": 80}


@pytest.mark.parametrize("name", KINDS)
def test_nothing_but_a_sentence_leaves_a_reader(name):
    kind = KINDS[name]

    @settings(
        max_examples=EXAMPLES.get(name, 150),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def read(data):
        files = data.draw(kind.files)
        folder = Path(tempfile.mkdtemp())
        try:
            attempt(kind, files, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    read()
