"""corrected_labels.csv in a run: complete, and good as labels of the next training."""

import shutil

import pandas as pd
import pytest

from twincl.config import build_config
from twincl.data.csv_text import unguarded
from twincl.data.labels import read_labels
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.results.corrections import Policy
from twincl.results.finished import load_run
from twincl.runs.corrections import write_corrections
from twincl.runs.export import export
from twincl.runs.train import train


@pytest.fixture
def run(photo_run, tmp_path):
    return shutil.copytree(photo_run, tmp_path / "run")


def test_one_row_an_image_in_the_order_of_the_data(run):
    counts = write_corrections(run, Policy(relabel_above=0.7))
    table = pd.read_csv(run / "corrected_labels.csv")
    judged = load_run(run).table
    assert list(table.columns) == ["file", "given", "corrected", "action", "confidence"]
    assert table["file"].tolist() == judged["file_name"].tolist()
    assert table["given"].tolist() == judged["given_label"].tolist()
    assert counts == table["action"].value_counts().to_dict()
    assert min(counts.values()) > 0, "the example shows all three"


def test_it_serves_as_labels(run, photos, tmp_path):
    write_corrections(run, Policy(relabel_above=0.7))
    file, names = run / "corrected_labels.csv", read_dataset(str(photos)).train.names
    labels = read_labels(file, key="corrected", names=names)
    assert labels.tolist() == pd.read_csv(file)["corrected"].tolist()
    settings = {"data.path": str(photos), "data.labels": f"{file}:corrected", "optim.epochs": 1, "amp": False}
    train(build_config(settings=settings), tmp_path / "next")
    again = load_run(tmp_path / "next").table
    corrected = dict(zip(names, labels, strict=True))
    assert again["given_label"].tolist() == [corrected[name] for name in again["file_name"]]


@pytest.mark.parametrize("relabelled", [False, True], ids=["labels of the data", "labels of a file"])
def test_images_that_could_not_be_decoded_are_dropped_and_the_file_still_serves(picture_folder, tmp_path, relabelled):
    photos = picture_folder(tmp_path / "photos")
    (photos / "red" / "=cut.png").write_bytes(b"not an image")
    names = read_dataset(str(photos)).train.names
    labels = {name: "blue" if relabelled and name == "red/=cut.png" else name.split("/")[0] for name in names}
    pd.DataFrame({"file": labels.keys(), "label": labels.values()}).to_csv(tmp_path / "labels.csv", index=False)
    settings = {"data.path": str(photos), "optim.epochs": 1, "amp": False}
    own = {"data.labels": str(tmp_path / "labels.csv")} if relabelled else {}
    train(build_config(settings=settings | own), tmp_path / "run")

    assert sum(write_corrections(tmp_path / "run", Policy()).values()) == 37
    export(tmp_path / "run", "csv", tmp_path / "all.csv")
    export(tmp_path / "run", "parquet", tmp_path / "all.parquet")
    for number, file in enumerate((tmp_path / "run" / "corrected_labels.csv", tmp_path / "all.csv")):
        last = unguarded(pd.read_csv(file)).iloc[-1]
        assert last[["file", "given", "corrected", "action", "confidence"]].tolist() == [
            "red/=cut.png",
            labels["red/=cut.png"],
            labels["red/=cut.png"],
            "drop",
            1.0,
        ]
        train(build_config(settings=settings | {"data.labels": f"{file}:corrected"}), tmp_path / f"next{number}")
        assert len(load_run(tmp_path / f"next{number}").table) == 36
    assert pd.read_parquet(tmp_path / "all.parquet")["split"].tolist()[-1] == "skipped"

    photos.rename(tmp_path / "moved")
    assert sum(write_corrections(tmp_path / "run", Policy(), force=True).values()) == 37, "the run knows them"


def test_nothing_is_replaced_unasked(run):
    write_corrections(run, Policy())
    before = (run / "corrected_labels.csv").read_bytes()
    with pytest.raises(InputError, match=r"corrected_labels.csv exists; pass --force"):
        write_corrections(run, Policy(relabel_above=0))
    assert (run / "corrected_labels.csv").read_bytes() == before
    write_corrections(run, Policy(relabel_above=0), force=True)
    assert (run / "corrected_labels.csv").read_bytes() != before


def test_what_is_no_run_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="holds no finished run"):
        write_corrections(tmp_path, Policy())
