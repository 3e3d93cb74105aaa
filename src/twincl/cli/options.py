"""The options of the commands, spelled as in timm, and what setting each one stands for."""

from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Image folder (class/x.jpg or train|test/class/x.jpg), CSV or TSV, parquet file or folder, .npz, "
        "CIFAR or IDX folder, or the word digits.",
    ),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished training.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Run folder to create.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...  [default: auto]")]
Seed = Annotated[int | None, typer.Option(help="Same seed, same numbers.  [default: 0]")]
ImageColumn = Annotated[str | None, typer.Option(help="Column with image paths, if not one of the usual names.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column with labels, if not one of the usual names.")]
LabelFile = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="FILE[:KEY]",
        help="Labels that replace those of DATA: npy, csv, parquet, txt, CIFAR-N .pt.",
    ),
]
NoiseType = Annotated[
    str | None, typer.Option("--noise", help="Simulate noise: symmetric, asymmetric, pair, matrix, instance.")
]
NoiseRate = Annotated[float | None, typer.Option(help="Share of labels to disturb, 0 to 1.")]
Split = Annotated[str | None, typer.Option(help="train, val or test.  [default: test where there is one]")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Any other setting; may be repeated."),
]

FLAGS = {  # flag of `twincl train` -> setting
    "method": "method",
    "seed": "seed",
    "device": "device",
    "amp": "amp",
    "test": "data.test",
    "labels": "data.labels",
    "true_labels": "data.true_labels",
    "image_column": "data.image_column",
    "label_column": "data.label_column",
    "img_size": "data.img_size",
    "workers": "data.workers",
    "noise": "noise.type",
    "noise_rate": "noise.rate",
    "model": "model.name",
    "augment": "augment.name",
    "epochs": "optim.epochs",
    "batch_size": "optim.batch_size",
    "lr": "optim.lr",
    "weight_decay": "optim.weight_decay",
}

AUTOMATIC = ("model", "augment")


def settings_of(flags: dict[str, Any]) -> dict[str, Any]:
    """The settings behind the flags that were given; `auto` leaves the choice to the run, whatever a file says."""
    given = {flag: value for flag, value in flags.items() if value is not None}
    return {FLAGS[flag]: None if flag in AUTOMATIC and value == "auto" else value for flag, value in given.items()}
