"""A training from configuration to run folder: complete, repeatable, resumable, blind to the truth."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml

from twincl.config import build_config
from twincl.data.batches import Batches
from twincl.data.images import load_images
from twincl.data.read import read_dataset
from twincl.errors import InputError, TrainingError
from twincl.results.folder import CHECKPOINTS, CORRECTED, EVERYTHING, REPORT, SKIPPED
from twincl.results.metrics import auroc
from twincl.results.model_file import load_model
from twincl.runs.listener import Silence
from twincl.runs.train import train
from twincl.training.snapshot import take_snapshot


def small(data: Path | str, **settings) -> dict:
    """Settings of a training of a second; names with `__` for the dot."""
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return {"data.path": str(data), "optim.epochs": 4, "optim.batch_size": 8, "amp": False} | given


def metrics(run: Path) -> list[dict]:
    """The lines of metrics.jsonl without what the clock says."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if "seconds" not in key} for line in lines]


def same(one: Path, two: Path) -> bool:
    files = ("model.safetensors", "label_issues.csv")
    return all((one / name).read_bytes() == (two / name).read_bytes() for name in files) and metrics(one) == metrics(
        two
    )


class Stop(Silence):
    """Presses Ctrl-C when an epoch is done, or in the middle of the epoch after it."""

    def __init__(self, after: int, step: int | None = None):
        self.after, self.at_step, self.done = after, step, 0

    def epoch(self, record, epochs):
        self.done = record["epoch"]
        if self.done == self.after and self.at_step is None:
            raise KeyboardInterrupt

    def step(self, step, steps):
        if self.done == self.after and self.at_step == step:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def noisy(photos, tmp_path_factory) -> tuple[dict, Path]:
    """A finished training with simulated noise and its settings."""
    settings = small(photos, noise__type="symmetric", noise__rate=0.4)
    run = tmp_path_factory.mktemp("runs") / "noisy"
    train(build_config(settings=settings), run)
    return settings, run


def test_the_folder_is_complete(noisy):
    _, run = noisy
    expected = set(EVERYTHING) - {SKIPPED, CORRECTED, REPORT} | {CHECKPOINTS}
    assert {file.name for file in run.iterdir()} == expected
    lines = metrics(run)
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    terms = {"contrast", "cross", "marginal_entropy", "mean_entropy", "align_class", "align_mixture"}
    expected = {f"loss_{term}" for term in terms} | {"epoch", "lr", "loss", "noise_rate_estimate", "noise_rate_actual"}
    expected |= {"test_accuracy", "train_accuracy", "train_agreement", "corrected_label_accuracy"}
    expected |= {
        "detection_auroc",
        "detection_auroc_w",
        "detection_auroc_score",
        "detection_average_precision",
        "issue_precision",
    }
    expected |= {"issue_recall", "suggestion_calibration_error"}
    for line in lines:
        assert line.keys() == expected
        assert line["loss"] == pytest.approx(sum(line[f"loss_{term}"] for term in terms))
    full = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])
    assert full["seconds"] >= full["train_seconds"] > 0


def test_the_summary_is_complete_and_agrees_with_the_other_files(noisy, photos):
    _, run = noisy
    summary = json.loads((run / "summary.json").read_text())
    promised = "method preset seed epochs num_train num_classes test_accuracy test_accuracy_last5_mean "
    promised += "test_accuracy_last5_std knn_accuracy noise_rate_estimate noise_rate_actual detection_auroc "
    promised += "detection_average_precision corrected_label_accuracy train_seconds samples_per_second num_judged "
    promised += "issue_precision issue_recall noise_rate_by_class transition_matrix temperature"
    assert set(promised.split()) <= summary.keys()
    assert [summary[key] for key in ("method", "preset", "seed", "epochs")] == ["tcl", "default", 0, 4]
    assert (summary["num_train"], summary["num_test"], summary["num_classes"]) == (29, 7, 3)
    lines = metrics(run)
    accuracies = [line["test_accuracy"] for line in lines]
    assert summary["test_accuracy"] == accuracies[-1]
    assert summary["test_accuracy_last5_mean"] == pytest.approx(np.mean(accuracies))
    assert summary["test_accuracy_last5_std"] == pytest.approx(np.std(accuracies))
    common = lines[-1].keys() & summary.keys()
    judged = {
        key for key in common if key.startswith(("noise_rate_e", "detection", "issue", "corrected", "suggestion"))
    }
    assert len(judged) == 7, "which epochs judge without the neighbours"
    assert {"noise_rate_actual", "test_accuracy"} <= common - judged
    assert {key: summary[key] for key in common - judged} == {key: lines[-1][key] for key in common - judged}

    table = pd.read_csv(run / "label_issues.csv")
    assert len(table) == summary["num_judged"] == 36
    assert table["split"].value_counts().to_dict() == {"train": 29, "held_out": 7}
    files = sorted(file.relative_to(photos).as_posix() for file in photos.rglob("*.png"))
    assert table["file_name"].tolist() == [files[row] for row in table["index"]], "index is the place in the data"
    assert table["label_quality"].is_monotonic_increasing
    assert summary["num_label_issues"] == table["is_label_issue"].sum()
    assert (table["is_label_issue"] == (table["given_label"] != table["suggested_label"])).all()
    by_class = 1 - table.groupby("given_label")["clean_probability"].mean()
    assert summary["noise_rate_by_class"] == pytest.approx(by_class.to_dict(), abs=1e-3)
    np.testing.assert_allclose(np.sum(summary["transition_matrix"], axis=1), 1, atol=1e-3)
    table = table[table["split"] == "train"]
    expected, called = 1 - table["clean_probability"].mean(), table["is_label_issue"].mean()
    assert summary["noise_rate_estimate"] == pytest.approx(max(expected, called), abs=1e-5)
    true = table["file_name"].str.split("/").str[0]
    assert summary["noise_rate_actual"] == pytest.approx((table["given_label"] != true).mean())
    assert 0 < summary["noise_rate_actual"] <= 0.4
    assert summary["corrected_label_accuracy"] == pytest.approx((table["suggested_label"] == true).mean())
    wrong = (table["given_label"] != true).to_numpy()
    assert summary["detection_auroc"] == pytest.approx(auroc(table["label_quality"].to_numpy(), wrong), abs=0.01)
    assert set(table["given_label"]) | set(table["suggested_label"]) <= {"blue", "green", "red"}


def test_the_configuration_is_resolved_and_repeats_the_run(noisy, tmp_path):
    _, run = noisy
    stored = yaml.safe_load((run / "config.yaml").read_text())
    chosen = {
        "model": ["name"],
        "data": ["img_size", "channels", "workers"],
        "optim": ["lr", "batch_size", "warmup_epochs"],
        "augment": [name for name in stored["augment"] if name not in ("noise", "dropout")],  # those are of features
        "noise": ["seed"],
    }
    for section, names in chosen.items():
        assert all(stored[section][name] is not None for name in names), section
    assert stored["device"] == "cpu"
    assert stored["optim"]["lr"] == pytest.approx(0.06 * (8 / 256) ** 0.5, abs=1e-6)
    train(build_config(file=run / "config.yaml", settings={}), tmp_path / "again")
    assert same(run, tmp_path / "again")


def test_same_seed_same_numbers_and_another_seed_others(noisy, tmp_path):
    settings, run = noisy
    train(build_config(settings=settings), tmp_path / "again")
    assert same(run, tmp_path / "again")
    train(build_config(settings=settings | {"seed": 1}), tmp_path / "other")
    assert not same(run, tmp_path / "other")
    assert metrics(run)[0]["loss"] != metrics(tmp_path / "other")[0]["loss"]


@pytest.mark.parametrize(
    ("changed", "stop"),
    [
        ({}, Stop(2)),
        ({}, Stop(2, step=2)),
        ({}, Stop(4)),  # trained, but nothing of the results written
        ({"tcl.update_every": 3, "tcl.sigma": "per_class"}, Stop(1)),
        ({"method": "cross-entropy"}, Stop(3)),
        ({"method": "mixup"}, Stop(1, step=2)),
        ({"tcl.contrast": "moco", "tcl.targets": "ensemble", "tcl.label_epochs": 1}, Stop(2, step=1)),
    ],
)
def test_a_resumed_training_is_the_uninterrupted_one(photos, tmp_path, changed, stop):
    config = build_config(settings=small(photos, noise__type="pair", noise__rate=0.3) | changed)
    train(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "parts", listener=stop)
    assert not (tmp_path / "parts" / "summary.json").exists()
    train(config, tmp_path / "parts", resume=True)
    assert same(tmp_path / "whole", tmp_path / "parts")


def test_a_complete_run_is_left_as_it_is_and_another_training_refused(noisy):
    settings, run = noisy
    before = {file.name: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    summary = train(build_config(settings=settings), run, resume=True)
    assert summary == json.loads((run / "summary.json").read_text())
    with pytest.raises(InputError, match=r"started with optim.epochs=4, not 5; give the same settings"):
        train(build_config(settings=settings | {"optim.epochs": 5}), run, resume=True)
    assert {file.name: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before


def test_resume_begins_where_nothing_was_begun(photos, tmp_path):
    config = build_config(settings=small(photos, optim__epochs=2))
    train(config, tmp_path / "new", resume=True)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "first", listener=Stop(0, step=1))  # before the first checkpoint
    stored = tmp_path / "first" / "config.yaml"
    stored.write_text(stored.read_text().replace("rate: null", "rate: 0.0"))  # as it was written once
    train(config, tmp_path / "first", resume=True)
    assert same(tmp_path / "new", tmp_path / "first")


def test_the_precision_measured_at_the_start_is_kept(photos, tmp_path):
    run = tmp_path / "run"
    settings = small(photos, optim__epochs=2)
    with pytest.raises(KeyboardInterrupt):
        train(build_config(settings=settings | {"amp": True}), run, listener=Stop(1))
    train(build_config(settings=settings | {"amp": None}), run, resume=True)
    assert yaml.safe_load((run / "config.yaml").read_text())["amp"] is True


def test_the_truth_cannot_reach_the_training(photos, tmp_path):
    """With true labels, wrong true labels and none: the same weights, the same judgement of the labels."""
    files = sorted(file.relative_to(photos).as_posix() for file in photos.rglob("*.png"))
    colours = [file.split("/")[0] for file in files]
    given = ["red" if row % 5 == 0 else colour for row, colour in enumerate(colours)]
    pd.DataFrame({"file": files, "label": given}).to_csv(tmp_path / "given.csv", index=False)
    pd.DataFrame({"file": files, "label": colours}).to_csv(tmp_path / "true.csv", index=False)
    pd.DataFrame({"file": files, "label": colours[::-1]}).to_csv(tmp_path / "false.csv", index=False)
    runs = [tmp_path / name for name in ("none", "true", "false")]
    for run, truth in zip(runs, (None, tmp_path / "true.csv", tmp_path / "false.csv"), strict=True):
        labels = {"data.labels": str(tmp_path / "given.csv"), "data.true_labels": truth and str(truth)}
        train(build_config(settings=small(photos) | labels), run)
    for name in ("model.safetensors", "label_issues.csv"):
        assert len({(run / name).read_bytes() for run in runs}) == 1, name
    none, true, false = (json.loads((run / "summary.json").read_text()) for run in runs)
    assert "detection_auroc" not in none
    assert true["noise_rate_actual"] == pytest.approx(np.mean([given != true for given, true in _kept(runs[0])]))
    assert false["noise_rate_actual"] > true["noise_rate_actual"]
    assert true["noise_rate_estimate"] == none["noise_rate_estimate"]


def _kept(run: Path):
    table = pd.read_csv(run / "label_issues.csv").query("split == 'train'")
    return list(zip(table["given_label"], table["file_name"].str.split("/").str[0], strict=True))


def test_noise_on_top_of_labels_whose_truth_is_known(photos, tmp_path):
    """The labels that the noise is added to are not the truth where the truth is given."""
    files = sorted(file.relative_to(photos).as_posix() for file in photos.rglob("*.png"))
    colours = [file.split("/")[0] for file in files]
    pd.DataFrame({"file": files, "label": colours[::-1]}).to_csv(tmp_path / "given.csv", index=False)
    pd.DataFrame({"file": files, "label": colours}).to_csv(tmp_path / "true.csv", index=False)
    settings = small(photos, optim__epochs=1, noise__type="symmetric", noise__rate=0.1)
    labels = {"data.labels": str(tmp_path / "given.csv"), "data.true_labels": str(tmp_path / "true.csv")}
    summary = train(build_config(settings=settings | labels), tmp_path / "run")
    pairs = _kept(tmp_path / "run")
    assert summary["noise_rate_actual"] == pytest.approx(np.mean([given != true for given, true in pairs]))
    assert summary["noise_rate_actual"] > 0.5


def test_the_model_on_disk_is_the_model_that_was_trained(noisy):
    _, run = noisy
    model = load_model(run, torch.device("cpu"))
    table = pd.read_csv(run / "label_issues.csv").set_index("file_name")
    assert model.classes == ("blue", "green", "red")
    assert model.shape == (3, 16, 16)
    raw = read_dataset(yaml.safe_load((run / "config.yaml").read_text())["data"]["path"]).train
    batches = Batches(
        load_images(raw, size=16, channels=3).images, np.zeros(36), batch_size=36, device=torch.device("cpu")
    )
    said = take_snapshot(model.net, model.views, batches.in_order(), amp=False).probabilities.argmax(1)
    for name, number in zip(raw.names, said.tolist(), strict=True):
        if name in table.index:
            assert table.loc[name, "predicted_label"] == model.classes[number]


def test_streamed_images_give_the_same_model_as_images_in_memory(picture_folder, tmp_path):
    data = picture_folder(tmp_path / "data", per_class=30, size=64)
    settings = small(data, method="cross-entropy", optim__epochs=1, optim__batch_size=24)
    train(build_config(settings=settings), tmp_path / "memory")
    for workers in (0, 1):
        streamed = settings | {"data.memory_limit_mb": 1, "data.workers": workers}
        train(build_config(settings=streamed), tmp_path / f"streamed{workers}")
        stored = yaml.safe_load((tmp_path / f"streamed{workers}" / "config.yaml").read_text())
        assert stored["data"]["workers"] == workers
        assert same(tmp_path / "memory", tmp_path / f"streamed{workers}")


def test_it_learns_through_wrong_labels(picture_folder, tmp_path):
    data = picture_folder(tmp_path / "data", per_class=30)
    settings = small(data, optim__epochs=15, noise__type="symmetric", noise__rate=0.3, data__holdout=0.3)
    summary = train(build_config(settings=settings), tmp_path / "run")
    assert summary["test_accuracy"] >= 0.9
    assert summary["knn_accuracy"] >= 0.9
    assert summary["corrected_label_accuracy"] > 1 - summary["noise_rate_actual"]


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_without_test_images_there_is_no_test_accuracy(photos, tmp_path, share):
    summary = train(build_config(settings=small(photos, optim__epochs=1, data__holdout=share)), tmp_path / "run")
    assert summary["num_train"] == 36
    assert (summary["num_test"], summary["test_data"]) == (0, "none")
    assert summary["test_accuracy"] is None
    assert summary["test_accuracy_last5_mean"] is None
    assert summary["knn_accuracy"] is None


def test_a_training_that_explodes_says_so(photos, tmp_path):
    config = build_config(settings=small(photos, optim__epochs=2, optim__lr=1e30, optim__warmup_epochs=0))
    with pytest.raises(TrainingError, match=r"of epoch 1|after epoch 1"):
        train(config, tmp_path / "run")


def test_a_small_learning_rate_is_kept_as_it_is(photos, tmp_path):
    train(build_config(settings=small(photos, optim__epochs=1, optim__lr=1.5e-8)), tmp_path / "run")
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["optim"]["lr"] == 1.5e-8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"augment.mean": [0.5], "augment.std": [0.2]}, "augment.mean has 1 values but the images have 3 channels"),
        ({"augment.mean": [0.5]}, "one value per channel"),
        ({"augment.std": [0, 1, 1]}, "std be positive"),
        ({"noise.rate": 0.5}, "a noise rate of 0.5 needs a type of noise"),
        ({"noise.type": "matrix"}, "needs a file"),
        ({"noise.type": "matrix", "noise.matrix": "no.csv"}, "the transition matrix no.csv cannot be read"),
        ({"noise.type": "asymmetric", "noise.rate": 0.2}, "use 'pair' or 'matrix' for 3 classes"),
        ({"model.weights": "no.pth"}, "takes no weights file"),
        ({"model.name": "resnet18", "model.weights": "no.pth"}, "no weights file at no.pth"),
        ({"model.name": "smal"}, "did you mean 'small'"),
        ({"method": "tlc"}, "did you mean 'tcl'"),
        ({"device": "gpu"}, "device 'gpu' cannot be used"),
        ({"optim.batch_size": 30}, "29 training images are fewer than one batch of 30"),
        ({"data.labels": "no.csv"}, "there is no label file at no.csv"),
        ({"data.min_class_size": 10}, r"too few .* 3 classes: 'blue' \(9\).*data.min_class_size=9"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(photos, tmp_path, settings, message):
    with pytest.raises(InputError, match=message) as error:
        train(build_config(settings=small(photos, optim__epochs=1) | settings), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_class_of_two_images_is_not_robbed_by_the_hold_out(picture_folder, tmp_path):
    data = picture_folder(tmp_path / "data")
    for file in sorted((data / "red").iterdir())[2:]:
        file.unlink()
    summary = train(build_config(settings=small(data, optim__epochs=1)), tmp_path / "run")
    assert summary["num_train"] + summary["num_test"] == 26
    table = pd.read_csv(tmp_path / "run" / "label_issues.csv")
    assert (table["given_label"] == "red").sum() == 2


def test_arrays_that_are_not_square_are_treated_alike_everywhere(pictures, tmp_path):
    pixels, labels = pictures(36, size=12)
    np.savez(tmp_path / "wide.npz", x=pixels[:, :8], y=labels, x_test=pixels[:6, :8], y_test=labels[:6])
    summary = train(build_config(settings=small(tmp_path / "wide.npz", optim__epochs=1)), tmp_path / "run")
    assert summary["num_test"] == 6
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["data"]["img_size"] == 8
    assert load_model(tmp_path / "run", torch.device("cpu")).shape == (3, 8, 8)


def test_test_labels_meet_the_classes_by_name(photos, tmp_path):
    """Integers of the test data mean its own class names, in whatever order these are."""
    names = ["red", "blue", "green"]
    files = sorted(photos.rglob("*.png"))
    rows = [{"bytes": file.read_bytes(), "path": file.name} for file in files]
    table = pa.table({"image": rows, "label": [names.index(file.parent.name) for file in files]})
    features = {"label": {"names": names, "_type": "ClassLabel"}}
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, tmp_path / "test.parquet")
    by_folder = train(build_config(settings=small(photos, data__test=str(photos))), tmp_path / "folder")
    by_table = train(
        build_config(settings=small(photos, data__test=str(tmp_path / "test.parquet"))), tmp_path / "table"
    )
    assert by_folder["num_train"] == by_folder["num_test"] == 36
    assert by_table["test_accuracy"] == by_folder["test_accuracy"]
    assert by_table["test_accuracy"] > 0.9
