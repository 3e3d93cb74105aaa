"""Commands that train, and that make noisy labels to train on."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twincl.cli import options as opt
from twincl.ranks import launched, launched_rank

if TYPE_CHECKING:
    from twincl.config import Config


@opt.takes_training_flags
def clean(
    context: typer.Context,
    data: opt.Data,
    output: opt.Output,
    preset: opt.Preset = None,
    config: opt.ConfigFile = None,
    relabel_above: opt.RelabelAbove = 0.8,
    drop_below: opt.DropBelow = 0.2,
    resume: opt.Resume = False,
    checkpoint_minutes: opt.CheckpointMinutes = 10.0,
    devices: opt.Devices = 1,
    force: opt.Force = False,
    set_: opt.Set = None,
    **flags: Any,
) -> None:
    """Find and fix the wrong labels of DATA.

    Trains on all of it and prints the worst labels. The folder --output then holds report.html to look at,
    label_issues.csv (every label, the most suspect first), corrected_labels.csv and the trained model. Nothing is held
    out unless --holdout asks for it, whatever a --config file says. Of data with splits train/ is learned from and
    judged; test/, or else val/, is only tested on. What you leave open depends on the data; config.yaml records it.

    \b
    Examples:
      twincl clean photos/ --output runs/photos
      twincl clean embeddings.npy --labels labels.csv --output runs/texts
      twincl clean table.csv --label-column category -o runs/mine --relabel-above 0.9
    """  # noqa: D301
    from twincl.cli.terminal import Terminal, issue_lines
    from twincl.runs.clean import clean as run

    flags = {"holdout": 0.0, **{flag: value for flag, value in flags.items() if value is not None}}
    settings = _config(data, preset, config, flags, set_)
    _start_ranks(devices, context)
    cleaned = run(
        settings,
        output,
        relabel_above=relabel_above,
        drop_below=drop_below,
        force=force,
        resume=resume,
        checkpoint_minutes=checkpoint_minutes,
        listener=Terminal(),
    )
    if cleaned is None:  # the first rank does and says the rest
        return
    print(f"\n{issue_lines(cleaned.worst)}\n{_summary_text(cleaned.summary)}")
    print(f"corrections        {', '.join(f'{count} {action}' for action, count in cleaned.actions.items())}")
    print(f"\nlook at            {output / 'report.html'}\ncorrected labels   {output / 'corrected_labels.csv'}")


@opt.takes_training_flags
def train(
    context: typer.Context,
    data: opt.Data,
    output: opt.Output,
    preset: opt.Preset = None,
    config: opt.ConfigFile = None,
    resume: opt.Resume = False,
    checkpoint_minutes: opt.CheckpointMinutes = 10.0,
    devices: opt.Devices = 1,
    force: opt.Force = False,
    set_: opt.Set = None,
    **flags: Any,
) -> None:
    """Train a classifier on DATA and judge its labels.

    The folder --output then holds label_issues.csv (the most suspect label first), the model, metrics and a summary.
    Without test data a fifth is held out for testing: its labels may be wrong, too, so the accuracy on it is a rough
    guide, and twincl evaluate on labels you trust a better one. What you leave open depends on the data; config.yaml
    records it.

    \b
    Examples:
      twincl train photos/ --output runs/photos
      twincl train table.csv --label-column category -o runs/mine --epochs 100
      twincl train cifar-10-batches-py --labels human.pt:worse_label -o runs/worse
      twincl train digits --noise symmetric --noise-rate 0.5 -o runs/digits
      twincl train photos/ -o runs/photos --devices 4
      torchrun --nproc-per-node 4 -m twincl train photos/ -o runs/photos
    """  # noqa: D301
    settings = _config(data, preset, config, flags, set_)
    _start_ranks(devices, context)
    _train(settings, output, force=force, resume=resume, checkpoint_minutes=checkpoint_minutes)


def finetune(
    context: typer.Context,
    run: opt.Run,
    output: opt.Output,
    data: Annotated[
        str | None, typer.Option(help="Where the data lie now, if no longer where they were trained on.")
    ] = None,
    relabel: Annotated[
        bool,
        typer.Option(
            "--relabel",
            help="Learn from all data, with another label where the run is sure of one.",
        ),
    ] = False,
    new_classifier: Annotated[bool, typer.Option("--new-classifier", help="Learn the classifier anew.")] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over what is learned from.")] = 70,
    resume: opt.Resume = False,
    checkpoint_minutes: opt.CheckpointMinutes = 10.0,
    devices: opt.Devices = 1,
    force: opt.Force = False,
    set_: opt.Set = None,
) -> None:
    """Train on from RUN with the labels it judges clean (TCL+).

    It learns with mixup, at a small rate, as the paper's second stage does, which it reports for noise up to 50 %.
    Clean is a label whose probability of being right, by the run's last E-step, is above finetune.threshold (0.5). The
    new folder holds all that a training leaves; every label is judged anew.

    \b
    Example:
      twincl finetune runs/photos --output runs/photos-plus
    """  # noqa: D301
    from twincl.config import parse_assignments
    from twincl.runs.finetune import finetune_config

    settings: dict[str, Any] = {"optim.epochs": epochs, "finetune.new_classifier": new_classifier}
    settings |= {"finetune.learn_from": "relabelled"} if relabel else {}
    settings |= {"data.path": data} if data else {}
    config = finetune_config(run, settings | parse_assignments(set_ or []))
    _start_ranks(devices, context)
    _train(config, output, force=force, resume=resume, checkpoint_minutes=checkpoint_minutes)


def _train(config: "Config", output: Path, *, force: bool, resume: bool, checkpoint_minutes: float) -> None:
    """Train, and let the first rank say what came of it."""
    from twincl.cli.terminal import Terminal
    from twincl.runs.train import train

    summary = train(
        config, output, force=force, resume=resume, checkpoint_minutes=checkpoint_minutes, listener=Terminal()
    )
    if launched_rank() == 0:
        print(f"\n{_summary_text(summary)}\n\nThe labels, the most suspect first: {output / 'label_issues.csv'}")


def _start_ranks(devices: int, context: typer.Context) -> None:
    """Where several devices are asked for, run the same command once on each and end as they end."""
    if devices > 1 and not launched():
        from twincl.cli.launch import launch

        sys.exit(launch(devices, context.obj))


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the two run folders.")] = Path("runs/demo"),
    noise_rate: Annotated[float, typer.Option(help="Share of labels redrawn at random.")] = 0.5,
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 30,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    resume: opt.Resume = False,
    force: opt.Force = False,
) -> None:
    """Try it on digits of which half the labels are redrawn.

    Trains TCL and, beside it, plain cross-entropy: about a minute on two CPU cores.
    """
    from twincl.cli.terminal import Terminal, table
    from twincl.runs.demo import demo as run

    rows = [("method", "test accuracy", "detection AUROC", "wrong labels: estimated", "actual", "seconds")]
    trained = run(
        output, noise_rate=noise_rate, epochs=epochs, seed=seed, force=force, resume=resume, listener=Terminal()
    )
    for summary in trained:
        auroc = summary["detection_auroc"]
        rows.append(
            (
                summary["method"],
                f"{summary['test_accuracy_last5_mean']:.2%}",
                "-" if auroc is None else f"{auroc:.4f}",
                f"{summary['noise_rate_estimate']:.1%}",
                f"{summary['noise_rate_actual']:.1%}",
                f"{summary['train_seconds']:.0f}",
            )
        )
    print(f"\n{table(rows)}\n\nTest accuracy is the mean of the last five epochs.\nThe labels, the most suspect first:")
    print(f"  {output / 'tcl' / 'label_issues.csv'}")


def noise(
    data: opt.Data,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: .csv (with the true labels beside) or .npy."),
    ],
    noise: Annotated[str, typer.Option("--noise", help=opt.NOISES)] = "symmetric",
    noise_rate: Annotated[float, typer.Option(help="Share of labels to disturb, 0 to 1.")] = 0.5,
    image_column: opt.ImageColumn = None,
    label_column: opt.LabelColumn = None,
    allow_outside: opt.AllowOutside = None,
    seed: opt.Seed = None,
    force: opt.Force = False,
    set_: opt.Set = None,
) -> None:
    """Write labels of DATA with simulated noise.

    Use it with: twincl train DATA --labels noisy.csv --true-labels noisy.csv:true_label
    """
    given = {"image_column": image_column, "label_column": label_column, "allow_outside": allow_outside, "seed": seed}

    from twincl.config import build_config, parse_assignments
    from twincl.runs.noise import write_noisy_labels

    settings = opt.settings_of({**given, "noise": noise, "noise_rate": noise_rate}) | {"data.path": data}
    config = build_config(settings=settings | parse_assignments(set_ or []))
    rate = write_noisy_labels(config, output, force=force)
    print(f"{output}: {rate:.1%} of the labels differ from those of {data}")


def _config(
    data: str, preset: str | None, file: Path | None, flags: dict[str, Any], assignments: list[str] | None
) -> "Config":
    from twincl.config import build_config, parse_assignments

    settings = opt.settings_of(flags) | {"data.path": data} | parse_assignments(assignments or [])
    return build_config(preset=preset, file=file, settings=settings)


def _summary_text(summary: dict[str, Any]) -> str:
    lines = []
    if summary["test_accuracy_last5_mean"] is not None:
        lines.append(
            f"test accuracy      {summary['test_accuracy_last5_mean']:.2%} "
            f"(mean of the last five epochs, ± {summary['test_accuracy_last5_std']:.2%})"
        )
    lines.append(
        f"wrong labels       {summary['noise_rate_estimate']:.1%} estimated"
        + (f", {summary['noise_rate_actual']:.1%} actual" if "noise_rate_actual" in summary else "")
        + f"; another label is suggested for {summary['num_label_issues']} of {summary['num_judged']}"
    )
    if summary.get("detection_auroc") is not None:
        lines.append(f"detection AUROC    {summary['detection_auroc']:.4f}")
    if "corrected_label_accuracy" in summary:
        lines.append(f"corrected labels   {summary['corrected_label_accuracy']:.2%} right")
    lines.append(f"time               {summary['train_seconds']:.0f} s, {summary['samples_per_second']:.0f} samples/s")
    return "\n".join(lines)
