"""MoCo's copy and queue: what they hold after so many steps, and that no gradient reaches them."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from twincl.augment.features import FEATURES, FeatureViews
from twincl.methods.method import Parts
from twincl.methods.momentum import MomentumContrast
from twincl.nets.mlp import MLP
from twincl.nets.twin import TwinNet

B, D = 4, 3


def make(*, momentum: float = 0.9, length: int = 10) -> tuple[TwinNet, MomentumContrast]:
    torch.manual_seed(0)
    net = TwinNet(MLP(6), 2, feat_dim=D, head_bn=True, dropout=0.0)
    views = FeatureViews(FEATURES, (0.0,) * 6, (1.0,) * 6)
    parts = Parts(net, views, torch.zeros(20, dtype=torch.long), 2, 1, torch.Generator())
    return net, MomentumContrast(parts, momentum=momentum, length=length, temperature=0.25)


def batch(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    one, two = torch.randn(2, B, 6, generator=torch.Generator().manual_seed(seed))
    return one, two


def weights(network: nn.Module) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in network.parameters()]


def contrast(net: TwinNet, moco: MomentumContrast, seed: int) -> torch.Tensor:
    one, two = batch(seed)
    return moco.loss(one, two, *net(torch.cat([one, two])).embeddings.chunk(2))


def filled_rows(moco: MomentumContrast) -> int:
    return int(moco.state_dict()["moco.filled"])


def test_the_copy_starts_as_the_network_and_then_follows_it_slowly() -> None:
    net, moco = make(momentum=0.9)
    online = nn.Sequential(net.encoder, net.projector)
    expected = weights(online)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(weights(moco._copy), expected, strict=True))
    for seed in range(3):
        contrast(net, moco, seed)
        with torch.no_grad():
            for weight in online.parameters():
                weight += torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed))
        moco.after_step()
        expected = [0.9 * slow + 0.1 * fast for slow, fast in zip(expected, weights(online), strict=True)]
        for mine, theirs in zip(weights(moco._copy), expected, strict=True):
            torch.testing.assert_close(mine, theirs)


def test_no_gradient_reaches_the_copy() -> None:
    net, moco = make()
    contrast(net, moco, 0)
    moco.after_step()
    contrast(net, moco, 1).backward()
    assert not any(weight.requires_grad or weight.grad is not None for weight in moco._copy.parameters())
    assert all(weight.grad is not None for weight in net.projector.parameters())
    assert all(weight.grad is None for weight in net.classifier.parameters()), "there is no key of the classifier"


def test_the_queue_fills_and_then_forgets_the_oldest() -> None:
    net, moco = make(length=2 * B + 2)
    seen: list[torch.Tensor] = []
    for seed in range(3):
        state = moco.state_dict()
        before = state["moco.queue"][: int(state["moco.filled"])]
        contrast(net, moco, seed)
        assert torch.equal(moco.state_dict()["moco.queue"][: len(before)], before), "nothing moves before the step"
        seen = [*moco._keys, *seen]
        moco.after_step()
        assert filled_rows(moco) == min(len(seen), 2 * B + 2)
        held = moco.state_dict()["moco.queue"]
        assert held.shape == (2 * B + 2, D)
        torch.testing.assert_close(held[: len(seen)], torch.stack(seen)[: 2 * B + 2])
    torch.testing.assert_close(held.norm(dim=1), torch.ones(2 * B + 2))


@pytest.mark.parametrize("length", [1, B, 2 * B - 1])
def test_a_queue_shorter_than_the_keys_of_a_step(length: int) -> None:
    net, moco = make(length=length)
    for seed in range(2):
        loss = contrast(net, moco, seed)
        assert bool(loss > 0) == bool(seed), "an empty queue leaves nothing to choose from"
        moco.after_step()
    assert filled_rows(moco) == length
    assert torch.equal(moco.state_dict()["moco.queue"], moco._keys[:length])


def test_each_view_looks_for_the_key_of_the_other() -> None:
    net, moco = make()
    contrast(net, moco, 0)
    moco.after_step()
    one, two = batch(1)
    keys1, keys2 = moco._copy(torch.cat([one, two])).chunk(2)
    queue = moco.state_dict()["moco.queue"][:8]
    swapped = moco.loss(one, two, keys2, keys1)  # each query is its key
    for own, value in ((1.0, swapped), (None, moco.loss(one, two, keys1, keys2))):
        total = 0.0
        for query, key in ((keys2, keys2), (keys1, keys1)) if own else ((keys1, keys2), (keys2, keys1)):
            logits = torch.cat([(query * key).sum(1, keepdim=True), query @ queue.T], dim=1) / 0.25
            total += float(F.cross_entropy(logits, torch.zeros(B, dtype=torch.long))) / 2
        assert float(value) == pytest.approx(total, rel=1e-5)
