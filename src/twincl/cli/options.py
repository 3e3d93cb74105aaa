"""The options of the commands, spelled as in timm, and what setting each one stands for."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Image folder (class/x.jpg or train|val|test/class/x.jpg), CSV or TSV, parquet file or folder, .npz, "
        "folder of CIFAR, IDX, WebVision or Clothing1M, embeddings (.npy, .npz or parquet, one row each), folder with "
        "metadata.csv or .jsonl, or the word digits.",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        help="default (ours); paper (its text), official (released code), official-c100 (the same for CIFAR-100), "
        "official-4gpu (batch 1024): PreAct ResNet-18, 200 epochs; webvision, clothing1m (the paper's for these "
        "data).  [default: default]"
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="YAML file with settings, such as an edited copy of what twincl settings prints; flags win.",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the newest checkpoint; begin where there is none.")]
CheckpointMinutes = Annotated[
    float, typer.Option(min=0, help="Longest time between checkpoints; every epoch ends with one, too.")
]
Devices = Annotated[
    int, typer.Option(min=1, help="GPUs of this machine to train on, or processes where there is none.")
]
RelabelAbove = Annotated[
    float, typer.Option(min=0, max=1, help="Take a suggested label when it is this likely to be right.")
]
DropBelow = Annotated[
    float,
    typer.Option(min=0, max=1, help="Drop an issue that is not relabelled when its label is less likely than this."),
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished training.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Run folder to create.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run left there.")]
Device = Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:1 ...  [default: auto]")]
Seed = Annotated[int | None, typer.Option(help="Same seed, machine and threads: same numbers.  [default: 0]")]
ImageColumn = Annotated[
    str | None, typer.Option(help="Column with image paths.  [default: file_name, path, image or another usual name]")
]
LabelColumn = Annotated[
    str | None,
    typer.Option(help="Column with labels.  [default: label, class, target, category or another usual name]"),
]
AllowOutside = Annotated[
    bool | None, typer.Option("--allow-outside", help="Let a table name image files outside its own folder.")
]
LabelFile = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="FILE[:KEY]",
        help="Labels that replace those of DATA: npy, npz, csv, tsv, jsonl, parquet, txt, CIFAR-N .pt; KEY is a column "
        "or key.",
    ),
]
NOISES = (
    "symmetric (redrawn over all classes: 0.5 of ten makes 45 % wrong), asymmetric (CIFAR's usual confusions), pair "
    "(taken for the next class), matrix (--set noise.matrix=FILE), instance (by how the image looks)."
)
NoiseType = Annotated[
    str | None, typer.Option("--noise", help=f"For experiments: simulate noise on the training labels: {NOISES}")
]
NoiseRate = Annotated[
    float | None, typer.Option(help="Share of labels to disturb, 0 to 1; all noise but matrix needs it.")
]
Split = Annotated[
    str | None, typer.Option(help="train, val or test.  [default: test, else val, where there is one; else all]")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        help="Any other setting, such as --set tcl.tau=0.3 (twincl settings has them all); may be repeated.",
    ),
]

TRAINING: dict[str, tuple[str, Any]] = {  # flag of a training -> its setting, and how typer reads it
    "method": (
        "method",
        Annotated[
            str | None,
            typer.Option(help="tcl; only to compare: cross-entropy, mixup, baseline (of the paper).  [default: tcl]"),
        ],
    ),
    "contrast": (
        "tcl.contrast",
        Annotated[
            str | None,
            typer.Option(
                help="Images are contrasted with the batch (simclr) or a queue of 4,096 (moco).  [default: simclr]"
            ),
        ],
    ),
    "model": (
        "model.name",
        Annotated[
            str | None,
            typer.Option(
                help="small, preact_resnet18, resnet18, resnet50, timm:NAME; mlp for embeddings.  "
                "[default: auto, by size and device]"
            ),
        ],
    ),
    "epochs": (
        "optim.epochs",
        Annotated[int | None, typer.Option(help="Passes over the data.  [default: 40; embeddings 20, or 10 for many]")],
    ),
    "batch_size": (
        "optim.batch_size",
        Annotated[
            int | None, typer.Option("--batch-size", "-b", help="Samples a step.  [default: by number of samples]")
        ],
    ),
    "lr": (
        "optim.lr",
        Annotated[
            float | None,
            typer.Option(help="Peak learning rate.  [default: by batch size; of feature vectors twice that of images]"),
        ],
    ),
    "weight_decay": (
        "optim.weight_decay",
        Annotated[float | None, typer.Option(help="On all parameters.  [default: 0.001]")],
    ),
    "img_size": (
        "data.img_size",
        Annotated[
            int | None,
            typer.Option(
                help="Side in pixels.  [default: arrays and files up to 96 as they are, else 64 on CPU, 224 on GPU]"
            ),
        ],
    ),
    "augment": (
        "augment.name",
        Annotated[
            str | None,
            typer.Option(
                help="natural (photos), symbols (digits, text: no flips, gentle crops) or features (embeddings).  "
                "[default: by the data]"
            ),
        ],
    ),
    "test": (
        "data.test",
        Annotated[str | None, typer.Option(help="Test data; else the test split of DATA, else see --holdout.")],
    ),
    "holdout": (
        "data.holdout",
        Annotated[
            float | None,
            typer.Option(help="Share kept for testing, where there are no test data.  [default: train 0.2, clean 0]"),
        ],
    ),
    "labels": ("data.labels", LabelFile),
    "true_labels": (
        "data.true_labels",
        Annotated[
            str | None,
            typer.Option(metavar="FILE[:KEY]", help="True labels, for evaluation only: files as for --labels."),
        ],
    ),
    "noise": ("noise.type", NoiseType),
    "noise_rate": ("noise.rate", NoiseRate),
    "image_column": ("data.image_column", ImageColumn),
    "label_column": ("data.label_column", LabelColumn),
    "allow_outside": ("data.allow_outside", AllowOutside),
    "workers": (
        "data.workers",
        Annotated[
            int | None,
            typer.Option(
                "--workers",
                "-j",
                help="Processes that decode images which do not fit in memory, and threads that check all beforehand.  "
                "[default: by number of cores]",
            ),
        ],
    ),
    "seed": ("seed", Seed),
    "device": ("device", Device),
    "amp": (
        "amp",
        Annotated[
            bool | None,
            typer.Option(
                "--amp/--no-amp", help="bfloat16 or float32.  [default: the faster; with the paper's presets float32]"
            ),
        ],
    ),
}

AUTOMATIC = ("model", "augment")


def settings_of(flags: dict[str, Any]) -> dict[str, Any]:
    """The settings behind the flags that were given; `auto` leaves the choice to the run, whatever a file says."""
    given = {flag: value for flag, value in flags.items() if value is not None}
    return {
        TRAINING[flag][0]: None if flag in AUTOMATIC and value == "auto" else value for flag, value in given.items()
    }


def takes_training_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Put all flags of a training in the place of the command's `**flags`."""
    own = inspect.signature(command)
    keep = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, (_, annotation) in TRAINING.items()
    ]
    command.__signature__ = own.replace(parameters=[*keep, *flags])  # type: ignore[attr-defined]
    return command
