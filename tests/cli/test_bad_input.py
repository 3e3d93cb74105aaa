"""What cannot be used: one sentence on stderr, exit code 2, nothing half-written."""

import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image


@pytest.fixture
def refused(twincl, tmp_path):
    """Run `twincl train`, which must refuse; returns its sentence."""

    def run(data, *options, output=None):
        output = output or tmp_path / "out" / "run"
        before = sorted(tmp_path.rglob("*"))
        outcome = twincl("train", data, "--output", output, *options)
        assert outcome.code == 2
        assert outcome.out == ""
        assert outcome.err.startswith("twincl: ")
        assert outcome.err.count("\n") == 1
        assert outcome.err.endswith("\n")
        assert "Traceback" not in outcome.err
        assert len(outcome.err) < 600
        assert sorted(tmp_path.rglob("*")) == before, "nothing was written"
        return outcome.err

    return run


def list_of(photos) -> pd.DataFrame:
    files = sorted(photos.rglob("*.png"))
    return pd.DataFrame({"path": map(str, files), "label": [file.parent.name for file in files]})


# data


def test_missing_path(refused, tmp_path):
    assert f"no file or folder at '{tmp_path / 'none'}'" in refused(tmp_path / "none")


def test_empty_folder(refused, tmp_path):
    (tmp_path / "data").mkdir()
    assert "holds no images" in refused(tmp_path / "data")
    (tmp_path / "data" / "a" / "b").mkdir(parents=True)
    assert "holds no images" in refused(tmp_path / "data")


def test_a_file_that_is_no_data_set(refused, tmp_path):
    for name in ("thesis.pdf", "data.zip", "empty.csv", "empty.npz", "empty.parquet"):
        (tmp_path / name).write_bytes(b"")
        assert name in refused(tmp_path / name)


def test_one_class(refused, photos, tmp_path):
    shutil.copytree(photos / "red", tmp_path / "data" / "red")
    assert "all training samples have the same label ('red')" in refused(tmp_path / "data")


def test_a_class_with_one_image(refused, photos, tmp_path):
    shutil.copytree(photos, tmp_path / "data")
    (tmp_path / "data" / "pink").mkdir()
    shutil.copy(photos / "red" / "00.png", tmp_path / "data" / "pink")
    sentence = refused(tmp_path / "data")
    assert "too few training samples in 1 of 4 classes: 'pink' (1)" in sentence
    assert "--set data.min_class_size=1" in sentence


def test_a_class_that_only_the_test_data_has(refused, photos, tmp_path):
    shutil.copytree(photos, tmp_path / "more")
    (tmp_path / "more" / "red").rename(tmp_path / "more" / "pink")
    sentence = refused(photos, "--test", tmp_path / "more")
    assert "'pink' (0)" in sentence
    assert "min_class_size" not in sentence, "what would not help is not suggested"


def test_images_without_labels(refused, photos):
    assert "has no labels" in refused(photos / "red")
    assert "has no labels" in refused(photos, "--test", photos / "red")


def test_all_images_broken(refused, photos, tmp_path):
    for colour in ("red", "blue"):
        (tmp_path / "data" / colour).mkdir(parents=True)
        for number in range(5):
            (tmp_path / "data" / colour / f"{number}.png").write_bytes(b"not an image")
    assert "none of the 10 images can be decoded" in refused(tmp_path / "data")


def test_a_table_with_missing_files(refused, photos, tmp_path):
    table = list_of(photos)
    table.loc[[3, 7], "path"] = ["gone.png", "lost.png"]
    table.to_csv(tmp_path / "list.csv", index=False)
    sentence = refused(tmp_path / "list.csv", "--allow-outside")
    assert "2 of 36 image files" in sentence
    assert "row 5: gone.png" in sentence, "as a spreadsheet counts"
    assert "row 9: lost.png" in sentence


def test_a_table_without_columns_that_we_know(refused, photos, tmp_path):
    table = list_of(photos)
    table.rename(columns={"path": "where"}).to_csv(tmp_path / "a.csv", index=False)
    assert "no column that names the images (columns: where, label)" in refused(tmp_path / "a.csv")
    table.rename(columns={"label": "colour"}).to_csv(tmp_path / "b.csv", index=False)
    assert "has no labels" in refused(tmp_path / "b.csv", "--allow-outside")
    assert "did you mean 'colour'" in refused(tmp_path / "b.csv", "--label-column", "color")
    assert "is not a table" in refused(photos, "--label-column", "colour")


def test_arrays_that_are_no_images(refused, pictures, tmp_path):
    pixels, labels = pictures(12, size=8)

    def saved(**arrays):
        np.savez(tmp_path / "a.npz", **arrays)
        return refused(tmp_path / "a.npz")

    hole = pixels.astype(np.float32) / 255
    hole[3, 2, 2] = np.nan
    assert "NaN or infinite" in saved(x=hole, y=labels)
    assert "neither 0..1 nor 0..255" in saved(x=pixels.astype(np.float32) * 7 - 3, y=labels)
    assert "12 images but 11 labels" in saved(x=pixels, y=labels[:11])
    assert "4 labels are missing" in saved(x=pixels, y=np.where(labels == 1, np.nan, labels))
    assert "no array named like x, images or embeddings" in saved(a=pixels)
    assert "has shape" in saved(x=pixels[:, 0, 0, 0], y=labels)
    assert "Python objects" in saved(x=pixels, y=np.array([None] * 12))


# labels


def test_labels_of_another_length(refused, photos, tmp_path):
    np.save(tmp_path / "l.npy", np.zeros(35, dtype=np.int64))
    assert "has 35 labels but the data set has 36 samples" in refused(photos, "--labels", tmp_path / "l.npy")
    assert "has 35 labels but the data set has 36 samples" in refused(photos, "--true-labels", tmp_path / "l.npy")
    table = list_of(photos)[:30]
    table["path"] = [f"{path.split('/')[-2]}/{path.split('/')[-1]}" for path in table["path"]]
    table.to_csv(tmp_path / "l.csv", index=False)
    assert "none for 6 of the 36 images" in refused(photos, "--labels", tmp_path / "l.csv")


def test_missing_labels(refused, photos, tmp_path):
    values = np.zeros(36)
    values[[4, 9]] = np.nan
    np.save(tmp_path / "l.npy", values)
    for option in ("--labels", "--true-labels"):
        assert "2 labels are missing" in refused(photos, option, tmp_path / "l.npy")
    table = list_of(photos)
    table.loc[6, "label"] = None
    table.to_csv(tmp_path / "list.csv", index=False)
    sentence = refused(tmp_path / "list.csv", "--allow-outside")
    assert "1 label is missing" in sentence
    assert "row 8" in sentence


def test_label_files_that_leave_a_choice(refused, photos, tmp_path):
    np.savez(tmp_path / "l.npz", one=np.zeros(36), two=np.ones(36))
    assert "choose from: one, two" in refused(photos, "--labels", tmp_path / "l.npz")
    assert "has no label set 'oen'; did you mean 'one'" in refused(photos, "--labels", f"{tmp_path / 'l.npz'}:oen")
    assert "there is no label file" in refused(photos, "--labels", tmp_path / "none.npy")
    np.save(tmp_path / "n.npy", np.arange(36) % 4)
    assert "outside 0..2" in refused(photos, "--labels", tmp_path / "n.npy")


# options


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--batch-size", "30"], "29 training images are fewer than one batch of 30; pass --batch-size 29 or less"),
        (["--batch-size", "1"], "optim.batch_size cannot be used"),
        (["--epochs", "0"], "optim.epochs cannot be used"),
        (["--epochs", "many"], "--epochs"),
        (["--lr", "nan"], "optim.lr cannot be used"),
        (["--lr", "inf"], "optim.lr cannot be used"),
        (["--seed", "-1"], "seed cannot be used"),
        (["--bogus"], "No such option: --bogus"),
        (["--epoch", "3"], "--epochs"),
        (["--set", "optim.epoch=3"], "unknown setting 'optim.epoch': did you mean 'optim.epochs'?"),
        (["--set", "optim.epochs"], "--set needs section.key=value"),
        (["--set", "optim.epochs=["], "not valid YAML"),
        (["--preset", "papre"], "unknown preset 'papre': did you mean 'paper'?"),
        (["--method", "tlc"], "unknown method 'tlc': did you mean 'tcl'?"),
        (["--model", "smal"], "unknown encoder 'smal': did you mean 'small'?"),
        (["--model", "timm:no_such_model"], "timm"),
        (["--augment", "natrual"], "augment.name cannot be used: it should be 'natural', 'symbols' or 'features'"),
        (["--noise", "simmetric", "--noise-rate", "0.5"], "noise.type cannot be used"),
        (["--noise", "symmetric", "--noise-rate", "1.5"], "the value 1.5 of noise.rate cannot be used"),
        (["--noise-rate", "0.5"], "needs a type of noise"),
        (["--noise", "symmetric"], "--noise symmetric needs --noise-rate"),
        (["--noise", "asymmetric", "--noise-rate", "0.5"], "defined for CIFAR-10 and CIFAR-100 only"),
        (["--device", "gpu"], "device 'gpu' cannot be used"),
        (["--img-size", "2"], "data.img_size cannot be used"),
        (["--set", "augment.mean=[0.5]", "--set", "augment.std=[0.5]"], "1 values but the images have 3 channels"),
        (["--test", "none"], "no file or folder at 'none'"),
        (["--config", "none.yaml"], "configuration file none.yaml cannot be read"),
    ],
)
def test_options(refused, photos, options, sentence):
    assert sentence in refused(photos, *options)


def test_configuration_files(refused, photos, tmp_path):
    file = tmp_path / "c.yaml"
    for text, reason in (
        ("optim: [", "not valid YAML"),
        ("- 1", "must hold section"),
        ("optim: {epoch: 3}", "did you mean 'optim.epochs'?"),
        ("optim: {epochs: -3}", "optim.epochs cannot be used"),
        ("day: 2020-13-45", "not valid YAML"),
    ):
        file.write_text(text)
        assert reason in refused(photos, "--config", file)
    file.write_bytes(b"\xff\xfe")
    assert "cannot be read" in refused(photos, "--config", file)
    assert "cannot be read" in refused(photos, "--config", tmp_path)


def test_outputs_that_hold_something_else(refused, photos, tmp_path):
    (tmp_path / "file").write_text("x")
    assert "is a file; choose a folder" in refused(photos, output=tmp_path / "file")
    assert "cannot be written" in refused(photos, output=tmp_path / "file" / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.yaml").write_text("x")
    for flag in ((), ("--force",), ("--resume",)):
        assert "holds other files and no run" in refused(photos, *flag, output=tmp_path / "mine")


@pytest.mark.parametrize(
    "arguments",
    [
        ["train"],
        ["train", "photos"],
        ["trian"],
        ["evaluate", "none", "none"],
        ["predict", "none", "none"],
        ["predict", "none"],
        ["noise", "none", "--output", "x.csv"],
        ["noise", "digits", "--output", "x.txt"],
        ["noise", "digits", "--output", "none/x.csv"],
        ["noise", "digits", "--output", "x.csv", "--noise", "none"],
        ["noise", "digits", "--output", "x.csv", "--noise-rate", "1.5"],
        ["noise", "digits", "--output", "x.csv", "--noise", "matrix"],
        ["demo", "--noise-rate", "2", "--output", "x"],
        ["demo", "--epochs", "0", "--output", "x"],
        ["demo", "--seed", "-1", "--output", "x"],
    ],
)
def test_other_commands(twincl, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    outcome = twincl(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("twincl: ")
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# what is odd, but can be used


def test_some_broken_images_are_left_out_and_listed(twincl, photos, tmp_path):
    shutil.copytree(photos, tmp_path / "data")
    whole = (photos / "red" / "00.png").read_bytes()
    (tmp_path / "data" / "red" / "text.png").write_text("not an image")
    (tmp_path / "data" / "blue" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "data" / "blue" / "empty.jpg").write_bytes(b"")
    (tmp_path / "data" / "blue" / "odd.gif").write_bytes(b"GIF89a")
    (tmp_path / "data" / "notes.txt").write_text("not an image, and not named like one")
    outcome = twincl("train", tmp_path / "data", "--output", tmp_path / "run", "--epochs", 1)
    assert (outcome.code, outcome.err) == (0, "")
    assert "4 images could not be decoded and are left out: " in outcome.out
    assert "blue/cut.png (" in outcome.out
    assert "and 1 more in skipped_images.csv" in outcome.out
    assert f"one file of {tmp_path / 'data'} passed over: " in outcome.out, "notes.txt"
    skipped = pd.read_csv(tmp_path / "run" / "skipped_images.csv")
    assert skipped["file_name"].tolist() == ["blue/cut.png", "blue/empty.jpg", "blue/odd.gif", "red/text.png"]
    assert skipped["reason"].str.len().gt(3).all()
    table = pd.read_csv(tmp_path / "run" / "label_issues.csv")
    assert not set(table["file_name"]) & set(skipped["file_name"])
    assert len(table) == 36

    outcome = twincl("evaluate", tmp_path / "run", tmp_path / "data")
    assert outcome.code == 0
    assert "on 36 samples" in outcome.out
    assert outcome.err == "4 images could not be decoded and were left out\n"
    outcome = twincl("predict", tmp_path / "run", tmp_path / "data", "--output", tmp_path / "p.csv")
    assert outcome.out == f"{tmp_path / 'p.csv'}: 36 samples\n"
    assert outcome.err.count("left out: ") == 4
    assert len(pd.read_csv(tmp_path / "p.csv")) == 36


def test_mixed_sizes_and_modes(twincl, pictures, tmp_path):
    pixels, labels = pictures(30, size=24)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    for row, (picture, label) in enumerate(zip(pixels, labels, strict=True)):
        image = Image.fromarray(picture[: 24 - row % 3 * 4, : 24 - row % 2 * 6])
        folder = tmp_path / "data" / "abc"[label]
        folder.mkdir(parents=True, exist_ok=True)
        kind = row // 3
        if kind == 0:
            grey = np.asarray(image.convert("L")).astype(np.uint16) * 257
            Image.fromarray(grey).save(folder / f"{row}.png")  # 16 bits
        elif kind == 1:
            image.convert("CMYK").save(folder / f"{row}.jpg")
        elif kind == 2:
            image.convert("P").save(folder / f"{row}.png")
        elif kind == 3:
            image.putalpha(100)
            image.save(folder / f"{row}.png")
        elif kind == 4:
            image.save(folder / f"{row}.jpg", exif=exif)
        elif kind == 5:
            image.convert("1").save(folder / f"{row}.bmp")
        elif kind == 6:
            image.convert("LA").save(folder / f"{row}.png")
        elif kind == 7:
            image.convert("P").save(folder / f"{row}.gif", transparency=0)
        elif kind == 8:
            image.convert("F").save(folder / f"{row}.tiff")
        else:
            image.save(folder / f"{row}.webp")
    outcome = twincl("train", tmp_path / "data", "--output", tmp_path / "run", "--epochs", 1, "--img-size", 16)
    assert (outcome.code, outcome.err) == (0, "")
    assert "24 training images of 16x16x3 in 3 classes" in outcome.out
    assert "could not be decoded" not in outcome.out
    assert "passed over" not in outcome.out
    outcome = twincl("predict", tmp_path / "run", tmp_path / "data")
    assert len(outcome.out.splitlines()) == 31


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8(twincl, photos, tmp_path):
    shutil.copytree(photos, tmp_path / "data")
    data = bytes(tmp_path / "data" / "red")
    for number in range(6):
        with open(data + b"/caf\xe9%d.png" % number, "wb") as file:  # noqa: PTH123
            file.write((photos / "red" / f"{number:02}.png").read_bytes())
    with open(data + b"/broken\xe9.png", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    outcome = twincl("train", tmp_path / "data", "--output", tmp_path / "run", "--epochs", 1)
    assert (outcome.code, outcome.err) == (0, "")
    assert b"red/caf\xe9" in (tmp_path / "run" / "label_issues.csv").read_bytes()
    assert b"red/broken\xe9.png" in (tmp_path / "run" / "skipped_images.csv").read_bytes()
    assert twincl("predict", tmp_path / "run", tmp_path / "data", "--output", tmp_path / "p.csv").code == 0
    assert (tmp_path / "p.csv").read_bytes().count(b"caf\xe9") == 6
    assert twincl("noise", tmp_path / "data", "--output", tmp_path / "n.csv").code == 0
    assert (tmp_path / "n.csv").read_bytes().count(b"caf\xe9") == 6
