"""The line to beat: cross-entropy of the weak view, labels judged by the classifier's own probability."""

import math

import numpy as np
import pytest
import torch

from twincl.augment.images import NATURAL, ImageViews
from twincl.core.detection import clean_probability
from twincl.data.batches import Batch
from twincl.errors import InputError
from twincl.methods.cross_entropy import CrossEntropy
from twincl.methods.method import Parts, Snapshot
from twincl.methods.registry import find_method
from twincl.nets.preact import SmallNet
from twincl.nets.twin import TwinNet


def make() -> CrossEntropy:
    torch.manual_seed(0)
    net = TwinNet(SmallNet(3, 8), 3, feat_dim=4, head_bn=True, dropout=0.0)
    views = ImageViews(NATURAL, (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    return CrossEntropy(Parts(net, views, torch.arange(24) % 3, 3, 10, torch.Generator().manual_seed(0)))


def test_loss_is_the_mean_negative_log_probability_of_the_given_label():
    method = make()
    images = torch.randint(0, 256, (6, 3, 8, 8), dtype=torch.uint8)
    labels = torch.tensor([0, 1, 2, 2, 1, 0])
    before = method.parts.generator.get_state()
    terms = method.losses(Batch(torch.arange(6), images, labels), epoch=0)
    method.parts.generator.set_state(before)
    logits = method.parts.net(method.parts.views.weak(images, method.parts.generator)).logits.double().tolist()
    expected = 0.0
    for row, label in zip(logits, labels.tolist(), strict=True):
        expected -= math.log(math.exp(row[label]) / sum(math.exp(x) for x in row)) / 6
    assert list(terms) == ["cross_entropy"]
    assert float(terms["cross_entropy"].detach()) == pytest.approx(expected, rel=1e-5)
    terms["cross_entropy"].backward()
    encoder, projector = method.parts.net.encoder, method.parts.net.projector
    assert all(weight.grad is not None for weight in encoder.parameters())
    assert all(weight.grad is None for weight in projector.parameters()), "representations are not learned"


def test_labels_are_judged_by_the_classifier_alone():
    probabilities = torch.randn(24, 3, generator=torch.Generator().manual_seed(0)).mul(4).softmax(1)
    seen = Snapshot(torch.zeros(24, 4), probabilities)
    said = np.array([float(probabilities[i, i % 3]) for i in range(24)])
    found = make().expectation(seen)
    np.testing.assert_allclose(found.score, said)
    np.testing.assert_allclose(found.clean, clean_probability(said).probability, atol=1e-5)


def test_nothing_survives_a_step():
    method = make()
    assert method.state_dict() == {}
    method.load_state_dict({})
    method.after_step()
    assert method.update_every == 1


def test_methods_are_found_by_name():
    assert find_method("cross-entropy") is CrossEntropy
    with pytest.raises(InputError, match=r"unknown method 'cross_entropy': did you mean 'cross-entropy'\?"):
        find_method("cross_entropy")
