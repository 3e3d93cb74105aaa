"""What TwinClassifier takes, learns and says."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

import twincl
from twincl import TwinClassifier, find_label_issues
from twincl.config import build_config
from twincl.data import images
from twincl.data.decode import decode
from twincl.errors import InputError
from twincl.runs.train import train

COLUMNS = [
    *("index", "file_name", "given_label", "predicted_label", "is_label_issue", "label_quality"),
    *("clean_probability", "suggested_label", "suggestion_confidence", "split"),
]


@pytest.mark.parametrize("kind", ["images", "features"])
def test_digits_with_four_of_ten_labels_wrong(digits, kind):
    X = digits.X if kind == "images" else digits.X.reshape(len(digits.X), -1)
    twin = TwinClassifier(epochs=12, augment="symbols" if kind == "images" else None, random_state=0)
    issues = twin.find_label_issues(X, digits.given)
    before, after = (digits.given == digits.true).mean(), (twin.suggested_labels_ == digits.true).mean()
    assert after > before + 0.1
    assert twin.score(X, digits.true) > before + 0.2
    wrong = digits.given != digits.true
    assert twin.clean_probability_[~wrong].mean() > twin.clean_probability_[wrong].mean() + 0.2
    assert twin.label_quality_[~wrong].mean() > twin.label_quality_[wrong].mean() + 0.2
    assert wrong[issues["is_label_issue"]].mean() > 0.8
    assert hasattr(twin, "n_features_in_") == (kind == "features")


def test_everything_is_said_in_the_order_and_kind_of_the_labels(blobs):
    names = np.array(["ant", "bee", "cat"])
    twin = TwinClassifier(epochs=8, random_state=0).fit(blobs.X, names[blobs.given])
    issues = twin.get_label_issues()
    assert issues is twin.label_issues_
    assert issues.columns.tolist() == COLUMNS
    assert issues["index"].tolist() == list(range(90))
    assert issues["given_label"].tolist() == names[blobs.given].tolist()
    assert issues["predicted_label"].isin(names).all()
    assert issues["suggested_label"].tolist() == twin.suggested_labels_.tolist()
    assert twin.suggested_labels_.dtype == names.dtype
    assert np.array_equal(issues["is_label_issue"], twin.suggested_labels_ != names[blobs.given])
    np.testing.assert_allclose(issues["label_quality"], twin.label_quality_, atol=1e-6)
    assert twin.classes_.tolist() == names.tolist()
    assert set(twin.predict(blobs.X)) <= set(names)
    assert twin.score(blobs.X, names[blobs.true]) > 0.9
    assert [record["epoch"] for record in twin.history_] == list(range(1, 9))
    expected, called = 1 - twin.clean_probability_.mean(), issues["is_label_issue"].mean()
    assert twin.noise_rate_ == pytest.approx(max(expected, called), abs=1e-6)
    np.testing.assert_allclose(twin.transition_matrix_.sum(1), 1)


def test_the_classifier_says_what_the_table_says_it_does(blobs):
    twin = TwinClassifier(epochs=4, random_state=0, settings={"amp": False}).fit(blobs.X, blobs.given)
    assert twin._model.temperature != 1, "otherwise this shows nothing"
    assert np.array_equal(twin.predict(blobs.X), twin.label_issues_["predicted_label"])


@pytest.mark.parametrize(
    "labels", [np.array([-3, 7, 12]), np.array([1.0, 2.0, 5.0]), np.array(["x", "y", "z"], object)]
)
def test_labels_of_any_kind(blobs, labels):
    twin = TwinClassifier(epochs=1).fit(blobs.X, labels[blobs.given].tolist())
    assert twin.classes_.tolist() == labels.tolist()
    assert set(twin.label_issues_["given_label"]) == set(labels)
    assert set(twin.predict(blobs.X)) <= set(labels)


def test_yes_and_no_are_labels(blobs):
    twin = TwinClassifier(epochs=1).fit(blobs.X, blobs.given == 0)
    assert twin.predict(blobs.X).dtype == bool
    assert twin.label_issues_["given_label"].tolist() == (blobs.given == 0).tolist()


def test_the_function_is_the_method(blobs):
    issues = find_label_issues(blobs.X, blobs.given, epochs=2, random_state=0)
    pd.testing.assert_frame_equal(
        issues, TwinClassifier(epochs=2, random_state=0).find_label_issues(blobs.X, blobs.given)
    )


def test_trains_as_the_command_line_does(blobs, tmp_path):
    np.savez(tmp_path / "data.npz", x=blobs.X.astype(np.float32), y=blobs.given)
    settings = {"data.path": str(tmp_path / "data.npz"), "data.holdout": 0, "optim.epochs": 3, "seed": 5}
    train(build_config(settings=settings), tmp_path / "run")
    written = pd.read_csv(tmp_path / "run" / "label_issues.csv", dtype={"file_name": str})
    written = written.sort_values("index", ignore_index=True)
    own = find_label_issues(blobs.X, blobs.given, epochs=3, random_state=5)
    pd.testing.assert_frame_equal(own, written, check_dtype=False, check_exact=False, atol=2e-6)


# Samples of every kind


@pytest.mark.parametrize("count", [2, 5, 10, 15, 17, 30])
@pytest.mark.parametrize("method", ["tcl", "cross-entropy"])
def test_few_samples(count, method):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(count, 3)), np.arange(count) % 2
    y[0] = 9 if count > 2 else 0  # the only one of its class
    twin = TwinClassifier(method=method, epochs=2, random_state=0).fit(X, y)
    assert np.isfinite(twin.predict_proba(X)).all()
    assert len(twin.label_issues_) == count


@pytest.mark.parametrize("batch_size", [2, 3, 64, 10_000])
def test_batches_of_any_size(blobs, batch_size):
    twin = TwinClassifier(epochs=1, batch_size=batch_size).fit(blobs.X[:10], blobs.given[:10])
    assert np.isfinite(twin.predict_proba(blobs.X)).all()


def test_one_class_is_none(blobs):
    with pytest.raises(ValueError, match="only one class is present"):
        TwinClassifier().fit(blobs.X, np.zeros(90, int))


@pytest.mark.parametrize("form", ["uint8", "int64", "float", "channels last", "channels first", "tensor", "lists"])
def test_images_in_every_form(pictures, form):
    pixels, labels = pictures(24, size=8)
    forms = {
        "uint8": pixels,
        "int64": pixels.astype(np.int64),
        "float": pixels.astype(np.float64),
        "channels last": pixels / 255,
        "channels first": (pixels / 255).transpose(0, 3, 1, 2),
        "tensor": torch.from_numpy(pixels).permute(0, 3, 1, 2),
        "lists": pixels.tolist(),
    }
    twin, plain = (TwinClassifier(epochs=1, random_state=0) for _ in range(2))
    answer = twin.fit(forms[form], labels).predict_proba(forms[form])
    assert np.array_equal(answer, plain.fit(pixels, labels).predict_proba(pixels))


@pytest.mark.parametrize("white", [1.0, 255.0])
def test_one_dark_image_is_read_as_those_of_the_training(pictures, white):
    pixels, labels = pictures(24, size=8)
    twin = TwinClassifier(epochs=1, random_state=0).fit(pixels * (white / 255), labels)
    dark = np.where(pixels > 100, 1, 0)[:1].astype(np.uint8)
    assert np.array_equal(twin.predict_proba(dark * (white / 255)), twin.predict_proba(dark))


def test_tensors_of_features(blobs):
    X, y = torch.tensor(blobs.X), torch.tensor(blobs.given)
    twin = TwinClassifier(epochs=1, random_state=0)
    expected = twin.fit(blobs.X, blobs.given).predict_proba(blobs.X)
    assert np.array_equal(twin.fit(X, y).predict_proba(X.requires_grad_()), expected)
    half = X.detach().bfloat16()
    assert twin.fit(half, y).transform(half).shape == (90, 128)


def test_a_path_with_its_own_labels_or_others(photos, colours):
    twin = TwinClassifier(epochs=2, random_state=0).fit(photos)
    assert twin.classes_.tolist() == list(colours)
    assert twin.label_issues_["file_name"][0] == "blue/00.png"
    assert len(twin.predict(str(photos))) == len(twin.transform(photos)) == 36
    assert twin.predict_proba(np.zeros((2, 30, 40), np.uint8)).shape == (2, 3)
    others = np.repeat([10, 20], 18)
    assert twin.fit(str(photos), others).classes_.tolist() == [10, 20]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        twin.fit(photos, others[:-1])


def test_a_path_with_a_test_split_is_predicted_as_the_command_does(picture_folder, tmp_path):
    for name, count in (("train", 8), ("test", 3)):
        picture_folder(tmp_path / "data" / name, per_class=count, seed=count)
    twin = TwinClassifier(epochs=1, random_state=0)
    learned = twin.fit_transform(tmp_path / "data")
    assert len(learned) == len(twin.label_issues_) == 24
    assert np.array_equal(learned, twin.transform(tmp_path / "data" / "train"))
    said = twin.predict_proba(tmp_path / "data")
    assert len(said) == len(twin.predict(tmp_path / "data")) == len(twin.transform(tmp_path / "data")) == 9
    assert np.array_equal(said, twin.predict_proba(tmp_path / "data" / "test"))


def test_a_path_is_read_as_fit_was_told(photos, tmp_path):
    names = [path.relative_to(photos).as_posix() for path in sorted(photos.rglob("*.png"))]
    table = pd.DataFrame(
        {"where": [str(photos / name) for name in names], "kind": [name.split("/")[0] for name in names]}
    )
    table.to_csv(tmp_path / "known.csv", index=False)
    table[["where"]].to_csv(tmp_path / "new.csv", index=False)
    columns = {"image_column": "where", "label_column": "kind"}
    twin = TwinClassifier(epochs=1, random_state=0, settings={"data": {**columns, "allow_outside": True}})
    twin.fit(tmp_path / "known.csv")
    twin.set_params(settings={"data.image_column": "other", "data.max_classes": "none"})
    assert len(twin.predict(tmp_path / "new.csv")) == 36


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_images_of_a_path_are_decoded_by_as_many_threads_as_asked_for(photos, monkeypatch, meeting, workers):
    twin = TwinClassifier(epochs=1, random_state=0, settings={"data.workers": workers})
    for call in (twin.fit, twin.predict):
        met = meeting(decode, max(workers, 1))
        monkeypatch.setattr(images, "decode", met)
        call(photos)
        assert len(met.seen) == max(workers, 1)
        assert ("MainThread" in met.seen) == (workers == 0)


def test_images_of_a_path_are_decoded_by_a_thread_a_core(photos, monkeypatch, meeting):
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    twin = TwinClassifier(epochs=1, random_state=0).fit(photos)
    met = meeting(decode, 3)
    monkeypatch.setattr(images, "decode", met)
    twin.predict(photos)
    assert len(met.seen) == 3


def test_images_beyond_the_memory_limit_are_predicted_alike(picture_folder, tmp_path):
    data = picture_folder(tmp_path / "data", per_class=30, size=64)
    settings = {"data.memory_limit_mb": 1, "data.workers": 1, "augment.mean": (0.5,) * 3, "augment.std": (0.2,) * 3}
    twins = [
        TwinClassifier(epochs=1, random_state=0, settings=given)
        for given in (settings, settings | {"data.memory_limit_mb": 99})
    ]
    streamed, held = (twin.fit(data).predict_proba(data) for twin in twins)
    assert np.array_equal(streamed, held)


def test_features_at_a_path(blobs, tmp_path):
    table = pd.DataFrame(blobs.X, columns=list("abcd"))
    np.save(tmp_path / "x.npy", blobs.X.astype(np.float32))
    twin = TwinClassifier(epochs=1, random_state=0).fit(table, blobs.given)
    expected = twin.predict_proba(table)
    assert np.array_equal(twin.fit(tmp_path / "x.npy", blobs.given).predict_proba(blobs.X), expected)
    assert twin.n_features_in_ == 4
    assert not hasattr(twin, "feature_names_in_")
    with pytest.raises(ValueError, match="requires y"):
        twin.fit(tmp_path / "x.npy")


def test_images_that_do_not_decode(picture_folder, tmp_path):
    folder = picture_folder(tmp_path / "photos", per_class=5)
    (folder / "blue" / "02.png").write_bytes(b"not an image")
    twin = TwinClassifier(epochs=1)
    with pytest.warns(UserWarning, match=r"1 images cannot be decoded and are left out, such as blue/02\.png"):
        twin.fit(folder)
    rows = [row for row in range(15) if row != 2]
    assert twin.label_issues_["index"].tolist() == rows
    assert twin.label_issues_["suggested_label"].tolist() == twin.suggested_labels_.tolist()
    assert len(twin.label_quality_) == len(twin.clean_probability_) == len(rows)
    with pytest.raises(InputError, match=r"1 of 15 images cannot be decoded, such as blue/02\.png"):
        twin.predict(folder)


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"settings": {"tcl.taux": 1}}, "unknown setting 'tcl.taux'"),
        ({"settings": {"noise.rate": 0.1}}, "'noise.rate' is not for an estimator: change y before fit"),
        ({"settings": {"seed": 1}}, "pass random_state"),
        ({"settings": {"noise": {"rate": 0.1}}}, "'noise.rate' is not for an estimator: change y before fit"),
        ({"settings": {"data": {"holdout": 0.5}}}, "'data.holdout' is not for an estimator: fit learns from all"),
        ({"settings": {"tcl": {"taux": 1}}}, "unknown setting 'tcl.taux'"),
        ({"settings": {"noise": None}}, "'noise' is a section of settings"),
        ({"epochs": 0}, "optim.epochs"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"preset": "magic"}, "unknown preset 'magic'"),
        ({"device": "magic"}, "device 'magic' cannot be used"),
        ({"model": "small"}, "encoder 'small' takes images"),
        ({"augment": "natural"}, "the views 'natural' are for images, .* leave augment.name open"),
        ({"preset": "paper"}, "leave augment.name open"),
        ({"settings": {"augment.crop_min": 0.5}}, "augment.crop_min is for images"),
    ],
)
def test_parameters_that_cannot_be_used(blobs, parameters, message):
    with pytest.raises(ValueError, match=message) as error:
        TwinClassifier(**parameters).fit(blobs.X, blobs.given)
    assert "device" in parameters or "--" not in str(error.value), "there are no flags here"


def test_settings_in_a_section_count(blobs):
    twins = [TwinClassifier(epochs=1, random_state=0, settings=given) for given in ({}, {"model": {"feat_dim": 7}})]
    assert [twin.fit_transform(blobs.X, blobs.given).shape[1] for twin in twins] == [128, 7]


def test_what_was_left_open_is_chosen(blobs):
    settings = {"model.name": None, "augment.name": None, "augment.solarize_p": None}
    TwinClassifier(preset="paper", epochs=1, batch_size=32, settings=settings).fit(blobs.X, blobs.given)


def test_samples_that_cannot_be_used(blobs, pictures):
    pixels, labels = pictures(12, size=8)
    twin = TwinClassifier(epochs=1)
    for X, message in [
        (pixels.astype(np.float64) - 300, "neither 0..1 nor 0..255"),
        (np.full((12, 8, 8), np.nan), "NaN"),
        (np.zeros((12, 2, 2, 2, 2)), r"has shape \(12, 2, 2, 2, 2\)"),
        (pixels[:5], "inconsistent numbers of samples"),
    ]:
        with pytest.raises(ValueError, match=message):
            twin.fit(X, labels)
    with pytest.raises(ValueError, match="requires y to be passed"):
        twin.fit(pixels)
    twin.fit(pixels / 255, labels)
    with pytest.raises(ValueError, match=r"not in 0\.\.1"):
        twin.predict(pixels.astype(float))
    with pytest.raises(ValueError, match="feature vectors of 4 values were given where images"):
        twin.predict(blobs.X)
    with pytest.raises(ValueError, match="images were given where feature vectors"):
        twin.fit(blobs.X, blobs.given).predict(pixels)


def test_lines_are_printed_when_asked_for(blobs, capsys):
    TwinClassifier(epochs=2).fit(blobs.X, blobs.given)
    assert capsys.readouterr().out == ""
    TwinClassifier(epochs=2, verbose=1).fit(blobs.X, blobs.given)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("epoch 1/2  loss ")
    assert "wrong labels" in second


def test_names_of_the_package():
    assert set(twincl.__all__) <= set(dir(twincl)) | {"TwinClassifier", "find_label_issues"}
    with pytest.raises(AttributeError, match="has no attribute 'Twin'"):
        twincl.Twin  # noqa: B018
    code = "from twincl import *; print(TwinClassifier.__name__, find_label_issues.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["TwinClassifier", "find_label_issues"]
