"""`twincl train` on every kind of data and labels."""

import gzip
import json
import pickle
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml


def summary_of(run) -> dict:
    return json.loads((run / "summary.json").read_text())


def config_of(run) -> dict:
    return yaml.safe_load((run / "config.yaml").read_text())


def issues_of(run) -> pd.DataFrame:
    """The judgement on the labels that were learned from."""
    table = pd.read_csv(run / "label_issues.csv", dtype={"given_label": str, "file_name": str})
    return table[table["split"] == "train"]


def listed(photos) -> pd.DataFrame:
    """The pictures as a table of absolute paths and names of colours."""
    files = sorted(photos.rglob("*.png"))
    return pd.DataFrame({"image_path": map(str, files), "colour": [file.parent.name for file in files]})


# data


def test_folder(train, photos, colours):
    run = train(photos)
    table = issues_of(run)
    assert set(table["given_label"]) == set(table["predicted_label"]) | set(colours) == set(colours)
    assert all((photos / name).is_file() for name in table["file_name"])
    assert all(
        name.startswith(f"{label}/") for name, label in zip(table["file_name"], table["given_label"], strict=True)
    )
    assert json.loads((run / "model.json").read_text())["classes"] == list(colours)
    assert (summary_of(run)["num_train"], summary_of(run)["num_test"]) == (29, 7)


def test_splits_that_are_not_used_are_named(twincl, picture_folder, tmp_path):
    for seed, split in enumerate(("train", "val", "test")):
        picture_folder(tmp_path / "data" / split, per_class=4, seed=seed)
    options = ("--epochs", 1, "--batch-size", 8, "--no-amp")
    said = twincl("train", tmp_path / "data", "--output", tmp_path / "one", *options).out
    assert "the split 'val' is neither learned from nor tested on" in said
    shutil.rmtree(tmp_path / "data" / "val")
    for folder in list((tmp_path / "data" / "test").iterdir())[1:]:
        shutil.rmtree(folder)
    next((tmp_path / "data" / "test").iterdir()).rename(tmp_path / "data" / "test" / "unknown")
    said = twincl("train", tmp_path / "data", "--output", tmp_path / "two", *options).out
    assert "the test images have no labels, so nothing is tested on them" in said


@pytest.mark.parametrize("held", ["val", "test", "Validation"])
def test_folder_with_splits(train, picture_folder, tmp_path, held):
    picture_folder(tmp_path / "data" / "train", per_class=8)
    picture_folder(tmp_path / "data" / held, per_class=3, seed=1)
    summary = summary_of(train(tmp_path / "data"))
    assert (summary["num_train"], summary["num_test"]) == (24, 9)
    assert summary["test_data"] == f"the test split of {tmp_path / 'data'}"


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_tables(train, photos, tmp_path, suffix):
    table = listed(photos)
    table["kind"] = table.pop("colour")
    table.to_csv(tmp_path / f"list.{suffix}", index=False, sep="\t" if suffix == "tsv" else ",")
    run = train(
        tmp_path / f"list.{suffix}", "--label-column", "kind", "--image-column", "image_path", "--allow-outside"
    )
    assert summary_of(run)["num_classes"] == 3
    assert set(issues_of(run)["given_label"]) == {"blue", "green", "red"}


def test_table_with_a_split_column(train, photos, tmp_path):
    table = listed(photos).rename(columns={"colour": "label"})
    table["split"] = ["test" if row % 4 == 0 else "train" for row in range(36)]
    table.to_csv(tmp_path / "list.csv", index=False)
    summary = summary_of(train(tmp_path / "list.csv", "--allow-outside"))
    assert (summary["num_train"], summary["num_test"]) == (27, 9)


def test_parquet_as_hugging_face_writes_it(train, photos, tmp_path, colours):
    files = sorted(photos.rglob("*.png"))
    rows = [{"bytes": file.read_bytes(), "path": f"{file.parent.name}-{file.name}"} for file in files]
    table = pa.table({"image": rows, "label": [colours.index(file.parent.name) for file in files]})
    features = {"label": {"names": list(colours), "_type": "ClassLabel"}, "image": {"_type": "Image"}}
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    (tmp_path / "data").mkdir()
    pq.write_table(table, tmp_path / "data" / "train-00000-of-00001.parquet")
    pq.write_table(table.slice(0, 36), tmp_path / "data" / "test-00000-of-00001.parquet")
    run = train(tmp_path / "data")
    assert (summary_of(run)["num_train"], summary_of(run)["num_test"]) == (36, 36)
    table = issues_of(run)
    assert all(
        name.split("-")[0] == label for name, label in zip(table["file_name"], table["given_label"], strict=True)
    )
    assert summary_of(train(tmp_path / "data" / "train-00000-of-00001.parquet"))["num_train"] == 29


@pytest.mark.parametrize("strings", [False, True])
def test_arrays(train, pictures, tmp_path, strings, colours):
    pixels, labels = pictures(36, size=8)
    np.savez(tmp_path / "a.npz", images=pixels, labels=np.array(colours)[labels] if strings else labels)
    run = train(tmp_path / "a.npz")
    table = issues_of(run)
    names = colours if strings else ("0", "1", "2")
    assert all(
        names[int(name) % 3] == label for name, label in zip(table["file_name"], table["given_label"], strict=True)
    )
    assert json.loads((run / "model.json").read_text())["classes"] == list(names)


def test_grey_arrays(train, pictures, tmp_path):
    pixels, labels = pictures(36, size=8)
    np.savez(tmp_path / "a.npz", x_train=pixels[..., 0], y_train=labels, x_test=pixels[:5, ..., 0], y_test=labels[:5])
    run = train(tmp_path / "a.npz")
    assert config_of(run)["data"]["channels"] == 1
    assert summary_of(run)["num_test"] == 5


def rows_of(pixels: np.ndarray) -> np.ndarray:
    """CIFAR's rows: all red, all green, all blue values."""
    return pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)


def test_cifar10(train, pictures, tmp_path):
    names = [f"class{number}" for number in range(10)]
    pixels, _ = pictures(60, size=32)
    labels = list(range(10)) * 6
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for part in range(5):
        batch = {b"data": rows_of(pixels[part * 10 : part * 10 + 10]), b"labels": labels[:10], b"filenames": []}
        (folder / f"data_batch_{part + 1}").write_bytes(pickle.dumps(batch))
    (folder / "test_batch").write_bytes(pickle.dumps({b"data": rows_of(pixels[50:]), b"labels": labels[50:]}))
    (folder / "batches.meta").write_bytes(pickle.dumps({b"label_names": [name.encode() for name in names]}))
    human = {"clean_label": np.array(labels[:50]), "worse_label": (np.array(labels[:50]) + 1) % 10}
    torch.save(human, tmp_path / "CIFAR-10_human.pt")

    options = ("--method", "cross-entropy", "--true-labels", f"{tmp_path / 'CIFAR-10_human.pt'}:clean_label")
    run = train(folder, "--labels", f"{tmp_path / 'CIFAR-10_human.pt'}:worse_label", *options)
    summary = summary_of(run)
    assert (summary["num_train"], summary["num_test"], summary["num_classes"]) == (50, 10, 10)
    assert summary["noise_rate_actual"] == 1
    assert summary["detection_auroc"] is None, "where all labels are wrong there is nothing to rank"
    assert issues_of(run).set_index("file_name").loc["3", "given_label"] == "class4"

    noisy = summary_of(train(folder, "--noise", "asymmetric", "--noise-rate", "0.4", "--method", "cross-entropy"))
    assert 0 < noisy["noise_rate_actual"] < 0.4


def test_cifar100(train, twincl, pictures, tmp_path):
    pixels, _ = pictures(200, size=32)
    names = [f"fine{number:02}" for number in range(100)]
    labels = list(range(100)) * 2
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for name, count in (("train", 200), ("test", 20)):
        batch = {"data": rows_of(pixels[:count]), "fine_labels": labels[:count], "coarse_labels": [0] * count}
        (folder / name).write_bytes(pickle.dumps(batch))
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": names, "coarse_label_names": []}))
    np.save(tmp_path / "noise.npy", np.array(labels, dtype=np.int32)[::-1])
    run = train(folder, "--labels", tmp_path / "noise.npy", "--method", "cross-entropy", "--batch-size", 50)
    assert summary_of(run)["num_classes"] == 100
    assert issues_of(run).set_index("file_name").loc["0", "given_label"] == "fine99"
    assert 0 <= summary_of(run)["test_accuracy"] <= summary_of(run)["test_accuracy_top5"] < 1

    human = {"clean_label": np.array(labels), "noisy_label": np.array([*labels[:150], *labels[150:][::-1]])}
    torch.save(human, tmp_path / "CIFAR-100_human.pt")
    file = tmp_path / "CIFAR-100_human.pt"
    options = ("--method", "cross-entropy", "--batch-size", 50)
    run = train(folder, "--labels", f"{file}:noisy_label", "--true-labels", f"{file}:clean_label", *options)
    assert summary_of(run)["noise_rate_actual"] == 0.25
    assert issues_of(run).set_index("file_name").loc["150", "given_label"] == "fine99"

    asymmetric = ("--noise", "asymmetric", "--noise-rate", "1")
    given = issues_of(train(folder, *asymmetric, *options)).set_index("file_name")["given_label"]
    assert (given["4"], given["30"], given["95"]) == ("fine30", "fine55", "fine04"), "beaver, dolphin, whale"
    assert re.match(
        r"accuracy [\d.]+%, [\d.]+% among the first five on 20 samples", twincl("evaluate", run, folder).out
    )


def test_idx(train, pictures, tmp_path):
    def idx(values: np.ndarray) -> bytes:
        header = bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape)
        return gzip.compress(header + values.astype(np.uint8).tobytes())

    for name, count in (("train", 36), ("t10k", 9)):
        pixels, labels = pictures(count, size=12)
        (tmp_path / f"{name}-images-idx3-ubyte.gz").write_bytes(idx(pixels[..., 0]))
        (tmp_path / f"{name}-labels-idx1-ubyte.gz").write_bytes(idx(labels))
    run = train(tmp_path)
    assert (summary_of(run)["num_train"], summary_of(run)["num_test"]) == (36, 9)
    assert config_of(run)["augment"]["name"] == "symbols"


def test_digits(train):
    run = train("digits", "--set", "data.limit=200", "--noise", "symmetric", "--noise-rate", "0.5")
    summary = summary_of(run)
    assert (summary["num_train"], summary["num_test"], summary["num_classes"]) == (200, 360, 10)
    assert 0.3 < summary["noise_rate_actual"] < 0.5
    assert config_of(run)["augment"]["name"] == "symbols"


# labels


@pytest.mark.parametrize("kind", ["npy", "npy of names", "csv", "txt"])
def test_label_files(train, photos, tmp_path, colours, kind):
    files = sorted(file.relative_to(photos).as_posix() for file in photos.rglob("*.png"))
    wrong = [colours[(colours.index(file.split("/")[0]) + (row % 4 == 0)) % 3] for row, file in enumerate(files)]
    if kind == "csv":
        file = tmp_path / "labels.csv"
        shuffled = pd.DataFrame({"file_name": files, "label": wrong}).sample(frac=1, random_state=0)
        shuffled.to_csv(file, index=False)
    elif kind == "txt":
        file = tmp_path / "labels.txt"
        file.write_text("\n".join(wrong) + "\n")
    else:
        file = tmp_path / "labels.npy"
        np.save(file, np.array(wrong) if "names" in kind else np.array([colours.index(name) for name in wrong]))
    truth = np.array([colours.index(name.split("/")[0]) for name in files])
    np.save(tmp_path / "true.npy", truth.astype(np.int32))
    run = train(photos, "--labels", file, "--true-labels", tmp_path / "true.npy")
    table = issues_of(run).set_index("file_name")
    expected = dict(zip(files, wrong, strict=True))
    assert all(expected[name] == label for name, label in table["given_label"].items())
    rate = np.mean([expected[name] != name.split("/")[0] for name in table.index])
    assert summary_of(run)["noise_rate_actual"] == pytest.approx(rate)
    assert summary_of(run)["detection_auroc"] is not None


def test_noisy_copy_then_training_on_it(twincl, train, photos, tmp_path, colours):
    noisy = tmp_path / "noisy.csv"
    outcome = twincl("noise", photos, "--output", noisy, "--noise-rate", "0.6", "--seed", "3")
    assert outcome.code == 0, outcome.err
    table = pd.read_csv(noisy)
    assert list(table.columns) == ["index", "file_name", "label", "true_label"]
    assert table["index"].tolist() == list(range(36))
    assert (table["true_label"] == table["file_name"].str.split("/").str[0]).all()
    rate = (table["label"] != table["true_label"]).mean()
    assert outcome.out == f"{noisy}: {rate:.1%} of the labels differ from those of {photos}\n"
    assert 0.2 < rate < 0.6

    run = train(photos, "--labels", noisy, "--true-labels", f"{noisy}:true_label")
    given = issues_of(run).set_index("file_name")["given_label"]
    assert (table.set_index("file_name")["label"].loc[given.index] == given).all()
    wrong = table.set_index("file_name").loc[given.index].eval("label != true_label").mean()
    assert summary_of(run)["noise_rate_actual"] == pytest.approx(wrong)

    assert twincl("noise", photos, "--output", noisy).code == 2, "nothing is overwritten unasked"
    assert twincl("noise", photos, "--output", noisy, "--force").code == 0
    array = tmp_path / "noisy.npy"
    options = ("--noise", "pair", "--noise-rate", "1", "--output", array)
    assert twincl("noise", photos, *options).code == 0
    truth = [colours.index(name.split("/")[0]) for name in table["file_name"]]
    assert np.load(array).tolist() == [(label + 1) % 3 for label in truth]
    outcome = twincl("noise", photos, "--noise", "instance", "--output", tmp_path / "i.csv", "--noise-rate", "0.3")
    assert outcome.code == 0, outcome.err
    np.savetxt(tmp_path / "m.csv", np.roll(np.eye(3), 1, axis=1), delimiter=",")
    matrix = ("--noise", "matrix", "--set", f"noise.matrix={tmp_path / 'm.csv'}", "--output", tmp_path / "m.npy")
    assert twincl("noise", photos, *matrix).code == 0
    assert np.load(tmp_path / "m.npy").tolist() == np.load(array).tolist()


# options


def test_flags_beat_the_file_which_beats_the_preset(train, photos, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "model: {name: resnet18}\noptim: {momentum: 0.5, epochs: 99, weight_decay: 1e-2}\ndevice: nowhere\n"
    )
    flags = ("--model", "auto", "--device", "auto", "--augment", "symbols", "--lr", "1e-3", "--seed", "5")
    run = train(photos, "--config", file, "--preset", "paper", *flags, "--set", "tcl.tau=0.5", "--img-size", "8")
    stored = config_of(run)
    assert stored["optim"]["epochs"] == 1, "flag over file"
    assert stored["optim"]["momentum"] == 0.5, "file over preset"
    assert stored["optim"]["weight_decay"] == 0.01
    assert stored["optim"]["lr_scaling"] == "linear", "preset over default"
    assert stored["model"]["name"] == "small", "auto takes the choice back"
    assert stored["device"] == "cpu"
    assert (stored["augment"]["name"], stored["optim"]["lr"], stored["seed"]) == ("symbols", 0.001, 5)
    assert (stored["tcl"]["tau"], stored["data"]["img_size"]) == (0.5, 8)
    assert stored["preset"] == summary_of(run)["preset"] == "paper"


def test_test_data_of_its_own(train, photos, picture_folder, tmp_path):
    run = train(photos, "--test", picture_folder(tmp_path / "more", per_class=2, seed=9))
    assert (summary_of(run)["num_train"], summary_of(run)["num_test"]) == (36, 6)
    assert summary_of(run)["test_data"] == str(tmp_path / "more")


def test_one_plain_line_an_epoch(twincl, photos, tmp_path):
    output = tmp_path / "run"
    outcome = twincl("train", photos, "--output", output, "--epochs", 3, "--noise", "pair", "--noise-rate", "0.2")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    epochs = [line for line in lines if line.startswith("epoch ")]
    assert len(epochs) == 3
    for number, line in enumerate(epochs, start=1):
        assert line.startswith(f"epoch {number}/3  loss ")
        assert "test accuracy" in line
        assert "wrong labels" in line
        assert line.endswith(" s")
    assert "\r" not in outcome.out
    assert sum(line.startswith("about ") and line.endswith(" to go") for line in lines) == 1
    assert "encoder small" in outcome.out, "what was chosen is said"
    assert "7 samples held out of the data (20%)" in outcome.out
    assert lines[-1] == f"The labels, the most suspect first: {output / 'label_issues.csv'}"


def test_an_existing_run_is_kept_without_force(twincl, train, photos):
    run = train(photos)
    before = {file.name: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    (run / "notes.txt").write_text("mine")
    refused = twincl("train", photos, "--output", run, "--epochs", 1)
    assert refused.code == 2
    assert (
        refused.err
        == f"twincl: the folder {run} holds a run; pass --resume to go on with it or --force to replace it\n"
    )
    after = {file.name: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    assert after.pop("notes.txt") == b"mine"
    assert after == before
    again = twincl("train", photos, "--output", run, "--epochs", 2, "--seed", 7, "--force")
    assert again.code == 0, again.err
    assert summary_of(run)["seed"] == 7
    assert len((run / "metrics.jsonl").read_text().splitlines()) == 2
    assert (run / "notes.txt").read_text() == "mine"
    complete = twincl("train", photos, "--output", run, "--epochs", 2, "--seed", 7, "--resume")
    assert (complete.code, complete.err) == (0, "")
    assert "is complete; pass --force to train it anew" in complete.out


def test_a_training_that_explodes_ends_with_one_sentence(twincl, photos, tmp_path):
    outcome = twincl("train", photos, "--output", tmp_path / "run", "--epochs", 2, "--lr", "1e30")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "try a lower --lr" in outcome.err
