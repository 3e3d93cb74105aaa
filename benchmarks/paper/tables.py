"""The tables: their rows, their columns, and the training behind each cell."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.paper.human_labels import HUMAN_LABELS, label_settings
from benchmarks.paper.variants import (
    LATER,
    MEASURED_CHOICES,
    TAUS,
    VARIANTS,
    ensemble_momentum,
    in_proportion,
    plus_epochs,
    updates,
)

TITLES = {
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "cifar10n": "CIFAR-10N",
    "cifar100n": "CIFAR-100N",
    "fashion": "Fashion-MNIST",
    "webvision": "WebVision (mini)",
    "ilsvrc12": "ILSVRC12",
    "clothing1m": "Clothing1M",
}
NOWHERE: Mapping[str, str | None] = {}


@dataclass(frozen=True)
class Scale:
    """How large the trainings are."""

    name: str
    preset: str  # of every row that names none
    epochs: int
    settings: dict[str, Any]
    words: str  # what that is, for headings
    data: frozenset[str]  # sets that are trained on at this scale
    human: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of those with human labels, which of these


SCALES = {
    "paper": Scale(
        "paper",
        "paper",
        200,
        {},
        "the paper's own scale, all training images, PreAct ResNet-18, 200 epochs, preset `paper`",
        frozenset({"cifar10", "cifar100", "cifar10n", "cifar100n", "webvision", "ilsvrc12", "clothing1m", "fashion"}),
        {data: tuple(labels.keys) for data, labels in HUMAN_LABELS.items()},
    ),
    "mini": Scale(
        "mini",
        "default",
        10,
        {
            "data.limit": 10_000,
            "model.name": "small",
            "augment.name": "natural",
            "optim.epochs": 10,
            "amp": False,
        },
        "a small scale, the first 10,000 training images, encoder `small`, 10 epochs, preset `default`",
        frozenset({"cifar10", "cifar10n", "fashion"}),
        {"cifar10n": ("aggre", "random1")},
    ),
}


@dataclass(frozen=True)
class Column:
    """One set of data with one noise, and what is measured there."""

    data: str
    noise: str = ""  # simulated, or the name of a set of human labels
    rate: int = 0  # %
    measure: str = "test_accuracy"
    part: str = ""  # which of several measures on the same training

    @property
    def key(self) -> str:
        """As in `published.py`."""
        return self._with_noise(self.data) + (f"-{self.part}" if self.part else "")

    @property
    def trained_on(self) -> str:
        """The data of the training; models of WebVision are also tested on ILSVRC12."""
        return "webvision" if self.data == "ilsvrc12" else self.data

    @property
    def images(self) -> str:
        """The data that the images of the training are read from."""
        return HUMAN_LABELS[self.data].images if self.data in HUMAN_LABELS else self.trained_on

    @property
    def training(self) -> str:
        """The part of a cell's name that says what it was trained on."""
        return self._with_noise(self.trained_on)

    def _with_noise(self, data: str) -> str:
        return data + (f"-{self.noise}{self.rate or ''}" if self.noise else "")

    @property
    def title(self) -> str:
        """For people."""
        words = [TITLES[self.data], self.noise, f"{self.rate} %" if self.rate else "", self.part]
        return " ".join(word for word in words if word)

    @property
    def settings(self) -> dict[str, Any]:
        """The noise; it is drawn by the seed of the run."""
        return {"noise.type": self.noise, "noise.rate": self.rate / 100} if self.rate else {}

    def places(self, at: Mapping[str, str | None]) -> dict[str, str] | None:
        """Settings that say where the data lie, by what is `at` hand; None where something is missing."""
        folder = at.get(self.images)
        if not folder or (self.data == "clothing1m" and not at.get("weights")):
            return None
        settings = {"data.path": folder}
        if self.data in HUMAN_LABELS:
            labels = label_settings(self.data, self.noise, Path(folder))
            if labels is None:
                return None
            settings |= labels
        if self.data == "clothing1m":
            settings["model.weights"] = str(at["weights"])
        return settings


@dataclass(frozen=True)
class Row:
    """One method: its name here and in the paper."""

    title: str
    paper: str | None = None
    same_as: str | None = None  # the variant that is trained, where it is not the one of this name

    @property
    def variant(self) -> str:
        """What is trained."""
        return self.same_as or self.title


@dataclass(frozen=True)
class Table:
    """What is trained, and how it is shown."""

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    words: str | None = None  # what the trainings are, for headings; None: what the scale says


def tables(scale: Scale) -> dict[str, Table]:
    """Every table by name; in columns of data that the scale does not have there are only the paper's numbers."""
    symmetric = (20, 50, 80, 90)
    ten = _columns("cifar10", symmetric, (40,))
    hundred = _columns("cifar100", symmetric)
    low = _columns("cifar10", (20, 50), (40,)) + _columns("cifar100", (20, 50))
    ablated = _columns("cifar10", (50, 90), (40,)) + _columns("cifar100", (50, 90))
    uneven = _columns("cifar10", (), (10, 20, 30, 40)) + _columns("cifar100", (), (10, 20, 30, 40))
    rows = [Row("cross-entropy", "Cross-Entropy"), Row("mixup", "Mixup"), _TCL]
    settings = [] if scale.preset == "paper" else [Row("tcl (paper settings)", "TCL")]
    settings += [Row("tcl (official settings)", "TCL")]
    found = [
        Table("cifar", "State of the art on simulated noise", (*rows, *settings), (*ten, *hundred)),
        Table("plus", "TCL+ under low noise", (_TCL, _PLUS, Row("tcl+ (relabelled)")), low),
        Table("ablation", "Ablation of TCL's parts", _ABLATION, ablated),
        Table("asymmetric", "Asymmetric noise", (_TCL, _PLUS), uneven),
        Table(
            "knn",
            "k-NN accuracy of the representations",
            (Row("tcl", "k-NN (ours)"), Row("unsupervised", "k-NN (unsup.)")),
            tuple(replace(column, measure="knn_accuracy") for column in (*ten, *hundred)),
        ),
        Table(
            "webvision",
            "Real noise: WebVision",
            (_TCL,),
            (
                Column("webvision", part="top1"),
                Column("webvision", measure="test_accuracy_top5", part="top5"),
                Column("ilsvrc12", measure="accuracy", part="top1"),
                Column("ilsvrc12", measure="accuracy_top5", part="top5"),
            ),
            "the paper's own scale, the first 50 classes, ResNet-18, 130 epochs, preset `webvision`",
        ),
        Table(
            "clothing1m",
            "Real noise: Clothing1M",
            (rows[0], _TCL),
            (Column("clothing1m"),),
            "the paper's own scale, ResNet-50 from ImageNet weights, 40 epochs of 256 batches, preset `clothing1m`",
        ),
        Table(
            "cifar-n",
            "Real noise: human labels of CIFAR (not in the paper)",
            (*rows, *settings, _PLUS),
            tuple(Column(data, name) for data, names in scale.human.items() for name in names),
        ),
        Table("hyper", "Hyper-parameters", _hyper_rows(scale.epochs), _columns("cifar10", (90,))),
        Table("fashion", "Fashion-MNIST (not in the paper)", tuple(rows), _columns("fashion", symmetric)),
    ]
    if scale.preset == "default":  # which is what each choice changes
        chosen = (_TCL, *(Row(name) for name in (*MEASURED_CHOICES, *LATER)))
        title = "Where paper and released code differ (not in the paper)"
        found.append(Table("choices", title, chosen, _columns("cifar10", (80, 90), (40,))))
    return {table.name: table for table in found}


_TCL = Row("tcl", "TCL")
_PLUS = Row("tcl+", "TCL+")
_ABLATION = (
    Row("baseline", "Baseline"),
    Row("detector loss", "Loss"),
    Row("detector knn", "k-NN"),
    Row("detector ood", "OOD"),
    Row("detector ood, noise model"),
    Row("temporal ensembling", "Ensem."),
    Row("tcl", "L_cross"),
    Row("without regulariser", "w/o L_reg"),
    Row("without marginal entropy"),
    Row("without mean entropy"),
    Row("without alignment", "w/o L_align"),
    Row("moco", "MoCo"),
)


def _hyper_rows(epochs: int) -> tuple[Row, ...]:
    """Values of both hyper-parameters; those that TCL has anyway are the training `tcl`."""
    names = [f"tau {tau:g}" for tau in TAUS] + [f"update every {count}" for count in updates(epochs)]
    return tuple(Row(name, same_as=None if name in VARIANTS else "tcl") for name in names)


def _columns(data: str, symmetric: Iterable[int], asymmetric: Iterable[int] = ()) -> tuple[Column, ...]:
    rates = [("symmetric", rate) for rate in symmetric] + [("asymmetric", rate) for rate in asymmetric]
    return tuple(Column(data, noise, rate) for noise, rate in rates)


def cell(
    scale: Scale, table: str, variant: str, column: Column, seed: int, at: Mapping[str, str | None] = NOWHERE
) -> Cell:
    """The training of a variant in a column; unless its data are `at` hand it can be found but not trained."""
    chosen = VARIANTS[variant]
    if not chosen.labels:
        column = Column(column.data)
    preset = chosen.preset or (column.trained_on if column.trained_on in ("webvision", "clothing1m") else scale.preset)
    settings = scale.settings | column.settings | in_proportion(preset, scale.epochs) | chosen.settings
    settings |= ensemble_momentum(variant, column.data, column.noise) | {"seed": seed}
    after = None
    if chosen.after:
        after = cell(scale, table, chosen.after, column, seed, at)
        precision = {key: value for key, value in scale.settings.items() if key == "amp"}
        settings = {"optim.epochs": plus_epochs(scale.epochs)} | precision | chosen.settings
    if preset == "official" and column.images == "cifar100":
        preset = "official-c100"
    return Cell(
        table=f"paper-{scale.name}/{table}",
        name=f"{column.training}-{_slug(variant)}-seed{seed}",
        settings=settings,
        preset=preset,
        places=column.places(at) or {},
        after=after,
        runs=f"paper/{scale.name}",
        also_tested={"ilsvrc12": other} if column.trained_on == "webvision" and (other := at.get("ilsvrc12")) else {},
    )


def table_cells(scale: Scale, table: Table, seed: int, at: Mapping[str, str | None] = NOWHERE) -> list[Cell]:
    """All trainings of a table with one seed, each once."""
    found = [
        cell(scale, table.name, row.variant, column, seed, at)
        for column in table.columns
        for row in table.rows
        if column.data in scale.data
    ]
    return list({one.key: one for one in found}.values())


def _slug(name: str) -> str:
    """`tcl (paper settings)` as `tcl-paper-settings`; the sign of TCL+ is a word."""
    return re.sub("[^a-z0-9.]+", "-", name.replace("+", "-plus").lower()).strip("-")
