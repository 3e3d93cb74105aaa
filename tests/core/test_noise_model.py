"""The noise model: Bayes' rule by hand, parameters found again, calibration without truth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twincl.core import noise_model
from twincl.core.noise_model import NoiseModel, fit_noise_model
from twincl.core.spread import evenly_ranked


def drawn(count: int, transition: np.ndarray, *, sharpness: float = 2.0, seed: int = 0):
    """Class probabilities that are right, the classes drawn from them, labels drawn from the transition matrix."""
    rng = np.random.default_rng(seed)
    classes = len(transition)
    logits = sharpness * rng.normal(size=(count, classes))
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    truth = (probabilities.cumsum(1) > rng.random((count, 1))).argmax(1)
    labels = (transition[truth].cumsum(1) > rng.random((count, 1))).argmax(1)
    return probabilities, truth, labels


def symmetric(classes: int, rate: float) -> np.ndarray:
    return (1 - rate) * np.eye(classes) + rate / classes


PAIR = 0.65 * np.eye(4) + 0.35 * np.roll(np.eye(4), 1, axis=1)


def test_posterior_is_bayes_rule_by_hand():
    model = NoiseModel(np.array([[0.9, 0.1], [0.3, 0.7]]), 0.5)
    calibrated = model.calibrated(np.array([[0.8, 0.2]]))
    assert calibrated[0].tolist() == pytest.approx([0.64 / 0.68, 0.04 / 0.68], rel=1e-5)  # squares, normalised
    posterior = model.posterior(calibrated, np.array([1]))
    joint = [0.64 * 0.1, 0.04 * 0.7]
    assert posterior[0].tolist() == pytest.approx([x / sum(joint) for x in joint], rel=1e-5)


def test_the_clean_probability_is_the_posterior_of_the_given_label(monkeypatch):
    said, _, labels = drawn(50, PAIR)
    model = NoiseModel(PAIR + 0.01, 0.7)
    whole = model.posterior(model.calibrated(said), labels)[np.arange(50), labels]
    np.testing.assert_allclose(model.clean_probability(said, labels), whole, rtol=1e-5)
    monkeypatch.setattr(noise_model, "BLOCK", 12)  # three rows at a time
    np.testing.assert_allclose(model.clean_probability(said, labels), whole, rtol=1e-5)


@pytest.mark.parametrize("transition", [symmetric(4, 0.0), symmetric(4, 0.4), PAIR])
@pytest.mark.parametrize("temperature", [0.6, 1.0, 1.6])
def test_parameters_are_found_again_without_truth(transition, temperature):
    right, _, labels = drawn(60_000, transition, sharpness=3)
    logits = np.log(right.clip(1e-12)) * temperature  # what a network too timid or too bold would say
    said = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    model = fit_noise_model(said, labels)
    assert model.temperature == pytest.approx(temperature, rel=0.15)
    np.testing.assert_allclose(model.transition, transition, atol=0.05)


def test_where_labels_say_little_the_probabilities_are_taken_as_they_are():
    said, _, labels = drawn(500, symmetric(4, 0.9))
    assert fit_noise_model(said, labels).temperature == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("transition", [symmetric(5, 0.3), symmetric(5, 0.8)])
def test_confidence_is_calibrated_against_a_truth_it_never_saw(transition):
    right, truth, labels = drawn(20_000, transition)
    logits = 1.2 * np.log(right)
    said = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    model = fit_noise_model(said, labels)
    posterior = model.posterior(model.calibrated(said), labels)
    confidence, answer = posterior.max(1), posterior.argmax(1)
    for low in np.arange(0.3, 1.0, 0.1):
        inside = (confidence >= low) & (confidence < low + 0.1)
        if inside.sum() > 500:
            assert (answer == truth)[inside].mean() == pytest.approx(confidence[inside].mean(), abs=0.06)
    assert (answer == truth).mean() >= (said.argmax(1) == truth).mean(), "the label is evidence, too"


@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(1, 60),
    classes=st.integers(2, 6),
    sharpness=st.sampled_from([0.0, 1.0, 50.0]),
    seed=st.integers(0, 2**31),
)
def test_any_input_gives_distributions(count, classes, sharpness, seed):
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.normal(size=(count, classes))
    said = np.exp(logits - logits.max(1, keepdims=True))
    said = (said / said.sum(1, keepdims=True)).astype(np.float32)
    labels = rng.integers(classes, size=count)
    model = fit_noise_model(said, labels)
    np.testing.assert_allclose(model.transition.sum(1), 1)
    assert (model.transition > 0).all() or count < 10
    assert (model.transition.diagonal() == model.transition.max(1)).all()
    for answer in (model.calibrated(said), model.posterior(model.calibrated(said), labels)):
        assert answer.dtype == np.float32
        np.testing.assert_allclose(answer.sum(1), 1, atol=1e-4)


def test_blocks_and_samples_do_not_change_the_answer(monkeypatch):
    said, _, labels = drawn(6000, symmetric(4, 0.4))
    whole = fit_noise_model(said, labels)
    monkeypatch.setattr(noise_model, "BLOCK", 4 * 100)
    blocks = fit_noise_model(said, labels)
    np.testing.assert_allclose(blocks.transition, whole.transition)
    np.testing.assert_allclose(
        blocks.posterior(blocks.calibrated(said), labels), whole.posterior(whole.calibrated(said), labels), atol=1e-6
    )
    monkeypatch.setattr(noise_model, "LEAST_ROWS", 10)
    monkeypatch.setattr(noise_model, "SEARCH_ENTRIES", 4 * 2000)
    sampled = fit_noise_model(said, labels)
    assert sampled.temperature == pytest.approx(whole.temperature, rel=0.15)
    monkeypatch.setattr(noise_model, "FIT_ENTRIES", 4 * 2000)
    some = evenly_ranked(labels, 2000)
    np.testing.assert_array_equal(
        fit_noise_model(said, labels).transition, fit_noise_model(said[some], labels[some]).transition
    )


def test_few_samples_say_nothing_of_how_labels_err():
    said = np.array([[0.01, 0.99], [0.99, 0.01]] * 4)  # as if each class were the other
    labels = np.array([0, 1] * 4)
    model = fit_noise_model(said, labels)
    assert (model.clean_probability(said, labels) == 1).all()


def test_classes_are_not_swapped_where_every_label_is_contradicted():
    """Votes of the others speak against each label where there are few of them and as many of each class."""
    labels = np.array([0, 1] * 10)
    votes = (10 - np.eye(2)[labels]) / 19  # of the nineteen others nine have the same label
    model = fit_noise_model(votes, labels)
    assert (model.transition.diagonal() >= 0.5).all()


def test_expected_counts_match_their_naive_twin():
    said, _, labels = drawn(40, PAIR)
    labels[labels == 2] = 1  # a class that nobody is given
    transition = PAIR + 0.02
    transition /= transition.sum(1, keepdims=True)
    rows, ends = noise_model._by_label(labels, len(PAIR), said.size)
    found = noise_model._counts(said[rows], ends, transition)
    expected, likelihood = np.zeros(PAIR.shape), 0.0
    for p, y in zip(said, labels, strict=True):
        joint = [p[z] * transition[z, y] for z in range(len(PAIR))]
        likelihood += math.log(sum(joint))
        for z, value in enumerate(joint):
            expected[z, y] += value / sum(joint)
    np.testing.assert_allclose(found.of_class_with_label, expected, rtol=1e-6)
    assert found.log_likelihood == pytest.approx(likelihood)
