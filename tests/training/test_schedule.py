"""The learning rate in closed form (specification, section 12)."""

import math

import pytest

from twincl.training.schedule import learning_rate

STEPS = 10


def rate(epoch: float, *, epochs=200, warmup=20, span="remaining", floor=0.0, peak=1.0) -> float:
    """Rate of the step that ends at `epoch`."""
    step = round(epoch * STEPS) - 1
    return learning_rate(step, STEPS, peak=peak, epochs=epochs, warmup_epochs=warmup, span=span, floor=floor)


def test_warm_up_is_linear_from_the_first_step_to_the_peak():
    assert rate(0.1, peak=0.03) == pytest.approx(0.03 / 200), "the first of 200 steps"
    assert rate(10, peak=0.03) == pytest.approx(0.015)
    for span in ("total", "remaining"):
        assert rate(20, peak=0.03, span=span) == pytest.approx(0.03), "the peak, whatever follows"


def test_cosine_over_what_remains_reaches_its_floor():
    assert rate(110) == pytest.approx(0.5), "half of 20..200"
    assert rate(200) == pytest.approx(0, abs=1e-12)
    assert rate(200, floor=0.01, peak=0.5) == pytest.approx(0.005)
    assert rate(155) == pytest.approx(0.5 * (1 + math.cos(math.pi * 0.75)))


def test_cosine_over_the_total_stops_short_as_the_released_code_does():
    assert rate(200, span="total", floor=0.01) == pytest.approx(0.0342, abs=5e-5)
    assert rate(195, span="total", floor=0.01) == pytest.approx(0.048, abs=5e-4)
    assert rate(120, span="total", floor=0.01) == pytest.approx(0.01 + 0.99 / 2)


def test_without_warm_up_it_only_falls():
    rates = [rate(step / STEPS, epochs=5, warmup=0, floor=0.1) for step in range(1, 5 * STEPS + 1)]
    assert rates == sorted(rates, reverse=True)
    assert 0.99 < rates[0] < 1
    assert rates[-1] == pytest.approx(0.1)


def test_warm_up_over_the_whole_training():
    assert rate(1, epochs=1, warmup=1) == pytest.approx(1)
    assert rate(2, epochs=3, warmup=3) == pytest.approx(2 / 3)
