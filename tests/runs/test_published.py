"""The paper's data sets with real noise, made small: their presets train end to end, and go on where they stopped."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from twincl.config import Config, build_config, parse_assignments
from twincl.data.clothing1m import CLASSES
from twincl.errors import InputError
from twincl.nets.resnet import resnet18
from twincl.results.folder import CHECKPOINTS
from twincl.runs.listener import Silence
from twincl.runs.predict import evaluate
from twincl.runs.train import train
from twincl.training.checkpoint import find_checkpoints

SMALL = ("model.name=small", "data.img_size=16", "optim.epochs=3", "optim.batch_size=4", "optim.warmup_epochs=0")
SYNSETS = ("n01440764", "n01443537", "n01484850", "n01491361", "n01494475")


def picture(file: Path, label: int, seed: int) -> None:
    """A dark picture with a bright row at the height of its label."""
    pixels = np.random.default_rng(seed).integers(0, 60, (16, 20, 3), dtype=np.uint8)
    pixels[label] = 250
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(file)


def settings(preset: str, data: Path, *assignments: str) -> Config:
    """As the command line builds them from --preset and --set."""
    given = {"data.path": str(data), "amp": False}
    return build_config(preset=preset, settings=given | parse_assignments([*SMALL, *assignments]))


def metrics(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def webvision(tmp_path_factory) -> Path:
    """Four classes of six images; a fifth class beyond the limit has no images at all."""
    root = tmp_path_factory.mktemp("webvision")
    train = [(f"google/q000{label}/{number}.png", label) for number in range(6) for label in range(4)]
    val = [(f"{label}{number}.png", label) for number in range(2) for label in range(4)]
    for seed, (name, label) in enumerate(train):
        picture(root / name, label, seed)
    for seed, (name, label) in enumerate(val):
        picture(root / "val_images_256" / name, label, 100 + seed)
    (root / "info").mkdir()
    lists = {"train_filelist_google": [*train, ("google/q0005/0.png", 4)], "val_filelist": val}
    for name, pairs in lists.items():
        (root / "info" / f"{name}.txt").write_text("".join(f"{file} {label}\n" for file, label in pairs))
    (root / "info" / "synsets.txt").write_text("".join(f"{synset} fish\n" for synset in SYNSETS))
    return root


@pytest.fixture(scope="module")
def ilsvrc(tmp_path_factory) -> Path:
    """Three validation images of each of five synsets, in folders; WebVision above has four of them."""
    root = tmp_path_factory.mktemp("ilsvrc") / "val"
    for label, synset in enumerate(SYNSETS):
        for number in range(3):
            picture(root / synset / f"{number}.JPEG", label, 200 + 10 * label + number)
    return root


@pytest.fixture(scope="module")
def clothing(tmp_path_factory) -> Path:
    """Fourteen classes, four noisy images each, of the first class twelve; one clean image each for the test."""
    root = tmp_path_factory.mktemp("clothing")
    noisy = [(f"images/0/{number}/{label}.png", label) for number in range(4) for label in range(14)]
    noisy += [(f"images/1/{number}/0.png", 0) for number in range(8)]
    clean = [(f"images/2/0/{label}.png", label) for label in range(14)]
    for seed, (name, label) in enumerate([*noisy, *clean]):
        picture(root / name, label, seed)
    for kind, pairs in (("noisy", noisy), ("clean", clean)):
        (root / f"{kind}_label_kv.txt").write_text("".join(f"{name} {label}\n" for name, label in pairs))
    (root / "noisy_train_key_list.txt").write_text("\n".join(name for name, _ in noisy))
    (root / "clean_test_key_list.txt").write_text("\n".join(name for name, _ in clean))
    return root


def test_webvision(webvision, ilsvrc, tmp_path):
    config = settings("webvision", webvision, "data.max_classes=4")
    summary = train(config, tmp_path / "run")
    assert (summary["num_train"], summary["num_test"], summary["num_classes"]) == (24, 8, 4)
    assert "test_accuracy_top5" not in summary, "of four classes it says nothing"
    assert evaluate(tmp_path / "run", str(ilsvrc), device="cpu")["num_images"] == 12, "classes it knows"

    summary = train(settings("webvision", webvision, "data.max_classes=4", f"data.test={ilsvrc}"), tmp_path / "other")
    assert summary["num_test"] == 12
    assert json.loads((tmp_path / "other" / "model.json").read_text())["classes"] == [f"{s} fish" for s in SYNSETS[:4]]


def test_clothing1m(clothing, tmp_path):
    summary = train(settings("clothing1m", clothing, "optim.steps_per_epoch=7"), tmp_path / "run")
    assert (summary["num_train"], summary["num_test"], summary["num_classes"]) == (64, 14, 14)
    assert list(summary["noise_rate_by_class"]) == list(CLASSES)
    assert summary["test_accuracy"] <= summary["test_accuracy_top5"] <= 1
    for record in metrics(tmp_path / "run"):
        assert record["test_accuracy_top5"] >= record["test_accuracy"]
    assert len(evaluate(tmp_path / "run", str(clothing), device="cpu")["per_class"]) == 14


def test_clothing1m_begins_from_imagenet_weights_or_says_that_it_does_not(clothing, tmp_path):
    given = {name: value + 0.01 for name, value in resnet18().state_dict().items() if value.is_floating_point()}
    torch.save(given, tmp_path / "imagenet.pth")
    still = ("optim.lr=1e-30", "optim.weight_decay=0", "optim.steps_per_epoch=2", "optim.epochs=1")
    own = ("model.name=resnet18", f"model.weights={tmp_path / 'imagenet.pth'}")
    heard = {name: Notebook() for name in ("pretrained", "random")}
    train(settings("clothing1m", clothing, *still, *own), tmp_path / "pretrained", listener=heard["pretrained"])
    kept = load_file(tmp_path / "pretrained" / "model.safetensors")
    weights = [name for name, value in given.items() if "running" not in name]
    assert len(weights) > 50
    assert all(torch.equal(kept[f"encoder.{name}"], given[name]) for name in weights)

    train(settings("clothing1m", clothing, *still), tmp_path / "random", listener=heard["random"])
    said = {name: [note for note in one.notes if "begins from random weights" in note] for name, one in heard.items()}
    assert [len(notes) for notes in said.values()] == [0, 1]
    assert "--set model.weights=FILE" in said["random"][0]


class Notebook(Silence):
    """Notes what is said and how many steps an epoch has; stops the training at one of them."""

    def __init__(self, stop_at: tuple[int, int] | None = None):
        self.notes, self.epochs, self.lengths, self.stop_at = [], 0, set(), stop_at

    def note(self, text):
        self.notes.append(text)

    def epoch(self, record, epochs):
        self.epochs += 1

    def step(self, step, steps):
        self.lengths.add(steps)
        if (self.epochs, step) == self.stop_at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("memory_limit", ["data.memory_limit_mb=2048", "data.memory_limit_mb=1"])
def test_epochs_on_a_sample_go_on_where_they_stopped(clothing, tmp_path, memory_limit):
    size = [] if memory_limit.endswith("2048") else ["data.img_size=96", "data.workers=1"]  # streamed
    config = settings("clothing1m", clothing, "optim.steps_per_epoch=3", memory_limit, *size)
    notes = Notebook()
    train(config, tmp_path / "whole", listener=notes)
    assert notes.lengths == {3}
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "parts", listener=Notebook((1, 3)), checkpoint_minutes=0)
    train(config, tmp_path / "parts", resume=True)
    for name in ("model.safetensors", "label_issues.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_every_label_is_judged_after_epochs_on_a_sample(clothing, tmp_path):
    config = settings("clothing1m", clothing, "optim.steps_per_epoch=2", "optim.epochs=2")
    train(config, tmp_path / "run", checkpoint_minutes=0)
    clean = [
        torch.load(path, weights_only=True)["method"]["clean"]
        for path in find_checkpoints(tmp_path / "run" / CHECKPOINTS)
    ]
    judged = [int(values.isfinite().sum()) for values in clean]
    assert judged[0] == 64, "at the end all"
    assert 0 < judged[-1] < 64, "before that those that were learned from"


def test_a_sample_needs_a_size(clothing, tmp_path):
    config = settings("clothing1m", clothing, "optim.steps_per_epoch=null")
    with pytest.raises(InputError, match=r"optim.estep=sample is for epochs on a sample; set optim.steps_per_epoch"):
        train(config, tmp_path / "run")
