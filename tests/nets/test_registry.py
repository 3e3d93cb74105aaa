import importlib
import types

import pytest
import torch
from torch import nn

from twincl.errors import InputError
from twincl.nets.preact import PreActResNet18
from twincl.nets.registry import IMAGE_ENCODERS, choose_encoder, create_encoder
from twincl.nets.resnet import resnet18


@pytest.mark.parametrize("name", IMAGE_ENCODERS)
def test_every_encoder_knows_its_width(name):
    encoder = create_encoder(name, shape=(4, 28, 28)).eval()
    assert encoder(torch.rand(1, 4, 28, 28)).shape == (1, encoder.dim)


def test_arguments_reach_the_net(tmp_path):
    encoder = create_encoder("preact_resnet18", shape=(3, 32, 32), shortcut="identity")
    assert isinstance(encoder, PreActResNet18)
    assert encoder.blocks[1].shortcut == "identity"
    source = resnet18()
    torch.save(source.state_dict(), tmp_path / "w.pth")
    loaded = create_encoder("resnet18", shape=(3, 32, 32), weights=tmp_path / "w.pth")
    assert torch.equal(loaded.conv1.weight, source.conv1.weight)


def test_mistakes_are_explained(tmp_path):
    with pytest.raises(InputError, match="did you mean 'resnet18'"):
        create_encoder("resnet-18", shape=(3, 32, 32))
    with pytest.raises(InputError, match="only resnet18 and resnet50"):
        create_encoder("small", shape=(3, 32, 32), weights=tmp_path / "w.pth")


def test_choice_by_machine():
    assert choose_encoder((3, 224, 224), "cpu") == "small"
    assert choose_encoder((1, 64, 64), "cuda") == "preact_resnet18"
    assert choose_encoder((3, 65, 65), "cuda") == "resnet18"
    assert choose_encoder((512,), "cpu") == choose_encoder((512,), "cuda") == "mlp"


def test_an_encoder_for_the_other_kind_of_data_is_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"'mlp' takes feature vectors, but the data are images; leave model\.name open"
    ):
        create_encoder("mlp", shape=(3, 32, 32))
    for name in (*IMAGE_ENCODERS, "timm:resnet18"):
        with pytest.raises(InputError, match=f"'{name}' takes images, but the data are feature vectors"):
            create_encoder(name, shape=(512,))
    with pytest.raises(InputError, match="only resnet18 and resnet50"):
        create_encoder("mlp", shape=(512,), weights=tmp_path / "w.pth")
    with pytest.raises(InputError, match="did you mean 'mlp'"):
        create_encoder("mpl", shape=(512,))


class FakeNet(nn.Module):
    def __init__(self, in_chans: int, dims: int = 2) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_chans, 7, 3)
        self.dims = dims

    def forward(self, x):
        return self.conv(x).mean(dim=(2, 3)) if self.dims == 2 else self.conv(x)


def fake_timm(sizes: list[int | None]) -> types.SimpleNamespace:
    """Stands for timm: `conv` refuses img_size as timm's convolutional models do, `vit` records it."""

    def create_model(name, *, pretrained, num_classes, in_chans, **extra):
        assert (pretrained, num_classes) == (False, 0)
        if name == "conv" and extra:
            raise TypeError("unexpected keyword argument 'img_size'")
        sizes.append(extra.get("img_size"))
        return FakeNet(in_chans, dims=4 if name == "maps" else 2)

    models = ["conv", "vit", "maps"]
    return types.SimpleNamespace(create_model=create_model, is_model=models.__contains__, list_models=lambda: models)


def test_timm_models_are_wrapped(monkeypatch):
    sizes: list[int | None] = []
    monkeypatch.setattr(importlib, "import_module", lambda name: fake_timm(sizes))
    for name in ("conv", "vit"):
        encoder = create_encoder(f"timm:{name}", shape=(4, 16, 16))
        assert encoder.dim == 7
        assert encoder.training
        assert encoder(torch.rand(2, 4, 16, 16)).shape == (2, 7)
    assert sizes == [None, 16]
    with pytest.raises(InputError, match="did you mean 'conv'"):
        create_encoder("timm:konv", shape=(3, 16, 16))
    with pytest.raises(InputError, match="4 dimensions"):
        create_encoder("timm:maps", shape=(3, 16, 16))
    with pytest.raises(InputError, match="cannot encode images of 3 x 2 x 2"):
        create_encoder("timm:conv", shape=(3, 2, 2))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModuleNotFoundError("No module named 'timm'", name="timm"), r"pip install 'twincl\[timm\]'"),
        (ModuleNotFoundError("No module named 'yaml'", name="yaml"), "No module named 'yaml'"),
        (RuntimeError("operator torchvision::nms does not exist"), "install both from the same index"),
    ],
)
def test_timm_that_does_not_import_is_explained(monkeypatch, error, message):
    def fail(name):
        raise error

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(InputError, match=message):
        create_encoder("timm:resnet18", shape=(3, 32, 32))
