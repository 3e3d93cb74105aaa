"""The paper's tables: numbers as printed, cells found by what they are, trainings that go on, pages with gaps."""

import json
import math
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from twincl.errors import InputError, Stopped

ROOT = Path(__file__).parents[2]
COLUMN = "cifar10-symmetric50"


@dataclass
class Paper:
    """The benchmark with its folders in a place of their own, and a scale that takes a second a cell."""

    cells: ModuleType
    tables: ModuleType
    published: ModuleType
    render: ModuleType
    scale: Any
    main: Any

    def table(self, name: str) -> Any:
        return self.tables.tables(self.scale)[name]

    def cell(self, variant: str, table: str = "plus", **places: str) -> Any:
        column = self.tables.Column("cifar10", "symmetric", 50)
        return self.tables.cell(self.scale, table, variant, column, 0, places)


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Paper:
    monkeypatch.syspath_prepend(str(ROOT))  # benchmarks are not installed with the package
    from benchmarks import cells
    from benchmarks.paper import __main__, document, published, render, tables

    monkeypatch.setattr(cells, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(cells, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(document, "DOCUMENT", Path(shutil.copy(document.DOCUMENT, tmp_path)))
    settings = {"model.name": "small", "optim.epochs": 2, "optim.batch_size": 8, "data.holdout": 0.4, "amp": False}
    scale = tables.Scale("tiny", "default", 2, settings, "very small", frozenset({"cifar10"}))
    monkeypatch.setitem(tables.SCALES, "tiny", scale)
    return Paper(cells, tables, published, render, scale, __main__.main)


@pytest.fixture
def trained(paper: Paper, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are trained from here on."""
    names: list[str] = []
    real = paper.cells.train

    def train(config, output, **options):
        names.append(output.name.rpartition("-")[0])
        return real(config, output, **options)

    monkeypatch.setattr(paper.cells, "train", train)
    return names


# the paper's numbers


def test_the_averages_that_the_paper_prints_are_those_of_its_columns(paper: Paper) -> None:
    checked = 0
    for table in paper.published.PUBLISHED.values():
        for average in (key for key in table.columns if key.endswith("-average")):
            data = average.removesuffix("average")
            columns = [key for key in table.columns if key.startswith(data) and key != average]
            for row in table.rows:
                values = [table.value(row, key) for key in columns]
                if None not in values:  # two are cut off and not rounded: a tenth at most
                    assert sum(values) / len(values) == pytest.approx(table.value(row, average), abs=0.1)
                    checked += 1
    assert checked == 2 * 10 + 2 * 9 + 2


def test_tables_that_print_the_same_number_agree(paper: Paper) -> None:
    seen: dict[tuple[str, str], float] = {}
    names = {"L_cross": "TCL"}
    for name in ("cifar", "plus", "ablation", "asymmetric"):
        table = paper.published.PUBLISHED[name]
        for row, values in table.rows.items():
            for key, value in zip(table.columns, values, strict=True):
                if not key.endswith("average"):
                    assert seen.setdefault((names.get(row, row), key), value) == value
    assert seen["TCL+", "cifar10-symmetric50"] == 94.5


def test_rows_and_columns_of_the_tables_are_found_in_the_paper(paper: Paper) -> None:
    for name, printed in paper.published.PUBLISHED.items():
        table = paper.tables.tables(paper.tables.SCALES["paper"])[name]
        assert {row.paper for row in table.rows} - {None} <= printed.rows.keys()
        assert {key for key in printed.columns if not key.endswith("average")} <= {c.key for c in table.columns}


def test_deviations_stand_beside_what_they_are_of(paper: Paper) -> None:
    printed = paper.published.PUBLISHED["cifar"]
    assert printed.text("TCL", "cifar10-symmetric80") == "92.5 ± 0.2"
    assert printed.text("TCL", "cifar10-average") == "92.7"
    assert printed.text("Mixup", "cifar10-symmetric80") == "46.7"
    assert printed.text("Nobody", "cifar10-symmetric80") == printed.text("Mixup", "nowhere") == ""


# cells


def test_every_cell_has_a_valid_configuration(paper: Paper) -> None:
    from twincl.config import build_config
    from twincl.methods.registry import find_method

    names = set()
    for scale in paper.tables.SCALES.values():
        for table in paper.tables.tables(scale).values():
            for cell in paper.tables.table_cells(scale, table, 0):
                config = build_config(preset=cell.preset, settings=cell.settings)
                find_method(config.method)
                names.add(cell.name)
    assert len(names) > 60
    variants = {
        name for variant in paper.tables.VARIANTS if (name := paper.tables._slug(variant)) and "every" not in name
    }
    assert all(any(f"-{variant}-seed0" in name for name in names) for variant in variants)


def test_short_trainings_leave_room_for_the_method(paper: Paper) -> None:
    mini, column = paper.tables.SCALES["mini"], paper.tables.Column("cifar10", "symmetric", 50)
    official = paper.tables.cell(mini, "cifar", "tcl (official settings)", column, 0)
    assert official.preset == "official"
    assert (official.settings["optim.warmup_epochs"], official.settings["tcl.label_epochs"]) == (1, 1)
    plus = paper.tables.cell(mini, "plus", "tcl+", column, 0)
    assert plus.settings == {"optim.epochs": 4, "amp": False}  # 70 to 200, as 4 to 10
    updates = [row.title for row in paper.tables.tables(mini)["hyper"].rows if row.title.startswith("update")]
    assert updates == [f"update every {count}" for count in (1, 2, 4)]


def test_what_was_published_for_some_data_or_noise_is_taken_for_these_alone(paper: Paper) -> None:
    def cell(variant: str, *column: Any) -> Any:
        return paper.tables.cell(paper.tables.SCALES["paper"], "cifar", variant, paper.tables.Column(*column), 0)

    official = "tcl (official settings)"
    assert cell(official, "cifar10", "symmetric", 50).preset == "official"
    assert cell(official, "cifar10n", "worst").preset == "official"
    for column in (("cifar100", "symmetric", 50), ("cifar100n", "noisy")):
        assert cell(official, *column).preset == "official-c100"
    ensemble = "temporal ensembling"  # ELR's momentum, of which 0.7 is the default
    assert "tcl.ensemble_momentum" not in cell(ensemble, "cifar10", "symmetric", 90).settings
    for column in (("cifar10", "asymmetric", 40), ("cifar100", "symmetric", 50)):
        assert cell(ensemble, *column).settings["tcl.ensemble_momentum"] == 0.9


def test_tables_share_cells_and_seeds_do_not(paper: Paper) -> None:
    mini = paper.tables.SCALES["mini"]
    keys = {
        name: {cell.key for cell in paper.tables.table_cells(mini, table, 0)}
        for name, table in paper.tables.tables(mini).items()
    }
    tcl = {key for key in keys["cifar"] if key.startswith(f"{COLUMN}-tcl-seed0")}
    assert len(tcl) == 1
    assert all(tcl <= keys[name] for name in ("plus", "ablation", "knn"))
    assert any(key.startswith("cifar10-symmetric90-tcl-seed0") for key in keys["hyper"])  # tau 0.25, update every 1
    others = {cell.key for cell in paper.tables.table_cells(mini, paper.tables.tables(mini)["cifar"], 1)}
    assert not others & keys["cifar"]


def test_every_cell_is_run_once_and_first_stages_before_second_ones(paper: Paper) -> None:
    tcl, plus = paper.cell("tcl"), paper.cell("tcl+")
    waves = paper.cells._waves([plus, tcl, paper.cell("tcl", table="knn"), paper.cell("mixup")])
    assert [[cell.key for cell in wave] for wave in waves] == [[tcl.key, paper.cell("mixup").key], [plus.key]]
    assert [len(wave) for wave in paper.cells._waves([plus])] == [1, 1]  # the first stage is added


def test_what_a_cell_is_does_not_depend_on_where_the_data_lie(paper: Paper) -> None:
    assert paper.cell("tcl+", cifar10="here").key == paper.cell("tcl+", cifar10="there").key
    assert paper.cell("tcl").key != paper.cell("mixup").key


def test_cells_of_other_benchmarks_keep_their_files(paper: Paper) -> None:
    from benchmarks.ablation import cell

    assert cell("cross-entropy", 0.5, 0, 30).file.name == "cross-entropy-50-seed0-092ab68d.json"


def test_other_benchmarks_end_with_a_sentence(paper: Paper, tmp_path: Path, monkeypatch, capsys) -> None:
    from benchmarks import images

    monkeypatch.setattr("sys.argv", ["images", "--cifar10", str(tmp_path / "nowhere"), "--epochs", "1"])
    with pytest.raises(SystemExit) as ended:
        images.main()
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out.count("there is no file or folder at") == len(images.METHODS)
    assert said.err == f"{len(images.METHODS)} trainings could not begin or be tested; see above\n"


def test_human_labels_are_found_as_published_or_as_a_table(paper: Paper, tmp_path: Path) -> None:
    batches = tmp_path / "cifar-10-batches-py"
    batches.mkdir()
    (batches / "data_batch_1").touch()
    for place in (batches, tmp_path):
        (place / "CIFAR-10_human.pt").touch()
        assert human_labels(paper, tmp_path)["data.labels"] == f"{place}/CIFAR-10_human.pt:random_label1"
    (tmp_path / "cifar10n_labels.csv").touch()
    found = human_labels(paper, tmp_path)
    assert found["data.labels"] == f"{tmp_path}/cifar10n_labels.csv:random_label1"
    assert found["data.true_labels"] == f"{tmp_path}/cifar10n_labels.csv:clean_label"


def test_human_labels_as_published_are_not_those_of_images_in_another_order(paper: Paper, tmp_path: Path) -> None:
    for name in ("train.parquet", "test.parquet", "CIFAR-10_human.pt"):
        (tmp_path / name).touch()
    assert human_labels(paper, tmp_path) is None
    (tmp_path / "cifar10n_labels.csv").touch()
    assert human_labels(paper, tmp_path)["data.labels"] == f"{tmp_path}/cifar10n_labels.csv:random_label1"


def test_without_human_labels_there_is_nothing_to_train(paper: Paper, tmp_path: Path) -> None:
    assert human_labels(paper, tmp_path) is None
    assert human_labels(paper, tmp_path / "nowhere") is None
    for name in ("one", "other"):  # which of them is read is not clear
        (tmp_path / name).mkdir()
        (tmp_path / name / "data_batch_1").touch()
    (tmp_path / "CIFAR-10_human.pt").touch()
    assert human_labels(paper, tmp_path) is None


def test_every_set_of_human_labels_is_a_column_where_all_are_trained_on(paper: Paper, tmp_path: Path) -> None:
    of_paper = paper.tables.tables(paper.tables.SCALES["paper"])["cifar-n"].columns
    ten = [f"cifar10n-{name}" for name in ("aggre", "random1", "random2", "random3", "worst")]
    assert [column.key for column in of_paper] == [*ten, "cifar100n-noisy"]
    assert [column.key for column in paper.tables.tables(paper.tables.SCALES["mini"])["cifar-n"].columns] == ten[:2]
    batches = tmp_path / "cifar-100-python"
    batches.mkdir()
    for name in ("train", "test", "meta", "CIFAR-100_human.pt"):
        (batches / name).touch()
    assert of_paper[-1].places({"cifar10": str(tmp_path)}) is None
    assert of_paper[-1].places({"cifar100": str(tmp_path)}) == {
        "data.path": str(tmp_path),
        "data.labels": f"{batches}/CIFAR-100_human.pt:noisy_label",
        "data.true_labels": f"{batches}/CIFAR-100_human.pt:clean_label",
    }


def human_labels(paper: Paper, folder: Path) -> Any:
    return paper.tables.Column("cifar10n", "random1").places({"cifar10": str(folder)})


# runs


def test_two_stages_are_trained_kept_and_shared(
    paper: Paper, trained: list[str], photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--scale", "tiny", "--data", str(photos), "--seeds", "0", "--only", f"{COLUMN}-tcl"]
    paper.main(["--table", "plus", *asked])
    stages = [f"{COLUMN}-{name}-seed0" for name in ("tcl", "tcl-plus", "tcl-plus-relabelled")]
    assert trained == stages
    assert "3 cells, 0 known, 0 without data" in capsys.readouterr().out

    result = json.loads(paper.cell("tcl").file.read_text())
    for curve in ("test_accuracy", "detection_auroc", "detection_auroc_score", "detection_auroc_w"):
        assert len(result["curves"][curve]) == 2
    assert re.fullmatch("[0-9a-f]{12}(-dirty)?|", result["environment"]["commit"])
    assert {"knn_accuracy", "detection_auroc", "noise_rate_estimate"} <= result["summary"].keys()
    assert result["imbalance"].keys() == {"given", "trusted", "unflagged"}
    assert result["imbalance"]["given"] >= 1
    for file in paper.cells.RESULTS.rglob("*.json"):
        assert not [place for place in (photos, paper.cells.RUNS) if str(place) in file.read_text()]
    plus = json.loads(paper.cell("tcl+").file.read_text())
    assert (plus["after"], plus["summary"]["method"]) == (paper.cell("tcl").key, "mixup")
    kept = {path.name for path in paper.cell("tcl").run_folder.iterdir()}
    assert {"model.safetensors", "outputs.npz", "label_issues.csv"} <= kept
    assert "checkpoints" not in kept

    # another table finds the first stage; nothing is trained twice, nor rendered away
    paper.main(["--table", "ablation", "--figures", *asked])
    paper.main(["--table", "plus", *asked])
    assert trained == stages
    accuracy = f"{100 * result['summary']['test_accuracy_last5_mean']:.1f}"
    page = (paper.cells.RESULTS / "paper-tiny" / "ablation.md").read_text()
    assert f"| tcl | {accuracy} | 93.9 |  | 89.4 |" in page
    assert "| moco |  | 94.4 |  | 90.7 |" in page
    pictures = sorted(path.name for path in (paper.cells.RESULTS / "paper-tiny").rglob("*.png"))
    maps = [f"{name}-{COLUMN}.png" for name in ("posterior", "test-map", "training-map")]
    shown = re.findall(r"\]\((figures/.*?)\)", (paper.cells.RESULTS / "paper-tiny" / "figures.md").read_text())
    assert sorted(shown) == sorted(f"figures/{name}" for name in pictures if name not in ("ablation.png", "plus.png"))
    assert pictures == ["ablation.png", "accuracy-over-epochs.png", "imbalance.png", "plus.png", *maps]

    with pytest.raises(SystemExit, match="2"):
        paper.main(["--figures", "--scale", "tiny", "--data", str(photos / "nowhere")])
    assert "there is no file or folder" in capsys.readouterr().err

    # a result that is known but whose folder is gone: the second stage needs the folder
    paper.cell("tcl+").file.unlink()
    for name in ("tcl", "tcl+"):
        shutil.rmtree(paper.cell(name).run_folder)
    paper.main(["--table", "plus", *asked])
    assert trained == [*stages, *stages[:2]]
    assert json.loads(paper.cell("tcl+").file.read_text())["curves"] == plus["curves"]
    assert not list(paper.cells.RUNS.rglob("checkpoints"))


def test_the_second_stage_finds_data_that_were_moved(paper: Paper, photos: Path, tmp_path: Path) -> None:
    before, now = (shutil.copytree(photos, tmp_path / name) for name in ("before", "now"))
    paper.cells.run_cell(paper.cell("tcl", cifar10=str(before)))
    shutil.rmtree(before)
    assert paper.cells.run_cell(paper.cell("tcl+", cifar10=str(now)))["summary"]["method"] == "mixup"


def test_however_the_data_are_spelled_the_training_is_told_the_same(
    paper: Paper, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: set[str] = set()

    def train(config, output, **options):
        told.add(config.data.path)
        raise InputError("not here")

    monkeypatch.setattr(paper.cells, "train", train)
    monkeypatch.chdir(photos.parent)
    asked = ["--table", "plus", "--scale", "tiny", "--seeds", "0", "--only", f"{COLUMN}-tcl"]
    for spelled in (photos.name, f"./{photos.name}/", f"{photos.name}/../{photos.name}", str(photos)):
        with pytest.raises(SystemExit):
            paper.main([*asked, "--data", spelled])
    assert told == {str(photos.resolve())}


def test_a_finished_model_is_tested_on_other_data_too(paper: Paper, photos: Path) -> None:
    cell = replace(paper.cell("cross-entropy", cifar10=str(photos)), also_tested={"elsewhere": str(photos)})
    assert cell.key == paper.cell("cross-entropy").key
    result = paper.cells.run_cell(cell)
    assert result["also_tested"].keys() == {"elsewhere"}
    assert 0 <= result["also_tested"]["elsewhere"]["accuracy"] <= 1


def test_other_data_that_come_to_hand_later_are_tested_then(paper: Paper, trained: list[str], photos: Path) -> None:
    cell = paper.cell("cross-entropy", cifar10=str(photos))
    first = paper.cells.run_cell(cell)
    assert "also_tested" not in first
    later = paper.cells.run_cell(replace(cell, also_tested={"elsewhere": str(photos)}))
    assert later == first | {"also_tested": later["also_tested"]} == json.loads(cell.file.read_text())
    assert 0 <= later["also_tested"]["elsewhere"]["accuracy"] <= 1
    assert trained == [cell.name]
    cell.run_folder.rename(cell.run_folder.with_name("gone"))
    assert paper.cells.run_cell(replace(cell, also_tested={"another": str(photos)})) == later


def test_other_data_that_cannot_be_read_cost_no_training(paper: Paper, trained: list[str], photos: Path) -> None:
    cell = paper.cell("cross-entropy", cifar10=str(photos))
    with pytest.raises(InputError, match="could not begin or be tested"):
        paper.cells.run_cells([replace(cell, also_tested={"elsewhere": str(photos / "nowhere")})])
    first = json.loads(cell.file.read_text())
    assert not (cell.run_folder / "checkpoints").exists()
    later = paper.cells.run_cell(replace(cell, also_tested={"elsewhere": str(photos)}))
    assert later == first | {"also_tested": later["also_tested"]}
    assert trained == [cell.name]


def test_a_finished_run_is_trained_again_only_when_its_result_was_put_away(
    paper: Paper, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    def when_trained() -> int:
        return (cell.run_folder / "model.safetensors").stat().st_mtime_ns

    cell = paper.cell("tcl", cifar10=str(photos))
    with monkeypatch.context() as stopping:
        stopping.setattr(paper.cells, "_measured", stop)
        with pytest.raises(KeyboardInterrupt):
            paper.cells.run_cell(cell)
    finished = when_trained()
    assert not cell.file.exists()
    result = paper.cells.run_cell(cell)
    assert when_trained() == finished
    assert json.loads(cell.file.read_text()) == result
    assert result["imbalance"]["trusted"] is not None, "its checkpoint was still there"

    cell.file.unlink()
    again = paper.cells.run_cell(cell)
    assert when_trained() > finished
    assert again["curves"] == result["curves"]


def test_a_class_that_was_lost_is_not_left_out_of_the_ratio(paper: Paper) -> None:
    from benchmarks.over_seeds import spread
    from benchmarks.paper.measured import Measured

    kept = json.loads(json.dumps([paper.cells._ratio(value) for value in (1.3, math.inf)]))
    found = Measured("test_accuracy", [{"imbalance": {"trusted": value}} for value in [*kept, None]])
    assert found.said("trusted", "imbalance") == [1.3, math.inf]
    assert spread(found.said("trusted", "imbalance"), 2) == "∞ (1 of 2)"
    assert spread([math.inf], 2) == "∞"


def test_ilsvrc_is_another_test_of_what_webvision_taught(paper: Paper) -> None:
    from benchmarks.paper.measured import measured

    scale, at = paper.tables.SCALES["paper"], {"webvision": "web", "ilsvrc12": "val"}
    table = paper.tables.tables(scale)["webvision"]
    (cell,) = paper.tables.table_cells(scale, table, 0, at)
    assert (cell.preset, cell.places, cell.also_tested) == ("webvision", {"data.path": "web"}, {"ilsvrc12": "val"})
    cell.file.parent.mkdir(parents=True)
    curves = {"test_accuracy": [0.1, 0.5], "test_accuracy_top5": [0.6, 0.8]}
    also = {"ilsvrc12": {"accuracy": 0.4, "accuracy_top5": 0.7}}
    result = {"name": cell.name, "summary": {"seed": 0}, "curves": curves}
    cell.file.write_text(json.dumps(result | {"also_tested": also}))
    found = [measured(scale, table, table.rows[0], column).values for column in table.columns]
    assert [round(value[0]) for value in found] == [30, 70, 40, 70]
    cell.file.write_text(json.dumps(result))
    found = [measured(scale, table, table.rows[0], column).values for column in table.columns]
    assert [len(value) for value in found] == [1, 1, 0, 0], "it was not at hand"


def test_a_stopped_cell_goes_on_inside(
    paper: Paper, trained: list[str], photos: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from twincl.runs.listener import Silence

    class Stop(Silence):
        def epoch(self, record, epochs):
            raise KeyboardInterrupt

    cells = [paper.cell(name, cifar10=str(photos)) for name in ("cross-entropy", "tcl")]
    whole = paper.cells.run_cells(cells)
    monkeypatch.setattr(paper.cells, "RESULTS", tmp_path / "again")
    monkeypatch.setattr(paper.cells, "RUNS", tmp_path / "runs again")
    paper.cells.run_cells(cells[:1])
    counting = paper.cells.train
    monkeypatch.setattr(paper.cells, "train", lambda *given, **options: counting(*given, **options, listener=Stop()))
    with pytest.raises(KeyboardInterrupt):
        paper.cells.run_cells(cells)
    half = (cells[1].run_folder / "metrics.jsonl").read_text().splitlines()
    assert len(half) == 1
    assert not cells[1].file.exists()

    monkeypatch.setattr(paper.cells, "train", counting)
    begun = half[0]
    found = paper.cells.run_cells(cells)
    assert (cells[1].run_folder / "metrics.jsonl").read_text().splitlines()[0] == begun  # its seconds are the old ones
    assert {name: one["curves"] for name, one in found.items()} == {name: one["curves"] for name, one in whole.items()}
    assert [name.split("-seed")[0].removeprefix(f"{COLUMN}-") for name in trained[2:]] == [
        "cross-entropy",
        "tcl",
        "tcl",
    ]


def test_a_training_that_cannot_go_on_does_not_hold_up_the_others(
    paper: Paper, photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from twincl.errors import TrainingError

    real = paper.cells.train

    def train(config, output, **options):
        if config.method == "tcl":
            raise TrainingError("the loss became nan")
        return real(config, output, **options)

    monkeypatch.setattr(paper.cells, "train", train)
    cells = [paper.cell(name, cifar10=str(photos)) for name in ("tcl", "cross-entropy")]
    assert list(paper.cells.run_cells(cells)) == [cells[1].name]
    assert f"{cells[0].name}: the loss became nan" in capsys.readouterr().out


def test_a_training_that_cannot_begin_holds_up_neither_other_seeds_nor_the_tables(
    paper: Paper, photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(config, output, **options):
        raise InputError(f"seed {config.seed} is not liked")

    monkeypatch.setattr(paper.cells, "train", train)
    asked = ["--scale", "tiny", "--data", str(photos), "--only", f"{COLUMN}-tcl-seed", "--seeds", "0", "1"]
    with pytest.raises(SystemExit) as ended:
        paper.main(["--table", "plus", *asked])
    assert ended.value.code == 2
    said = capsys.readouterr()
    for seed in (0, 1):
        assert f"{COLUMN}-tcl-seed{seed}: seed {seed} is not liked" in said.out
        assert f"seed {seed}: 1 trainings could not begin" in said.err
    assert "Nothing of this table has been run here" in (paper.cells.RESULTS / "paper-tiny" / "plus.md").read_text()


def test_cells_without_data_are_left_out_and_said(paper: Paper, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        paper.main(["--table", "webvision", "--scale", "paper"])
    said = capsys.readouterr()
    assert "seed 2: 1 cells, 0 known, 1 without data" in said.out
    assert said.err == "no training of this table can be run: pass --webvision FOLDER\n"
    page = (paper.cells.RESULTS / "paper-paper" / "webvision.md").read_text()
    assert "Nothing of this table has been run here" in page
    assert "| tcl |  | 79.1 |  | 92.3 |" in page


def test_images_without_human_labels_are_no_success(
    paper: Paper, photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    human = {"data": frozenset({"cifar10n"}), "human": {"cifar10n": ("aggre",)}}
    monkeypatch.setitem(paper.tables.SCALES, "tiny", replace(paper.scale, **human))
    with pytest.raises(SystemExit, match="2"):
        paper.main(["--table", "cifar-n", "--scale", "tiny", "--seeds", "0", "--data", str(photos)])
    assert "there are no human labels beside the images" in capsys.readouterr().err


def test_known_results_are_success_without_data_and_only_new_ones_are_printed(
    paper: Paper, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--table", "plus", "--scale", "tiny", "--seeds", "0", "--only", f"{COLUMN}-tcl-seed"]
    paper.main([*asked, "--data", str(photos)])
    new = rf"^{COLUMN}-tcl-seed0: accuracy [01]\.\d{{4}}, AUROC [01]\.\d{{3}}, \d+ s$"
    assert re.search(new, capsys.readouterr().out, re.MULTILINE)
    paper.main(asked)
    said = capsys.readouterr().out
    assert "seed 0: 1 cells, 1 known, 0 without data" in said
    assert "accuracy" not in said


def test_no_page_is_written_of_a_table_of_which_nothing_was_asked(paper: Paper) -> None:
    with pytest.raises(SystemExit, match="2"):
        paper.main(["--table", "all", "--scale", "tiny", "--only", f"{COLUMN}-tcl-plus-seed"])
    assert [page.name for page in paper.cells.RESULTS.rglob("*.md")] == ["plus.md"]


def test_render_alone_writes_every_table_of_the_scale(paper: Paper) -> None:
    paper.main(["--render", "--scale", "tiny"])
    tables = paper.tables.tables(paper.scale).values()
    expected = {f"{table.name}.md" for table in tables if paper.tables.table_cells(paper.scale, table, 0)}
    assert {"cifar.md", "plus.md"} <= expected
    assert {page.name for page in paper.cells.RESULTS.rglob("*.md")} == expected


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard, as in a terminal; what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_says_to_go_on_with_the_same_command(
    paper: Paper, photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number, code
) -> None:
    from twincl.runs.listener import Silence

    class Stop(Silence):
        def step(self, step, steps):
            if step == 1:
                os.kill(os.getpid(), number)

    real = paper.cells.train
    monkeypatch.setattr(paper.cells, "train", lambda *given, **options: real(*given, **options, listener=Stop()))
    with pytest.raises(SystemExit) as ended:
        paper.main(["--table", "plus", "--scale", "tiny", "--data", str(photos), "--only", f"{COLUMN}-tcl-seed"])
    assert ended.value.code == code
    said = capsys.readouterr().err
    assert re.fullmatch(r"stopped after step \d of \d+ in epoch 1; go on with the same command\n", said)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("first_too", [False, True])
def test_after_a_stop_no_process_begins_another_training(
    paper: Paper,
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    first_too: bool,
) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()

    def run_cell(cell, threads, **options):
        (begun / cell.name).touch()
        if first_too:
            os.kill(os.getppid(), signal.SIGINT)
        time.sleep(1)
        raise Stopped("stopped after step 1 of 2 in epoch 1; all is saved", signal.SIGINT)

    monkeypatch.setattr(paper.cells, "run_cell", run_cell)
    monkeypatch.setattr(paper.cells, "get_context", lambda _: get_context("fork"))  # knows what was put in place
    with pytest.raises(SystemExit) as ended:
        paper.main(["--table", "plus", "--scale", "tiny", "--data", str(photos), "--processes", "2"])
    assert ended.value.code == 130
    assert re.fullmatch("stopped.*; go on with the same command\n", capsys.readouterr().err)
    assert 1 <= len(list(begun.iterdir())) <= 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--table", "all", "--cifar100", "here"], "mini does not train on cifar100; leave --cifar100 out"),
        (["--table", "plus", "--weights", "here"], "mini does not train on weights; leave --weights out"),
        (["--table", "clothing1m", "--scale", "paper", "--data", "here"], "weights of ResNet-50; give their file"),
        (["--table", "choices", "--scale", "paper"], "the scale paper has no table choices"),
        (["--table", "webvision"], "the scale mini has no data of the table webvision"),
        (["--table", "plus", "--only", "nothing"], "no training begins with 'nothing'"),
        (["--table", "plus", "--data", "nowhere"], "no file or folder at 'nowhere'; give --data the path"),
        (["--table", "plus", "--data", "digits"], "no file or folder at 'digits'"),
        (["--table", "cifar", "--scale", "paper", "--cifar100", "nowhere"], "give --cifar100 the path"),
        (["--table", "plus", "--processes", "0"], "--processes is 0; give 1 or more"),
        ([], "say what to do"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_trained(
    paper: Paper, capsys: pytest.CaptureFixture[str], asked: list[str], said: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        paper.main(asked)
    assert said in capsys.readouterr().err
    assert not paper.cells.RESULTS.exists()


def test_data_of_one_table_are_not_taken_for_cifar(paper: Paper) -> None:
    from argparse import Namespace

    from benchmarks.paper.__main__ import DATA, places

    given = dict.fromkeys(DATA) | {"data": "here"}
    assert {name for name, path in places(Namespace(table="webvision", **given)).items() if path} == {"webvision"}
    assert {name for name, path in places(Namespace(table="cifar", **given)).items() if path} == {"cifar10"}


def test_figures_show_every_row_that_has_been_run(paper: Paper) -> None:
    from benchmarks.paper.bars import hyper_bars
    from benchmarks.paper.curves import accuracy_curves, detector_curves
    from twincl.report.theme import LIGHT

    def known(table: str, variant: str, column: tuple[Any, ...], seed: int = 0) -> None:
        cell = paper.tables.cell(scale, table, variant, paper.tables.Column(*column), seed)
        curves = {"test_accuracy": [0.3, 0.4], "detection_auroc_score": [None, 0.8]}
        cell.file.parent.mkdir(parents=True, exist_ok=True)
        cell.file.write_text(json.dumps({"name": cell.name, "summary": {"seed": seed}, "curves": curves}))

    scale = paper.tables.SCALES["mini"]
    tables = paper.tables.tables(scale)
    assert detector_curves(scale, tables) is None
    fifty, ninety = ("cifar10", "symmetric", 50), ("cifar10", "symmetric", 90)
    for name in ("loss", "knn", "ood"):
        known("ablation", f"detector {name}", fifty)
    known("ablation", "detector ood", fifty, seed=1)
    known("ablation", "baseline", ninety)
    known("cifar", "tcl", ninety)
    drawn = drawing(detector_curves(scale, tables))
    assert [axes.get_title() for axes in drawn.axes] == ["CIFAR-10 symmetric 50 %"]
    lines = {line.get_label(): line for line in drawn.axes[0].lines}
    assert lines.keys() == {"detector loss", "detector knn", "detector ood"}
    assert [list(line.get_data()) for line in lines.values()] == [[[2], [0.8]]] * 3  # no E-step in the first epoch
    (axes,) = drawing(accuracy_curves(scale, tables)).axes
    assert [line.get_label() for line in axes.lines] == ["tcl", "baseline"]
    assert axes.lines[0].get_ydata() == pytest.approx([0.3, 0.4])

    assert hyper_bars(scale, tables["hyper"]) is None, "TCL itself is no sweep"
    known("hyper", "tau 0.1", ninety)
    of_tau, of_update = drawing(hyper_bars(scale, tables["hyper"])).axes
    assert [bar.get_height() for bar in of_tau.patches] == pytest.approx([35, 35])
    assert [label.get_text() for label in of_tau.get_xticklabels()] == ["0.1", "0.15", "0.2", "0.25", "0.3", "0.5"]
    assert [bar.get_height() for bar in of_update.patches] == pytest.approx([35])
    assert hyper_bars(scale, tables["hyper"]).png(LIGHT).startswith(b"\x89PNG")


def drawing(plot: Any) -> Any:
    """The plot's own figure, to look at what is on it."""
    from matplotlib.figure import Figure

    from twincl.report.theme import LIGHT

    figure = Figure()
    plot.draw(figure, LIGHT)
    return figure


def test_statistics_are_over_runs_first(paper: Paper) -> None:
    from benchmarks.paper.measured import Measured

    runs = [[0.9, *[0.5] * 4, 0.6], [0.1, *[0.3] * 5]]
    found = Measured("test_accuracy", [{"curves": {"test_accuracy": run}, "summary": {}} for run in runs])
    assert found.values == pytest.approx([52, 30])
    assert found.pooled == pytest.approx([50] * 4 + [60] + [30] * 5)
    assert found.best == pytest.approx([90, 30])


def test_pages_of_every_table_have_gaps_and_no_holes(paper: Paper) -> None:
    for scale in paper.tables.SCALES.values():
        for name, table in paper.tables.tables(scale).items():
            page = paper.render.render(scale, table)
            assert f"scale {scale.name}" in page.splitlines()[0]
            assert "has been run here" in page or "Not run at the scale" in page
            tables = [block.splitlines() for block in page.split("\n\n") if block.startswith("|")]
            assert all(len({line.count("|") for line in lines}) == 1 for lines in tables)
            assert tables or name not in paper.published.PUBLISHED


@pytest.mark.parametrize(("name", "encoder"), [("webvision", "ResNet-18"), ("clothing1m", "ResNet-50")])
def test_pages_say_what_their_own_preset_trains(paper: Paper, name: str, encoder: str) -> None:
    from twincl.config import build_config

    scale = paper.tables.SCALES["paper"]
    preset = build_config(preset=name, settings={})
    batches = preset.optim.steps_per_epoch
    page = paper.render.render(scale, paper.tables.tables(scale)[name])
    (ours,) = re.findall(r"\*\*Ours: (.*?)\*\*", page)
    assert preset.model.name == encoder.lower().replace("-", "")
    for words in (encoder, f"{preset.optim.epochs} epochs" + f" of {batches} batches" * bool(batches), f"`{name}`"):
        assert words in ours
    assert "PreAct" not in ours
    assert scale.words in paper.render.render(scale, paper.tables.tables(scale)["cifar"])


# docs/results.md


def test_the_document_says_what_the_results_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.paper import document, tables

    scale = tables.SCALES[document.SCALE]
    text = document.DOCUMENT.read_text()
    places = {match["name"] for match in document.PLACE.finditer(text)}
    assert places >= {"cifar", "plus", "ablation", "knn", "cifar-n"}
    assert document.fill(text, scale, tables.tables(scale)) == text, "python -m benchmarks.paper --table all --render"


def test_the_page_of_figures_leaves_out_none_that_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import cells
    from benchmarks.paper import document, figures, tables

    scale = tables.SCALES[document.SCALE]
    drawn = figures.from_results(scale, tables.tables(scale))
    shown = (cells.RESULTS / f"paper-{scale.name}" / "figures.md").read_text()
    missing = [name for name, plot in drawn.items() if plot and f"(figures/{name}.png)" not in shown]
    assert not missing, "python -m benchmarks.paper --figures"


def test_a_table_is_written_between_its_marks_and_nothing_else_is_touched(paper: Paper) -> None:
    from benchmarks.paper import document

    text = "before\n<!-- table plus of cifar10 -->\nold\n<!-- end of table -->\nbetween\n| a | b |\n"
    filled = document.fill(text, paper.scale, paper.tables.tables(paper.scale))
    assert filled.startswith("before\n<!-- table plus of cifar10 -->\n\n| row | symmetric 20 %: ours | paper |")
    assert filled.endswith("\n\n<!-- end of table -->\nbetween\n| a | b |\n")
    assert "old" not in filled
    assert "| tcl |  | 95.0 |" in filled
    assert "paper only" not in filled
    assert document.fill(filled, paper.scale, paper.tables.tables(paper.scale)) == filled
