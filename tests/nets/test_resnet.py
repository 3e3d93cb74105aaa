import pytest
import torch
from safetensors.torch import save_file

from twincl.errors import InputError
from twincl.nets.resnet import load_imagenet_weights, resnet18, resnet50


def norm_names(prefix: str) -> list[str]:
    return [f"{prefix}.{name}" for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]


def torchvision_names(depths: tuple[int, ...], convolutions: int, first_downsamples: bool) -> set[str]:
    """The names by rule: convN and bnN per block, downsample.0/.1 at the first block of a stage."""
    names = {"conv1.weight", *norm_names("bn1")}
    for stage, depth in enumerate(depths, start=1):
        for block in range(depth):
            prefix = f"layer{stage}.{block}"
            for n in range(1, convolutions + 1):
                names |= {f"{prefix}.conv{n}.weight", *norm_names(f"{prefix}.bn{n}")}
            if block == 0 and (stage > 1 or first_downsamples):
                names |= {f"{prefix}.downsample.0.weight", *norm_names(f"{prefix}.downsample.1")}
    return names


def test_names_and_counts_are_torchvisions():
    small, large = resnet18(), resnet50()
    assert set(small.state_dict()) == torchvision_names((2, 2, 2, 2), 2, False)
    assert set(large.state_dict()) == torchvision_names((3, 4, 6, 3), 3, True)
    assert sum(p.numel() for p in small.parameters()) == 11_176_512
    assert sum(p.numel() for p in large.parameters()) == 23_508_032
    assert (small.dim, large.dim) == (512, 2048)
    assert large.layer2[0].conv2.stride == (2, 2)  # the stride sits on the 3x3 convolution


@pytest.mark.parametrize(("size", "channels"), [(8, 1), (32, 3), (64, 4), (224, 3)])
def test_shapes(size, channels):
    assert resnet18(channels)(torch.rand(2, channels, size, size)).shape == (2, 512)


def test_resnet50_shape_and_gradient():
    torch.manual_seed(0)
    net = resnet50()
    features = net(torch.randn(2, 3, 48, 48))
    assert features.shape == (2, 2048)
    features.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def test_stage_resolutions_at_224():
    sizes = {}
    net = resnet18().eval()
    for name in ("conv1", "layer1", "layer2", "layer3", "layer4"):
        net.get_submodule(name).register_forward_hook(
            lambda module, args, out, name=name: sizes.__setitem__(name, out.shape[-1])
        )
    net(torch.rand(1, 3, 224, 224))
    assert sizes == {"conv1": 112, "layer1": 56, "layer2": 28, "layer3": 14, "layer4": 7}


@pytest.mark.parametrize(("channels", "suffix"), [(1, ".pth"), (3, ".pth"), (3, ".safetensors"), (4, ".pth")])
def test_weights_round_trip(tmp_path, channels, suffix):
    torch.manual_seed(0)
    source = resnet18().eval()
    file = tmp_path / f"weights{suffix}"
    content = source.state_dict() | {"fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}
    save_file(content, file) if suffix == ".safetensors" else torch.save(content, file)
    net = resnet18(channels).eval()
    load_imagenet_weights(net, file)
    gray = torch.rand(2, 1, 32, 32)
    images = {1: gray, 3: gray.expand(-1, 3, -1, -1), 4: torch.cat((gray, gray, gray, 0 * gray), dim=1)}
    torch.testing.assert_close(net(images[channels]), source(images[3]), atol=1e-4, rtol=1e-4)
    if channels == 4:
        expected = source.conv1.weight.mean(dim=1)
        torch.testing.assert_close(net.conv1.weight[:, 3], expected)


def test_weights_without_batch_counters_load(tmp_path):
    source = {k: v for k, v in resnet18().state_dict().items() if not k.endswith("num_batches_tracked")}
    torch.save(source, tmp_path / "old.pth")
    load_imagenet_weights(resnet18(), tmp_path / "old.pth")


def test_weights_that_do_not_fit_are_refused(tmp_path):
    net = resnet18()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    good = net.state_dict()
    cases = {
        "missing": {key: value for key, value in good.items() if key != "layer1.0.conv1.weight"},
        "unknown": good | {"layer9.weight": torch.zeros(1)},
        "shape": good | {"layer1.0.conv1.weight": torch.zeros(2, 2)},
        "nested": {"model": good},
    }
    messages = {
        "missing": "lacks 'layer1.0.conv1.weight'",
        "unknown": "unknown 'layer9.weight'",
        "shape": r"has shape \(2, 2\), expected \(64, 64, 3, 3\)",
        "nested": "not a state dict",
    }
    for name, content in cases.items():
        torch.save(content, tmp_path / f"{name}.pth")
        with pytest.raises(InputError, match=messages[name]):
            load_imagenet_weights(net, tmp_path / f"{name}.pth")
    (tmp_path / "text.pth").write_text("no weights")
    with pytest.raises(InputError, match="cannot be read"):
        load_imagenet_weights(net, tmp_path / "text.pth")
    with pytest.raises(InputError, match="no weights file"):
        load_imagenet_weights(net, tmp_path / "absent.pth")
    assert all(torch.equal(value, before[key]) for key, value in net.state_dict().items())
