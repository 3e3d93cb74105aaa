import json

import pytest
import torch

from twincl.augment.features import FEATURES, FeatureViews
from twincl.errors import InputError
from twincl.nets.registry import create_encoder
from twincl.nets.twin import TwinNet
from twincl.results.model_file import DESCRIPTION, WEIGHTS, calibrated, load_model, save_model

ABOUT = {
    "encoder": "small",
    "shortcut": "identity",
    "feat_dim": 6,
    "head_bn": False,
    "dropout": 0.25,
    "classes": ["Äpfel", "pears"],
    "shape": [3, 12, 12],
    "mean": [0.1, 0.2, 0.3],
    "std": [0.4, 0.5, 0.6],
}
CPU = torch.device("cpu")


@pytest.fixture
def net() -> TwinNet:
    torch.manual_seed(0)
    encoder = create_encoder("small", shape=(3, 12, 12), shortcut="identity")
    net = TwinNet(encoder, 2, feat_dim=6, head_bn=False, dropout=0.25)
    net(torch.randn(8, 3, 12, 12))  # moves the statistics of batch norm
    return net.to(memory_format=torch.channels_last).eval()


def test_a_loaded_model_gives_the_same_logits(net, tmp_path):
    save_model(tmp_path, net, ABOUT)
    model = load_model(tmp_path, CPU)
    images = torch.randint(0, 256, (5, 3, 12, 12), dtype=torch.uint8)
    assert not model.net.training
    for ours, theirs in zip(model.net(model.views.plain(images)), net(model.views.plain(images)), strict=True):
        assert torch.equal(ours, theirs)
    assert (model.classes, model.shape) == (("Äpfel", "pears"), (3, 12, 12))
    black = model.views.plain(torch.zeros(1, 3, 12, 12, dtype=torch.uint8))[0, :, 0, 0]
    torch.testing.assert_close(black, torch.tensor([-0.1 / 0.4, -0.2 / 0.5, -0.3 / 0.6]))
    assert sorted(file.name for file in tmp_path.iterdir()) == [DESCRIPTION, WEIGHTS]


def test_a_model_of_features_gives_the_same_logits(tmp_path):
    torch.manual_seed(0)
    net = TwinNet(create_encoder("mlp", shape=(5,)), 2, feat_dim=6, head_bn=True, dropout=0.25)
    net(torch.randn(8, 5))
    features = torch.randn(200, 5)
    mean, std = features.mean(0).tolist(), features.std(0).tolist()
    about = ABOUT | {"encoder": "mlp", "head_bn": True, "shape": [5], "mean": mean, "std": std}
    save_model(tmp_path, net, about)
    model = load_model(tmp_path, CPU)
    assert model.shape == (5,)
    ours = FeatureViews(FEATURES, tuple(mean), tuple(std))
    for one, two in zip(model.net(model.views.plain(features)), net.eval()(ours.plain(features)), strict=True):
        assert torch.equal(one, two)
    save_model(tmp_path, net, about | {"mean": mean[:4], "std": std[:4]})
    with pytest.raises(InputError, match="cannot be loaded"):
        load_model(tmp_path, CPU)


def test_the_temperature_is_kept_and_one_where_an_earlier_version_wrote_none(net, tmp_path):
    save_model(tmp_path, net, ABOUT | {"temperature": 0.83})
    assert load_model(tmp_path, CPU).temperature == 0.83
    save_model(tmp_path, net, ABOUT)
    assert load_model(tmp_path, CPU).temperature == 1


def test_calibrated_probabilities():
    logits = torch.tensor([[2.0, 0.0, -1.0]])
    weights = torch.tensor([2.0 / 0.5, 0.0, -1.0 / 0.5]).exp()
    torch.testing.assert_close(calibrated(logits, 0.5), (weights / weights.sum())[None])
    torch.testing.assert_close(calibrated(logits.softmax(1).log(), 0.5), calibrated(logits, 0.5))
    certain = torch.tensor([[1.0, 0.0]]).log()
    assert calibrated(certain, 0.9).tolist() == [[1, 0]]


def test_saving_the_same_twice_gives_the_same_bytes(net, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        save_model(tmp_path / name, net, ABOUT)
    assert (tmp_path / "one" / WEIGHTS).read_bytes() == (tmp_path / "two" / WEIGHTS).read_bytes()


def test_what_is_not_a_model_is_one_sentence(net, tmp_path):
    with pytest.raises(InputError, match=r"holds no trained model \(model.safetensors is missing\)"):
        load_model(tmp_path, CPU)
    save_model(tmp_path, net, ABOUT)
    for change in ({"classes": ["a", "b", "c"]}, {"feat_dim": 7}, {"encoder": "resnet18"}, {"std": [1.0]}):
        (tmp_path / DESCRIPTION).write_text(json.dumps(ABOUT | change))
        with pytest.raises(InputError, match=r"the model in .* cannot be loaded|must have one value per channel"):
            load_model(tmp_path, CPU)
    (tmp_path / DESCRIPTION).write_text(json.dumps(ABOUT | {"encoder": "smal"}))
    with pytest.raises(InputError, match="did you mean 'small'"):
        load_model(tmp_path, CPU)
    for temperature in (0, -1.0, float("nan"), float("inf"), "warm", None):
        (tmp_path / DESCRIPTION).write_text(json.dumps(ABOUT | {"temperature": temperature}))
        with pytest.raises(InputError, match="cannot be loaded"):
            load_model(tmp_path, CPU)
    for broken in ("{}", "not json", "[]"):
        (tmp_path / DESCRIPTION).write_text(broken)
        with pytest.raises(InputError, match="cannot be loaded"):
            load_model(tmp_path, CPU)
    (tmp_path / DESCRIPTION).write_text(json.dumps(ABOUT))
    (tmp_path / WEIGHTS).write_bytes(b"weights")
    with pytest.raises(InputError, match="cannot be loaded"):
        load_model(tmp_path, CPU)
