"""The speed benchmark runs and gives the figures it promises; how fast anything is, is not for tests to say."""

import json
import math
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch):
    """The benchmark's `main`; benchmarks are not installed with the package."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(ROOT)  # for the processes it starts
    from benchmarks.speed.__main__ import main

    return main


def test_cheap_sections_write_their_keys(speed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "speed.json"
    speed(["augment", "estep", "start", "--quick", "--json", str(file)])
    found, shown = json.loads(file.read_text()), capsys.readouterr().out
    for key in ("augment_ratio", "estep_ratio", "detection_fraction", "help_seconds", "import_seconds"):
        assert math.isfinite(found[key])
        assert found[key] > 0
        assert key in shown
    assert found["arguments"] == {"sections": ["augment", "estep", "start"], "quick": True, "profile": False}
    assert {"processor", "threads", "started", "packages", "python"} <= found["environment"].keys()
    assert "command" not in found["environment"]


def test_an_unknown_section_is_refused_and_the_names_listed(speed, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        speed(["stepp"])
    assert "choose from step, overhead" in capsys.readouterr().err


def test_a_target_has_a_right_side(speed) -> None:
    targets = sys.modules["benchmarks.speed.targets"].TARGETS
    assert targets["augment_ratio"].met(10)
    assert not targets["help_seconds"].met(0.6)


def test_reference_transforms_keep_shape_and_range(speed) -> None:
    import numpy as np
    from PIL import Image

    reference = sys.modules["benchmarks.speed.reference"]
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8))
    for view in (reference.strong, reference.weak):
        for _ in range(20):
            pixels = view(image) * reference.STD + reference.MEAN
            assert pixels.shape == (3, 32, 32)
            assert float(pixels.min()) > -1e-5
            assert float(pixels.max()) < 1 + 1e-5
