"""TCL+: what is learned from, from where it starts, and that a finished run is enough to go on from."""

import json
import re
import shutil

import numpy as np
import pytest
import torch

from twincl.cli import main
from twincl.config import build_config
from twincl.errors import InputError
from twincl.methods.method import Snapshot
from twincl.methods.tcl import TCLSettings, fit_mixture
from twincl.results.model_file import load_model
from twincl.runs.finetune import finetune_config, relabelled, starting_point
from twincl.runs.prepare import prepare
from twincl.runs.train import train

CPU = torch.device("cpu")
QUICK = {"optim.epochs": 2, "amp": False, "device": "cpu"}


@pytest.fixture(scope="module")
def first(photos, tmp_path_factory):
    """A finished first stage."""
    settings = {"data.path": str(photos), "optim.epochs": 4, "optim.batch_size": 8, "amp": False}
    run = tmp_path_factory.mktemp("runs") / "first"
    train(build_config(settings=settings | {"noise.type": "symmetric", "noise.rate": 0.3}), run)
    return run


def test_the_configuration_is_that_of_the_run_but_for_the_second_stage(first):
    config = finetune_config(first, {})
    before = build_config(file=first / "config.yaml", settings={})
    assert (config.method, config.optim.epochs, config.optim.batch_size) == ("mixup", 70, 8)
    assert (config.optim.lr, config.optim.lr_floor, config.optim.weight_decay) == (0.001, 1.0, 1e-4)
    assert (config.mixup.bootstrap, before.mixup.bootstrap) == (0.2, 0.0)
    assert config.finetune.run == str(first)
    for section in ("data", "noise", "model", "augment", "tcl"):
        mine, theirs = getattr(config, section), getattr(before, section)
        assert mine == theirs or section == "data"
    assert finetune_config(first, {"optim.epochs": 3}).optim.epochs == 3
    assert finetune_config(first, {}).amp is None, "chosen anew"
    with pytest.raises(InputError, match="holds no finished run"):
        finetune_config(first / "none", {})


def test_it_starts_from_the_weights_and_the_labels_judged_clean(first):
    config = finetune_config(first, QUICK)
    data = prepare(config, CPU)
    start = starting_point(config, data, CPU)
    weights = load_model(first, CPU).net.state_dict()
    assert start.weights.keys() == weights.keys()
    assert all(torch.equal(start.weights[name], weights[name]) for name in weights)
    assert np.array_equal(start.labels, data.train.labels)
    assert 8 <= len(start.rows) <= len(data.train.labels)
    checkpoint = sorted((first / "checkpoints").iterdir())[-1]
    clean = torch.load(checkpoint, weights_only=True)["method"]["clean"].numpy()
    assert start.rows.tolist() == np.flatnonzero(clean > 0.5).tolist(), "as the first stage ended"
    anew = starting_point(finetune_config(first, QUICK | {"finetune.new_classifier": True}), data, CPU)
    assert {name.split(".")[0] for name in anew.weights} == {"encoder", "projector"}


def test_too_few_clean_labels_and_other_data_are_refused(first, picture_folder, tmp_path):
    config = finetune_config(first, QUICK | {"finetune.threshold": 1.0})
    with pytest.raises(InputError, match=r"only \d+ labels are judged clean"):
        starting_point(config, prepare(config, CPU), CPU)
    other = picture_folder(tmp_path / "other", size=20)
    config = finetune_config(first, QUICK | {"data.path": str(other), "data.img_size": 20})
    with pytest.raises(
        InputError, match=r"was trained on other data than .*: it saw images of \d+x.*, these are images of 20x20"
    ):
        starting_point(config, prepare(config, CPU), CPU)


def test_images_that_the_first_stage_learned_from_are_never_tested_on(first, photos, tmp_path):
    here = shutil.copytree(photos, tmp_path / "photos")
    config = finetune_config(first, QUICK | {"data.path": str(here)})
    starting_point(config, prepare(config, CPU), CPU)  # moved, but the same
    next(here.rglob("*.png")).unlink()
    changed = finetune_config(first, QUICK | {"data.path": str(here)}), finetune_config(first, QUICK | {"seed": 5})
    for config in changed:
        with pytest.raises(InputError, match="images were added, removed or held out anew"):
            starting_point(config, prepare(config, CPU), CPU)


@pytest.mark.parametrize("setting", [{"model.feat_dim": 64}, {"model.name": "resnet18"}, {"model.head_bn": False}])
def test_another_network_is_refused(first, setting):
    config = finetune_config(first, QUICK | setting)
    with pytest.raises(InputError, match=rf"{next(iter(setting))} is .* whose weights would not fit; leave it out"):
        starting_point(config, prepare(config, CPU), CPU)


@pytest.mark.parametrize("setting", ["noise.rate", "noise.seed", "finetune.run"])
def test_another_run_is_refused(first, setting):
    with pytest.raises(InputError, match=f"{setting} cannot be set here: the second stage goes on with what"):
        finetune_config(first, {setting: 0})


def test_imagenet_weights_are_not_asked_for_again(first, tmp_path):
    run = shutil.copytree(first, tmp_path / "run")
    text = (run / "config.yaml").read_text()
    assert "weights: null" in text
    (run / "config.yaml").write_text(text.replace("weights: null", "weights: gone.pth"))
    config = finetune_config(run, QUICK)
    assert config.model.weights is None
    starting_point(config, prepare(config, CPU), CPU)


@pytest.mark.parametrize("sigma", ["tau", "per_class"])
@pytest.mark.parametrize("classes", [3, 200])
def test_relabelling_takes_what_the_mixture_is_sure_of(classes, sigma):
    """The last sample lies between two components; the first of each class sits on its own."""
    embeddings = torch.eye(classes).repeat(2, 1)
    between = (torch.eye(classes)[0] + torch.eye(classes)[1]) / 2**0.5
    embeddings = torch.cat([embeddings, between[None]])
    probabilities = torch.cat([torch.eye(classes).repeat(2, 1), torch.full((1, classes), 1 / classes)])
    given = np.zeros(2 * classes + 1, dtype=np.int64)
    given[-1] = classes - 1
    mixture = fit_mixture(Snapshot(embeddings, probabilities), TCLSettings(sigma=sigma))
    found = relabelled(mixture, embeddings, given, 0.9)
    assert found[:-1].tolist() == [*range(classes)] * 2
    assert found[-1] == classes - 1, "unsure: the given label stays"


@pytest.mark.parametrize("more", [{}, {"finetune.learn_from": "relabelled", "finetune.new_classifier": True}])
def test_end_to_end_and_resumed(first, tmp_path, more):
    config = finetune_config(first, QUICK | more)
    summary = train(config, tmp_path / "plus")
    assert (summary["method"], summary["epochs"], summary["num_judged"]) == ("mixup", 2, 36)
    lines = [json.loads(line) for line in (tmp_path / "plus" / "metrics.jsonl").read_text().splitlines()]
    assert [line["lr"] for line in lines] == [0.001, 0.001]
    judged = ["detection_auroc_w" in line for line in lines]  # of the given labels, which others are learned than
    assert judged == ([False, False] if more else [True, True])
    assert all(0 <= line["detection_auroc"] <= 1 for line in lines)
    assert train(config, tmp_path / "plus", resume=True) == summary


def test_the_command(first, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main(["finetune", str(first), "--output", str(tmp_path / "plus"), "--epochs", "1", "--relabel"])
    said = capsys.readouterr()
    assert end.value.code == 0, said.err
    assert re.search(rf"goes on from {first}; learns from (\d+) of \1 labels, \d+ of them changed", said.out + said.err)
    stored = build_config(file=tmp_path / "plus" / "config.yaml", settings={})
    assert (stored.optim.epochs, stored.finetune.learn_from, stored.finetune.run) == (1, "relabelled", str(first))


def test_how_a_stage_before_learned_is_not_taken_over(first, tmp_path):
    train(finetune_config(first, QUICK | {"finetune.learn_from": "relabelled"}), tmp_path / "second")
    assert finetune_config(tmp_path / "second", {}).finetune.learn_from == "clean"


def test_the_speed_is_that_of_what_was_learned_from(first, tmp_path):
    summary = train(finetune_config(first, QUICK), tmp_path / "run")
    data = prepare(finetune_config(first, QUICK), CPU)
    rows = starting_point(finetune_config(first, QUICK), data, CPU).rows
    batch = finetune_config(first, {}).optim.batch_size
    learned = 2 * (len(rows) // batch) * batch
    seconds = learned / summary["samples_per_second"]
    assert seconds == pytest.approx(summary["train_seconds"], abs=0.006)  # which is rounded to hundredths
