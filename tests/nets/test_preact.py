import pytest
import torch
import torch.nn.functional as F

from twincl.nets.preact import PreActBlock, PreActResNet18, SmallNet


def count(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_parameter_count_of_preact_resnet18(channels):
    expected = channels * 64 * 9 + 2 * 64  # stem
    before = 64
    for width in (64, 128, 256, 512):
        expected += 2 * before + 9 * before * width + 2 * width + 9 * width * width  # first block
        expected += before * width if before != width else 0  # its 1x1 shortcut
        expected += 2 * (2 * width + 9 * width * width)  # second block
        before = width
    expected += 2 * 512
    assert count(PreActResNet18(channels)) == expected


@pytest.mark.parametrize(("size", "dim"), [(8, 128), (16, 128), (17, 256), (28, 256), (32, 256), (64, 256), (224, 256)])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_small_net_shapes(channels, size, dim):
    net = SmallNet(channels, size)
    assert net.dim == dim
    assert net(torch.rand(2, channels, size, size)).shape == (2, dim)


@pytest.mark.parametrize(("size", "channels"), [(8, 1), (16, 3), (28, 1), (32, 3), (64, 4)])
def test_preact_resnet18_shapes(size, channels):
    assert PreActResNet18(channels)(torch.rand(2, channels, size, size)).shape == (2, 512)


def test_stem_of_the_small_net_keeps_the_work_small():
    assert [SmallNet(3, size).stem.stride[0] for size in (8, 16, 32, 64, 65, 224)] == [1, 1, 2, 2, 4, 4]


@pytest.mark.parametrize("shortcut", ["activated", "identity"])
@pytest.mark.parametrize(("outputs", "stride"), [(4, 1), (6, 1), (4, 2)])
def test_block_equals_its_formula(outputs, stride, shortcut):
    torch.manual_seed(0)
    block = PreActBlock(4, outputs, stride, shortcut).eval()
    for bn in (block.bn1, block.bn2):
        torch.nn.init.uniform_(bn.weight)
        torch.nn.init.uniform_(bn.bias)
        bn.running_mean.uniform_()
    x = torch.randn(2, 4, 8, 8)

    def norm(bn, y):
        mean, var = bn.running_mean[:, None, None], bn.running_var[:, None, None]
        return (y - mean) / (var + bn.eps).sqrt() * bn.weight[:, None, None] + bn.bias[:, None, None]

    active = norm(block.bn1, x).clamp(min=0)
    inner = norm(block.bn2, F.conv2d(active, block.conv1.weight, stride=stride, padding=1)).clamp(min=0)
    inner = F.conv2d(inner, block.conv2.weight, padding=1)
    if stride == 1 and outputs == 4:
        around = active if shortcut == "activated" else x
    else:
        around = F.conv2d(active, block.projection.weight, stride=stride)
    torch.testing.assert_close(block(x), inner + around, atol=1e-5, rtol=1e-5)


def test_shortcuts_differ_and_have_the_same_parameters():
    torch.manual_seed(0)
    activated, identity = PreActResNet18(1, "activated").eval(), PreActResNet18(1, "identity").eval()
    identity.load_state_dict(activated.state_dict())
    images = torch.randn(1, 1, 8, 8)
    assert not torch.allclose(activated(images), identity(images))


@pytest.mark.parametrize("build", [SmallNet, lambda: SmallNet(3, 16), PreActResNet18])
def test_gradient_reaches_every_parameter(build):
    torch.manual_seed(0)
    net = build()
    net(torch.randn(2, 3, 16, 16)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
