"""From suspects to a clean data set, as a user does it: clean, issues, report, correct, export."""

import json

import numpy as np
import pandas as pd
import pytest

from twincl.cli.terminal import issue_lines, shortened


@pytest.fixture(scope="module")
def labels(photos, tmp_path_factory):
    """A label file for `photos` in which every sixth label is wrong."""
    files = sorted(file.relative_to(photos).as_posix() for file in photos.rglob("*.png"))
    true = [file.split("/")[0] for file in files]
    other = {"blue": "green", "green": "red", "red": "blue"}
    given = [other[name] if row % 6 == 0 else name for row, name in enumerate(true)]
    table = pd.DataFrame({"file": files, "label": given, "true": true})
    table.to_csv(path := tmp_path_factory.mktemp("labels") / "labels.csv", index=False)
    return path


@pytest.fixture(scope="module")
def cleaned(twincl_module, photos, labels, tmp_path_factory):
    """What `twincl clean` printed, and the folder it left."""
    output = tmp_path_factory.mktemp("clean") / "run"
    outcome = twincl_module(
        "clean", photos, "--labels", f"{labels}:label", "--output", output, "--epochs", 12, "--batch-size", 12
    )
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out, output


def test_clean_leaves_everything_and_says_where(cleaned, photos, labels):
    out, run = cleaned
    for name in ("report.html", "corrected_labels.csv", "label_issues.csv", "outputs.npz", "model.safetensors"):
        assert (run / name).is_file()
    assert f"look at            {run / 'report.html'}" in out
    assert "tested on none" not in out, "nothing is held out, so nothing is said of a test"
    table = pd.read_csv(run / "label_issues.csv")
    assert len(table) == 36
    assert set(table["split"]) == {"train"}
    true = table["file_name"].str.split("/").str[0]
    assert (table["suggested_label"] == true).mean() > (table["given_label"] == true).mean()

    corrected = pd.read_csv(run / "corrected_labels.csv")
    assert list(corrected.columns) == ["file", "given", "corrected", "action", "confidence"]
    counts = corrected["action"].value_counts()
    assert f"corrections        {counts['keep']} keep" in out


def test_corrected_labels_can_be_trained_on(cleaned, twincl, photos, tmp_path):
    _, run = cleaned
    reference = f"{run / 'corrected_labels.csv'}:corrected"
    outcome = twincl(
        "train", photos, "--labels", reference, "--output", tmp_path / "again", "--epochs", 1, "--batch-size", 8
    )
    assert (outcome.code, outcome.err) == (0, "")


def test_issues_as_table_and_as_json(cleaned, twincl):
    _, run = cleaned
    table = pd.read_csv(run / "label_issues.csv")
    wrong = table[table["is_label_issue"]]
    assert len(wrong) > 1
    outcome = twincl("issues", run, "--top", 2)
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["file", "given", "label", "suggested", "label", "confidence", "label", "quality"]
    assert [line.split()[0] for line in lines[2:]] == wrong["file_name"].tolist()[:2]

    found = json.loads(twincl("issues", run, "--json", "--top", 100).out)
    assert [row["file_name"] for row in found] == wrong["file_name"].tolist()
    label = wrong["given_label"].iloc[0]
    found = json.loads(twincl("issues", run, "--class", label, "--json").out)
    assert {row["given_label"] for row in found} == {label}
    sure = wrong["suggestion_confidence"].max()
    found = json.loads(twincl("issues", run, "--min-confidence", sure, "--json").out)
    assert [row["suggestion_confidence"] for row in found] == pytest.approx([sure])


def test_a_policy_of_ones_own(cleaned, twincl):
    _, run = cleaned
    refused = twincl("correct", run)
    assert refused.code == 2
    assert "exists; pass --force" in refused.err
    issues = pd.read_csv(run / "label_issues.csv")["is_label_issue"].sum()
    outcome = twincl("correct", run, "--relabel-above", 0, "--force")
    assert outcome.code == 0
    assert f"{issues} relabel" in outcome.out
    assert "0 drop" in outcome.out
    outcome = twincl("correct", run, "--relabel-above", 1, "--drop-below", 0, "--force")
    assert outcome.out.startswith(f"{run / 'corrected_labels.csv'}: 36 keep")
    assert twincl("correct", run, "--force").code == 0


def test_export_and_report_on_their_own(cleaned, twincl, tmp_path):
    _, run = cleaned
    outcome = twincl("export", run, "--format", "imagefolder", "--output", tmp_path / "fixed")
    assert (outcome.code, outcome.err) == (0, "")
    assert len(list((tmp_path / "fixed").rglob("*.png"))) > 30
    outcome = twincl("export", run, "--format", "cleanlab", "--output", tmp_path / "arrays")
    assert outcome.code == 0
    assert np.load(tmp_path / "arrays" / "pred_probs.npy").shape == (36, 3)
    outcome = twincl("export", run, "--format", "exel", "--output", tmp_path / "x")
    assert outcome.code == 2
    assert "unknown format 'exel'" in outcome.err

    refused = twincl("report", run)
    assert refused.code == 2
    assert twincl("report", run, "--force").out == f"{run / 'report.html'}\n"


@pytest.mark.parametrize("command", ["issues", "report", "correct"])
def test_a_folder_without_a_finished_run(twincl, tmp_path, command):
    outcome = twincl(command, tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert "holds no finished run" in outcome.err


def test_an_unknown_class_is_named_with_its_neighbour(cleaned, twincl):
    outcome = twincl("issues", cleaned[1], "--class", "gren")
    assert outcome.code == 2
    assert "did you mean 'green'" in outcome.err


def test_lines_of_issues_stay_on_their_line():
    assert issue_lines(pd.DataFrame({"file_name": []})) == "no label looks wrong"
    row = {"file_name": "a\nb" + 60 * "x", "given_label": "cat", "suggested_label": "dog"}
    text = issue_lines(pd.DataFrame([row | {"suggestion_confidence": 0.876, "label_quality": 0.0123}]))
    assert text.count("\n") == 2
    assert text.splitlines()[2].split()[1:] == ["cat", "dog", "88%", "0.0123"]
    assert shortened("12345", 4) == "…345"


def test_a_complete_run_keeps_its_corrections(cleaned, twincl, photos, labels):
    _, run = cleaned
    corrected = run / "corrected_labels.csv"
    before = corrected.read_bytes()
    twincl("correct", run, "--relabel-above", 1, "--drop-below", 0, "--force")
    mine = corrected.read_bytes()
    assert mine != before
    options = ("--labels", f"{labels}:label", "--output", run, "--epochs", 12, "--batch-size", 12)
    outcome = twincl("clean", photos, *options, "--resume")
    assert (outcome.code, outcome.err) == (0, "")
    assert corrected.read_bytes() == mine
    corrected.write_bytes(before)
    assert twincl("clean", photos, *options, "--resume", "--force").code == 2


def test_what_a_run_learns_from_is_not_removed_by_it(cleaned, twincl, photos, tmp_path):
    _, run = cleaned
    before = sorted(path.name for path in run.iterdir())
    outcome = twincl("train", photos, "--labels", f"{run / 'corrected_labels.csv'}:corrected", "-o", run, "--force")
    assert outcome.code == 2
    assert "corrected_labels.csv, which this run is to learn from" in outcome.err
    assert twincl("finetune", run, "--output", run, "--force").code == 2
    assert sorted(path.name for path in run.iterdir()) == before
    inside = twincl("train", photos, "--output", photos / "runs" / "x")
    assert inside.code == 2
    assert "lies in or above the data" in inside.err
    assert not (photos / "runs").exists()


def test_noise_by_a_matrix_is_told_in_the_report(twincl, photos, tmp_path):
    (tmp_path / "T.csv").write_text("0.8,0.1,0.1\n0.1,0.8,0.1\n0.1,0.1,0.8\n")
    noise = ("--noise", "matrix", "--set", f"noise.matrix={tmp_path / 'T.csv'}")
    outcome = twincl("clean", photos, *noise, "--output", tmp_path / "run", "--epochs", 1, "--batch-size", 12)
    assert (outcome.code, outcome.err) == (0, "")
    assert "on purpose (matrix)" in (tmp_path / "run" / "report.html").read_text()
