import pytest
import torch
from torch import nn

from twincl.nets.heads import Classifier, Projector
from twincl.nets.preact import SmallNet
from twincl.nets.twin import TwinNet


def build(**changes) -> TwinNet:
    torch.manual_seed(0)
    options = {"feat_dim": 32, "head_bn": True, "dropout": 0.25} | changes
    return TwinNet(SmallNet(3, 16), 5, **options)


def test_forward_gives_unit_embeddings_and_logits():
    out = build()(torch.rand(6, 3, 16, 16))
    assert out.embeddings.shape == (6, 32)
    assert out.logits.shape == (6, 5)
    torch.testing.assert_close(out.embeddings.norm(dim=1), torch.ones(6))


@pytest.mark.parametrize("head_bn", [True, False])
def test_layers_of_the_heads(head_bn):
    net = build(head_bn=head_bn, dropout=0.4)
    last = [nn.BatchNorm1d] if head_bn else []
    projector = [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Linear, *last]
    classifier = [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Dropout, nn.Linear, *last]
    assert [type(layer) for layer in net.projector.layers] == projector
    assert [type(layer) for layer in net.classifier.layers] == classifier
    assert net.classifier.layers[3].p == 0.4
    assert net.projector.layers[0].out_features == net.encoder.dim == 128


def test_last_batchnorm_standardises_the_logits_of_a_batch():
    logits = Classifier(16, 5, dropout=0.0)(torch.randn(64, 16) * 7)
    torch.testing.assert_close(logits.mean(dim=0), torch.zeros(5), atol=1e-5, rtol=0)
    torch.testing.assert_close(logits.std(dim=0, correction=0), torch.ones(5), atol=1e-2, rtol=0)


def test_zero_vectors_stay_finite():
    projector = Projector(4, 3, head_bn=False)
    nn.init.zeros_(projector.layers[-1].weight)
    nn.init.zeros_(projector.layers[-1].bias)
    embeddings = projector(torch.rand(2, 4))
    embeddings.sum().backward()
    assert torch.equal(embeddings, torch.zeros(2, 3))
    assert all(p.grad.isfinite().all() for p in projector.parameters())


def test_float32_leaves_autocast():
    net = build()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(torch.rand(6, 3, 16, 16))
    assert out.embeddings.dtype == out.logits.dtype == torch.float32
    torch.testing.assert_close(out.embeddings.norm(dim=1), torch.ones(6))


def test_gradient_reaches_every_parameter():
    net = build()
    out = net(torch.rand(8, 3, 16, 16))
    target = torch.randn(8, 32)
    ((out.embeddings * target).sum() + (out.logits * torch.randn(8, 5)).sum()).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
