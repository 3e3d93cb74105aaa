"""Images turned into the feature vectors of a pretrained network, and learned from."""

import importlib.util
import os

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from torch import nn

from twincl.config import build_config
from twincl.errors import InputError
from twincl.nets.precision import precision
from twincl.nets.resnet import resnet18
from twincl.runs.embed import embed
from twincl.runs.train import train
from twincl.training.device import mixed_precision_pays


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A network and the file of its weights, as torchvision publishes them."""
    torch.manual_seed(0)
    net = resnet18(3).eval()
    weights = dict(net.state_dict()) | {"fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}
    torch.save(weights, file := tmp_path_factory.mktemp("weights") / "resnet18.pth")
    return net, file


def by_hand(net: nn.Module, file) -> np.ndarray:
    pixels = torch.from_numpy(np.array(Image.open(file).convert("RGB").resize((32, 32), Image.Resampling.BICUBIC)))
    scaled = pixels.permute(2, 0, 1)[None].float() / 255
    mean, std = (torch.tensor(x)[:, None, None] for x in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    cpu = torch.device("cpu")
    with torch.no_grad(), precision(cpu, mixed_precision_pays(cpu)):
        return net((scaled - mean) / std)[0].float().numpy()


def test_vectors_are_the_networks_and_can_be_learned_from(pretrained, picture_folder, tmp_path):
    net, weights = pretrained
    folder = picture_folder(tmp_path / "photos", size=32)
    output = tmp_path / "vectors.parquet"
    assert embed(str(folder), "resnet18", output, weights=weights, img_size=32, batch_size=10) == (36, [])
    table = pq.read_table(output).to_pandas()
    files = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.png"))
    assert table["file_name"].tolist() == files
    assert table["label"].tolist() == [file.split("/")[0] for file in files]
    for row in (0, 17, 35):
        np.testing.assert_allclose(table["embedding"][row], by_hand(net, folder / files[row]), atol=1e-3)

    summary = train(
        build_config(settings={"data.path": str(output), "optim.epochs": 5, "optim.batch_size": 8}), tmp_path / "run"
    )
    assert summary["num_judged"] == 36
    with pytest.raises(InputError, match="exists"):
        embed(str(folder), "resnet18", output, weights=weights, img_size=32)
    with pytest.raises(InputError, match="feature vectors already"):
        embed(str(output), "resnet18", tmp_path / "again.parquet", weights=weights, img_size=32)


def test_what_cannot_be_used_is_one_sentence(photos, tmp_path):
    with pytest.raises(InputError, match="would be untrained"):
        embed(str(photos), "resnet18", tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"ends in \.parquet"):
        embed(str(photos), "resnet18", tmp_path / "x.npy")


@pytest.mark.skipif(importlib.util.find_spec("timm") is not None, reason="timm is installed")
def test_without_timm_its_extra_is_named(photos, tmp_path):
    with pytest.raises(InputError, match=r"twincl\[timm\]"):
        embed(str(photos), "timm:resnet50", tmp_path / "x.parquet")


def test_what_is_left_out_is_told_and_names_are_looked_at_first(pretrained, picture_folder, tmp_path):
    _, weights = pretrained
    folder = picture_folder(tmp_path / "photos", size=32)
    (folder / "red" / "broken.png").write_bytes(b"no image")
    count, broken = embed(str(folder), "resnet18", tmp_path / "a.parquet", weights=weights, img_size=32)
    assert (count, [name for name, _ in broken]) == (36, ["red/broken.png"])
    (folder / "red" / os.fsdecode(b"\xff.png")).write_bytes((folder / "red" / "00.png").read_bytes())
    with pytest.raises(InputError, match="is not Unicode"):
        embed(str(folder), "resnet18", tmp_path / "b.parquet", weights=weights, img_size=32)
