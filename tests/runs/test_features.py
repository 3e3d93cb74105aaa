"""Feature vectors from file to run folder and back: the same walk as images."""

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
from twincl.errors import InputError
from twincl.results.model_file import load_model
from twincl.results.outputs import load_outputs
from twincl.runs.predict import evaluate, predict
from twincl.runs.train import train

CLASSES = 4


def blobs(count: int, *, seed: int, width: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """(N, width + 1) clouds around one point a class, each column in units of its own, the last one constant."""
    centres = np.random.default_rng(99).normal(size=(CLASSES, width))
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % CLASSES
    features = (centres[labels] + 0.8 * rng.normal(size=(count, width))) * np.logspace(-3, 3, width)
    return np.hstack([features, np.full((count, 1), 5.0)]).astype(np.float32), labels


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("features") / "blobs.npz"
    (x, y), (x_test, y_test) = blobs(600, seed=0), blobs(400, seed=1)
    np.savez(file, x=x, y=y, x_test=x_test, y_test=y_test)
    return file


def settings_of(path: Path, **settings) -> dict:
    given = {name.replace("__", "."): value for name, value in settings.items()}
    noise = {"noise.type": "symmetric", "noise.rate": 0.6}
    return {"data.path": str(path), "optim.epochs": 12, "optim.batch_size": 32, "amp": False} | noise | given


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory) -> tuple[Path, dict]:
    run = tmp_path_factory.mktemp("runs") / "tcl"
    return run, train(build_config(settings=settings_of(data)), run)


def test_tcl_learns_through_wrong_labels_and_cross_entropy_does_not(data, finished, tmp_path):
    _, tcl = finished
    plain = train(build_config(settings=settings_of(data, method="cross-entropy")), tmp_path / "run")
    assert tcl["noise_rate_actual"] == plain["noise_rate_actual"] > 0.4
    assert tcl["test_accuracy"] > 0.9
    assert tcl["test_accuracy"] > plain["test_accuracy"] + 0.1
    assert tcl["detection_auroc"] > max(0.95, plain["detection_auroc"])


def test_the_choices_are_written_down_and_repeat_the_run(finished, tmp_path):
    run, _ = finished
    stored = yaml.safe_load((run / "config.yaml").read_text())
    assert (stored["model"]["name"], stored["augment"]["name"]) == ("mlp", "features")
    assert (stored["augment"]["noise"], stored["augment"]["dropout"]) == (0.6, 0.3)
    assert stored["optim"]["lr"] == pytest.approx(0.12 * (32 / 256) ** 0.5, abs=1e-6)
    for section, name in (("data", "img_size"), ("data", "channels"), ("augment", "crop_min"), ("augment", "mean")):
        assert stored[section][name] is None
    about = json.loads((run / "model.json").read_text())
    assert about["shape"] == [13]
    assert len(about["mean"]) == len(about["std"]) == 13
    assert (about["mean"][-1], about["std"][-1]) == (5.0, 0.0)
    train(build_config(file=run / "config.yaml", settings={}), tmp_path / "again")
    for name in ("model.safetensors", "model.json", "label_issues.csv"):
        assert (run / name).read_bytes() == (tmp_path / "again" / name).read_bytes(), name


def test_the_model_on_disk_is_the_model_that_was_trained(data, finished, tmp_path):
    run, summary = finished
    model = load_model(run, torch.device("cpu"))
    assert model.shape == (13,)
    x, _ = blobs(600, seed=0)
    stored = load_outputs(run)
    with torch.no_grad():
        embeddings = model.net(model.views.plain(torch.from_numpy(x[stored.rows]))).embeddings
    torch.testing.assert_close(embeddings, torch.from_numpy(stored.embeddings), atol=1e-5, rtol=0)

    assert evaluate(run, str(data))["accuracy"] == summary["test_accuracy"]
    np.save(tmp_path / "test.npy", blobs(400, seed=1)[0])
    table, broken = predict(run, str(tmp_path / "test.npy"))
    assert broken == []
    assert table["file"].tolist() == [str(row) for row in range(400)]
    right = table["predicted_label"].astype(int).to_numpy() == blobs(400, seed=1)[1]
    assert right.mean() == summary["test_accuracy"]


def test_labels_from_a_file_and_names_from_a_table(tmp_path):
    x, y = blobs(80, seed=0)
    names = [f"row-{i}" for i in range(80)]
    pq.write_table(pa.table({"id": names, "embedding": x.tolist()}), tmp_path / "x.parquet")
    shuffled = pd.DataFrame({"id": names, "label": [f"class {k}" for k in y]}).sample(frac=1, random_state=0)
    shuffled.to_csv(tmp_path / "labels.csv", index=False)
    settings = {"data.path": str(tmp_path / "x.parquet"), "data.labels": str(tmp_path / "labels.csv")}
    config = build_config(settings=settings | {"optim.epochs": 6, "optim.batch_size": 16})
    train(config, tmp_path / "run")
    table = pd.read_csv(tmp_path / "run" / "label_issues.csv").set_index("index")
    for row in table.index:
        assert (table.loc[row, "file_name"], table.loc[row, "given_label"]) == (f"row-{row}", f"class {y[row]}")


def test_instance_dependent_noise_looks_at_the_features(data, tmp_path):
    settings = settings_of(data, noise__type="instance", noise__rate=0.3, optim__epochs=1)
    assert train(build_config(settings=settings), tmp_path / "run")["noise_rate_actual"] == pytest.approx(0.3, abs=0.08)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"augment.name": "natural"},
            "'natural' are for images, but the data are feature vectors; leave augment.name open",
        ),
        ({"augment.crop_min": 0.5}, "augment.crop_min is for images, .* leave it open"),
        ({"model.name": "small"}, "'small' takes images, but the data are feature vectors; leave model.name open"),
        ({"model.weights": "no.pth"}, "takes no weights file"),
        ({"data.img_size": 8}, "feature vectors, which have no image size"),
        ({"data.channels": 3}, "feature vectors, which have no image size or channels"),
        ({"augment.mean": [0.5]}, "one value per feature"),
        ({"augment.mean": [0.5], "augment.std": [1.0]}, "augment.mean has 1 values but there are 13 features"),
        ({"preset": "paper"}, "leave augment.name open"),
    ],
)
def test_settings_of_images_are_refused(data, tmp_path, settings, message):
    with pytest.raises(InputError, match=message) as error:
        train(build_config(settings=settings_of(data) | settings), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"augment.name": "features"}, "'features' are for feature vectors, but the data are images"),
        ({"augment.dropout": 0.5}, "augment.dropout is for feature vectors, but the data are images"),
        ({"model.name": "mlp"}, "'mlp' takes feature vectors, but the data are images"),
    ],
)
def test_settings_of_features_are_refused_for_images(photos, tmp_path, settings, message):
    config = build_config(settings={"data.path": str(photos), "optim.batch_size": 8} | settings)
    with pytest.raises(InputError, match=message):
        train(config, tmp_path / "run")


def test_test_data_of_another_kind_are_refused(data, photos, tmp_path):
    np.savez(tmp_path / "narrow.npz", x=np.zeros((4, 3)), y=np.arange(4))
    for test, given in ((photos, "images"), (tmp_path / "narrow.npz", "feature vectors of 3 values")):
        settings = settings_of(data, data__test=str(test))
        if test == photos:  # the labels must not be what is wrong
            labels = {"data.path": str(tmp_path / "named.npz")}
            x, y = blobs(30, seed=0)
            np.savez(tmp_path / "named.npz", x=x, y=np.array(["blue", "green", "red", "red"])[y])
            settings |= labels
        with pytest.raises(InputError, match=f"{given} were given where feature vectors of 13 values are needed"):
            train(build_config(settings=settings), tmp_path / "run")
