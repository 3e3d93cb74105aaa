import torch

from twincl.nets.mlp import MLP
from twincl.nets.registry import create_encoder
from twincl.nets.twin import TwinNet


def test_two_layers_by_hand():
    torch.manual_seed(0)
    net, features = MLP(5, width=7).eval(), torch.randn(3, 5)
    first, norm1, _, second, norm2, _ = net.layers
    for norm in (norm1, norm2):
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    hidden = features
    for linear, norm in ((first, norm1), (second, norm2)):
        hidden = hidden @ linear.weight.T + linear.bias
        hidden = (hidden - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias
        hidden = hidden.clamp_min(0)
    torch.testing.assert_close(net(features), hidden)


def test_it_carries_the_two_heads():
    encoder = create_encoder("mlp", shape=(9,))
    assert encoder.dim == 256
    net = TwinNet(encoder, 4, feat_dim=6, head_bn=True, dropout=0.25)
    out = net(torch.randn(8, 9))
    assert (out.embeddings.shape, out.logits.shape) == ((8, 6), (8, 4))
