"""Mixup on given labels against its naive twin, and what it shares with plain cross-entropy."""

import copy
import math

import pytest
import torch

from twincl.augment.images import NATURAL, ImageViews
from twincl.core.mixup import draw_mix
from twincl.data.batches import Batch
from twincl.methods.cross_entropy import CrossEntropy
from twincl.methods.method import Parts, Snapshot
from twincl.methods.mixup import Mixup, MixupSettings
from twincl.methods.registry import find_method
from twincl.nets.preact import SmallNet
from twincl.nets.twin import TwinNet

B, K = 6, 3


def parts(dropout: float = 0.0) -> Parts:
    torch.manual_seed(0)
    net = TwinNet(SmallNet(3, 8), K, feat_dim=4, head_bn=True, dropout=dropout)
    views = ImageViews(NATURAL, (0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    return Parts(net, views, torch.arange(24) % K, K, 10, torch.Generator().manual_seed(0))


def some_batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(0, 256, (B, 3, 8, 8), dtype=torch.uint8, generator=generator)
    return Batch(torch.arange(B), images, torch.tensor([0, 1, 2, 2, 1, 0]))


@pytest.mark.parametrize("alpha", [0.2, 1.0, 8.0])
def test_the_loss_matches_its_naive_twin(alpha: float) -> None:
    method, batch = Mixup(parts(), MixupSettings(alpha=alpha)), some_batch()
    generator = method.parts.generator
    before = generator.get_state()
    terms = method.losses(batch, epoch=0)
    generator.set_state(before)
    weak = method.parts.views.weak(batch.images, generator)
    plan = draw_mix(B, generator, alpha=alpha, per_sample=False, dominant=False)
    partner, share = plan.partner.tolist(), plan.share.tolist()
    mixed = torch.stack([share[i] * weak[i] + (1 - share[i]) * weak[partner[i]] for i in range(B)])
    labels, expected = batch.labels.tolist(), 0.0
    for i, row in enumerate(method.parts.net(mixed).logits.double().tolist()):
        said = [math.exp(x) / sum(math.exp(y) for y in row) for x in row]
        expected -= (share[i] * math.log(said[labels[i]]) + (1 - share[i]) * math.log(said[labels[partner[i]]])) / B
    assert list(terms) == ["cross_entropy"]
    assert float(terms["cross_entropy"].detach()) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_bootstrapped_targets_are_partly_the_class_predicted_before_mixup(share: float) -> None:
    method, batch = Mixup(parts(dropout=0.5), MixupSettings(bootstrap=share)), some_batch()
    generator = method.parts.generator
    before, before_the_step = generator.get_state(), copy.deepcopy(method.parts.net)
    torch.manual_seed(5)  # of dropout, which only the mixed images pass
    terms = method.losses(batch, epoch=4)
    generator.set_state(before)
    weak = method.parts.views.weak(batch.images, generator)
    plan = draw_mix(B, generator, alpha=1.0, per_sample=False, dominant=False)
    partner, kept = plan.partner.tolist(), plan.share.tolist()
    mixed = torch.stack([kept[i] * weak[i] + (1 - kept[i]) * weak[partner[i]] for i in range(B)])
    net = method.parts.net
    assert all(module.training for module in net.modules()), "left as it was"
    torch.manual_seed(5)
    at_rest = before_the_step.eval()(weak).logits.tolist()
    rows = net(mixed).logits.double().tolist()
    labels, chosen = batch.labels.tolist(), [row.index(max(row)) for row in at_rest]
    assert labels != chosen
    expected = 0.0
    for i, row in enumerate(rows):
        loss = [math.log(sum(math.exp(y) for y in row)) - x for x in row]
        for j, part in ((i, kept[i]), (partner[i], 1 - kept[i])):
            expected += part * ((1 - share) * loss[labels[j]] + share * loss[chosen[j]]) / B
    assert float(terms["cross_entropy"].detach()) == pytest.approx(expected, rel=1e-4)


def test_the_first_epochs_are_not_bootstrapped() -> None:
    def loss(epoch: int, **settings: float) -> float:
        return float(Mixup(parts(), MixupSettings(**settings)).losses(some_batch(), epoch)["cross_entropy"].detach())

    plain = loss(0)
    assert [loss(epoch, bootstrap=0.5) == plain for epoch in (0, 3, 4, 9)] == [True, True, False, False]
    assert [loss(epoch, bootstrap=0.5, label_epochs=2) == plain for epoch in (1, 2)] == [True, False]
    assert Mixup(parts()._replace(epochs=70), MixupSettings()).label_epochs == 30, "as in Sel-CL and MOIT"


def test_labels_are_judged_as_cross_entropy_judges_them() -> None:
    probabilities = torch.randn(24, K, generator=torch.Generator().manual_seed(0)).mul(4).softmax(1)
    seen = Snapshot(torch.zeros(24, 4), probabilities)
    found = Mixup(parts(), MixupSettings()).expectation(seen)
    for mine, plain in zip(found, CrossEntropy(parts()).expectation(seen), strict=True):
        assert torch.equal(mine, plain)
    assert found.clean.min() < 0.5 < found.clean.max()


def test_it_is_found_by_name_and_teaches_no_representation() -> None:
    method = find_method("mixup")(parts(), settings=MixupSettings())
    method.losses(some_batch(), 0)["cross_entropy"].backward()
    net = method.parts.net
    assert all(weight.grad is None for weight in net.projector.parameters())
    assert all(weight.grad is not None for weight in net.classifier.parameters())
    assert method.state_dict() == {}
