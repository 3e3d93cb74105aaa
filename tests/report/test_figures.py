import warnings
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from twincl.report import figures
from twincl.report.classes import ClassNoise
from twincl.report.layout import Layout
from twincl.report.posterior import posterior
from twincl.report.theme import DARK, LIGHT, Plot
from twincl.report.training import training_curves

NAMES = (r"$\frac{a}$", "猫", "😀", "a\nb\udcff", "long " * 20, "<b>")


def check(plot: Plot) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for theme in (LIGHT, DARK):
            with Image.open(BytesIO(plot.png(theme))) as image:
                assert image.width == round(200 * figures.WIDTH)
                corner = image.convert("RGB").getpixel((0, 0))
                assert corner == tuple(bytes.fromhex(theme.paper[1:]))


def test_noise_by_class():
    check(figures.noise_by_class([ClassNoise(name, 10, k) for k, name in enumerate(NAMES)]))
    check(figures.noise_by_class([ClassNoise("only", 3, 0)]))


def test_transitions():
    matrix = np.arange(36).reshape(6, 6)
    check(figures.transitions(matrix, matrix.sum(1), NAMES))
    check(figures.transitions(np.diag([3, 4]), np.array([3, 4]), ("a", "b")))


@pytest.mark.parametrize("flagged", [0, 30, 100])
def test_label_quality(flagged):
    quality = np.where(np.arange(100) < flagged, 0.01, 0.9) * np.random.default_rng(0).uniform(0.5, 1, 100)
    check(figures.label_quality(posterior(quality, np.arange(100) < flagged)))


def test_label_quality_that_is_the_same_everywhere():
    check(figures.label_quality(posterior(np.ones(20), np.zeros(20, dtype=bool))))


def test_map():
    rng = np.random.default_rng(0)
    given = rng.integers(0, 6, 50)
    layout = Layout(np.arange(0, 50, 2), rng.normal(size=(25, 2)).astype(np.float32))
    check(figures.representation_map(layout, given, rng.random(50) < 0.2, NAMES, range(6)))


def test_each_of_ten_classes_has_its_colour_and_more_repeat_them():
    assert len(set(figures.class_colours(np.arange(10), 10))) == 10
    colours = figures.class_colours(np.repeat(np.arange(15), np.arange(1, 16)), 15)
    assert len(set(colours[5:])) == 10  # the ten most frequent
    assert set(colours[:5]) <= set(colours[5:])


def test_curves_are_drawn_for_what_is_known():
    one = {"epoch": 1, "loss": 1.0, "loss_cross": 1.0, "test_accuracy": None, "train_agreement": 0.5}
    plots = training_curves([one])
    assert list(plots) == ["training_accuracy", "training_loss"]
    for plot in plots.values():
        check(plot)
    assert "training_detection" in training_curves([one | {"detection_auroc": 0.9}, one])
    assert training_curves([]) == {}
