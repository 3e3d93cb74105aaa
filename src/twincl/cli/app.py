"""The commands."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twincl import __version__
from twincl.cli import options as opt

if TYPE_CHECKING:
    from twincl.config import Config

app = typer.Typer(
    name="twincl",
    help="Train image classifiers on labels nobody trusts; find and fix the wrong ones.",
    epilog="Start with: twincl demo --output runs/demo",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"twincl {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Train image classifiers on labels nobody trusts; find and fix the wrong ones."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
@opt.takes_training_flags
def clean(
    data: opt.Data,
    output: opt.Output,
    preset: opt.Preset = None,
    config: opt.ConfigFile = None,
    relabel_above: opt.RelabelAbove = 0.8,
    drop_below: opt.DropBelow = 0.2,
    resume: opt.Resume = False,
    force: opt.Force = False,
    set_: opt.Set = None,
    **flags: Any,
) -> None:
    """Find and fix the wrong labels of DATA: train on all of it, then report, corrections and the worst labels.

    RUN then holds report.html to look at, label_issues.csv (every label, the most suspect first),
    corrected_labels.csv and the trained model. No label is held out unless --holdout or --test asks for it.

    \b
    Examples:
      twincl clean photos/ --output runs/photos
      twincl clean embeddings.npy --labels labels.csv --output runs/texts
      twincl clean table.csv --label-column category -o runs/mine --relabel-above 0.9
    """  # noqa: D301
    from twincl.cli.terminal import Terminal, issue_lines
    from twincl.runs.clean import clean as run

    flags = {"holdout": 0.0, **{flag: value for flag, value in flags.items() if value is not None}}
    cleaned = run(
        _config(data, preset, config, flags, set_),
        output,
        relabel_above=relabel_above,
        drop_below=drop_below,
        force=force,
        resume=resume,
        listener=Terminal(),
    )
    print(f"\n{issue_lines(cleaned.worst)}\n{_summary_text(cleaned.summary)}")
    print(f"corrections        {', '.join(f'{count} {action}' for action, count in cleaned.actions.items())}")
    print(f"\nlook at            {output / 'report.html'}\ncorrected labels   {output / 'corrected_labels.csv'}")


@app.command()
@opt.takes_training_flags
def train(
    data: opt.Data,
    output: opt.Output,
    preset: opt.Preset = None,
    config: opt.ConfigFile = None,
    resume: opt.Resume = False,
    force: opt.Force = False,
    set_: opt.Set = None,
    **flags: Any,
) -> None:
    """Train a classifier on DATA and judge every label of it.

    RUN then holds label_issues.csv (the most suspect label first), the model, metrics and a summary.
    Without test data a fifth is held out for testing.

    \b
    Examples:
      twincl train photos/ --output runs/photos
      twincl train table.csv --label-column category -o runs/mine --epochs 100
      twincl train cifar-10-batches-py --labels human.pt:worse_label -o runs/worse
      twincl train digits --noise symmetric --noise-rate 0.5 -o runs/digits
    """  # noqa: D301
    from twincl.cli.terminal import Terminal
    from twincl.runs.train import train as run

    summary = run(_config(data, preset, config, flags, set_), output, force=force, resume=resume, listener=Terminal())
    print(f"\n{_summary_text(summary)}\n\nThe labels, the most suspect first: {output / 'label_issues.csv'}")


def _config(
    data: str, preset: str | None, file: Path | None, flags: dict[str, Any], assignments: list[str] | None
) -> "Config":
    from twincl.config import build_config, parse_assignments

    settings = opt.settings_of(flags) | {"data.path": data} | parse_assignments(assignments or [])
    return build_config(preset=preset, file=file, settings=settings)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the two run folders.")] = Path("runs/demo"),
    noise_rate: Annotated[float, typer.Option(help="Share of labels redrawn at random.")] = 0.5,
    epochs: Annotated[int, typer.Option(help="Passes over the data.")] = 30,
    seed: Annotated[int, typer.Option(help="Same seed, same numbers.")] = 0,
    force: opt.Force = False,
) -> None:
    """Learn digits from labels of which half are wrong: TCL beside plain cross-entropy, about a minute on a CPU."""
    from twincl.cli.terminal import Terminal, table
    from twincl.runs.demo import demo as run

    rows = [("method", "test accuracy", "detection AUROC", "wrong labels: estimated", "actual", "seconds")]
    for summary in run(output, noise_rate=noise_rate, epochs=epochs, seed=seed, force=force, listener=Terminal()):
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


@app.command()
def noise(
    data: opt.Data,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write: .csv (with the true labels beside) or .npy."),
    ],
    noise: Annotated[str, typer.Option("--noise", help="symmetric, asymmetric, pair, matrix, instance.")] = "symmetric",
    noise_rate: Annotated[float, typer.Option(help="Share of labels to disturb, 0 to 1.")] = 0.5,
    image_column: opt.ImageColumn = None,
    label_column: opt.LabelColumn = None,
    seed: opt.Seed = None,
    force: opt.Force = False,
    set_: opt.Set = None,
) -> None:
    """Write a copy of DATA's training labels with simulated noise.

    Use it with: twincl train DATA --labels noisy.csv --true-labels noisy.csv:true_label
    """
    given = {"image_column": image_column, "label_column": label_column, "seed": seed}

    from twincl.config import build_config, parse_assignments
    from twincl.runs.noise import write_noisy_labels

    settings = opt.settings_of({**given, "noise": noise, "noise_rate": noise_rate}) | {"data.path": data}
    config = build_config(settings=settings | parse_assignments(set_ or []))
    rate = write_noisy_labels(config, output, force=force)
    print(f"{output}: {rate:.1%} of the labels differ from those of {data}")


@app.command()
def evaluate(
    run: opt.Run,
    data: opt.Data,
    split: opt.Split = None,
    labels: opt.LabelFile = None,
    image_column: opt.ImageColumn = None,
    label_column: opt.LabelColumn = None,
    device: opt.Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Accuracy of a trained RUN on labelled DATA, in all and for each class."""
    from twincl.cli.terminal import Terminal, table
    from twincl.runs.predict import evaluate as measure

    result = measure(
        run,
        data,
        split=split,
        labels=labels,
        image_column=image_column,
        label_column=label_column,
        device=device or "auto",
        progress=Terminal().progress,
    )
    if as_json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
        return
    print(f"accuracy {result['accuracy']:.2%} on {result['num_images']} images\n")
    classes = [(name, f"{one['accuracy']:.2%}", str(one["num_images"])) for name, one in result["per_class"].items()]
    print(table([("class", "accuracy", "images"), *classes]))
    if result["num_skipped"]:
        typer.echo(f"{result['num_skipped']} images could not be decoded and were left out", err=True)


@app.command()
def predict(
    run: opt.Run,
    data: opt.Data,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV file to write.  [default: print]")] = None,
    split: opt.Split = None,
    image_column: opt.ImageColumn = None,
    device: opt.Device = None,
    force: opt.Force = False,
) -> None:
    """Label DATA with a trained RUN: CSV with file, predicted_label, confidence."""
    from twincl.cli.terminal import Terminal
    from twincl.files import refuse_existing, write_text
    from twincl.runs.predict import predict as run_model

    if output is not None:
        refuse_existing(output, force=force)
    table, broken = run_model(
        run,
        data,
        split=split,
        image_column=image_column,
        device=device or "auto",
        progress=Terminal().progress,
    )
    text = table.to_csv(index=False)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
        print(f"{output}: {len(table)} images")
    for name, reason in broken:
        typer.echo(f"left out: {name} ({reason})", err=True)


@app.command()
def embed(
    data: opt.Data,
    model: Annotated[
        str, typer.Option(help="timm:NAME with its pretrained weights, or resnet18 or resnet50 with --weights.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Parquet file to write.")],
    weights: Annotated[Path | None, typer.Option(help="Local file of ImageNet weights.")] = None,
    labels: opt.LabelFile = None,
    img_size: Annotated[int, typer.Option(min=16, max=1024, help="Side in pixels.")] = 224,
    batch_size: Annotated[int, typer.Option("--batch-size", "-b", min=1, help="Images a pass.")] = 64,
    device: opt.Device = None,
    force: opt.Force = False,
) -> None:
    """Turn the images of DATA into feature vectors of a pretrained network.

    Then: twincl clean embeddings.parquet --output RUN, which takes minutes where images take hours.
    """
    from twincl.cli.terminal import Terminal
    from twincl.runs.embed import embed as run

    count = run(
        data,
        model,
        output,
        weights=weights,
        labels=labels,
        img_size=img_size,
        batch_size=batch_size,
        device=device or "auto",
        force=force,
        progress=Terminal().progress,
    )
    print(f"{output}: {count} images")


@app.command()
def issues(
    run: opt.Run,
    top: Annotated[int, typer.Option(min=1, help="So many of the worst.")] = 20,
    class_: Annotated[str | None, typer.Option("--class", help="Only images with this given label.")] = None,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="Only suggestions at least this likely to be right.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the worst labels of a finished RUN: the file, its label, what it should be, how sure that is."""
    from twincl.cli.terminal import issue_lines
    from twincl.runs.issues import worst_labels

    table = worst_labels(run, top=top, given_label=class_, min_confidence=min_confidence)
    if as_json:
        print(table.to_json(orient="records", indent=2, force_ascii=True))
    else:
        print(issue_lines(table))


@app.command()
def report(run: opt.Run, force: opt.Force = False) -> None:
    """Write RUN/report.html (one file, works offline) and the figures in it as PNG files."""
    from twincl.cli.terminal import Terminal
    from twincl.runs.report import write_report

    print(write_report(run, force=force, progress=Terminal().progress))


@app.command()
def correct(
    run: opt.Run,
    relabel_above: opt.RelabelAbove = 0.8,
    drop_below: opt.DropBelow = 0.2,
    force: opt.Force = False,
) -> None:
    """Write RUN/corrected_labels.csv: file, given, corrected, action (keep, relabel, drop), confidence.

    A label that is no issue is kept. An issue is relabelled where the suggestion is at least --relabel-above likely
    to be right; otherwise dropped where the given label is less than --drop-below likely to be right; otherwise kept.
    """
    from twincl.results.corrections import Policy
    from twincl.runs.corrections import write_corrections

    actions = write_corrections(run, Policy(relabel_above, drop_below), force=force)
    print(f"{run / 'corrected_labels.csv'}: {', '.join(f'{count} {action}' for action, count in actions.items())}")


@app.command()
def export(
    run: opt.Run,
    output: Annotated[Path, typer.Option("--output", "-o", help="File or new folder to write.")],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="Labels: csv, parquet, imagefolder, labelstudio, fiftyone, cleanlab. Model: onnx, torch-export, "
            "safetensors.",
        ),
    ],
    relabel_above: Annotated[float | None, typer.Option(help="As in correct.  [default: 0.8]")] = None,
    drop_below: Annotated[float | None, typer.Option(help="As in correct.  [default: 0.2]")] = None,
    data: Annotated[
        str | None, typer.Option(help="Where the data lie now, if no longer where they were trained on.")
    ] = None,
    link: Annotated[bool, typer.Option("--link", help="imagefolder: hard links instead of copies.")] = False,
    image_prefix: Annotated[
        str | None, typer.Option(help="labelstudio: what to put before each file name, such as a URL.")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Write the corrected data set, or the trained model, of a finished RUN for another tool.

    Corrections follow the policy of `twincl correct`. The original data are never touched.

    \b
    Examples:
      twincl export runs/photos --format imagefolder --output photos-clean --link
      twincl export runs/photos --format labelstudio --output tasks
      twincl export runs/photos --format onnx --output model.onnx
    """  # noqa: D301
    from twincl.results.corrections import Policy
    from twincl.runs.export import export as write

    asked = {"relabel_above": relabel_above, "drop_below": drop_below}
    given = {name: value for name, value in asked.items() if value is not None}
    policy = Policy(**given) if given else None
    print(write(run, format_, output, policy=policy, data=data, link=link, image_prefix=image_prefix, force=force))


@app.command()
def settings(
    preset: Annotated[str, typer.Option(help="default, paper, official, official-4gpu, official-c100.")] = "default",
) -> None:
    """Print every setting of a preset as YAML: the names for --set, and a start for --config."""
    from twincl.config import build_config, to_yaml

    print(to_yaml(build_config(preset=preset, settings={})), end="")


@app.command()
def doctor() -> None:
    """Show versions, device, threads, precision and which extras work."""
    from twincl.runs.doctor import examine

    for name, value in examine().items():
        print(f"{name:<14}{value}")


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
        + f"; {summary['num_label_issues']} of {summary['num_train']} images have another label suggested"
    )
    if summary.get("detection_auroc") is not None:
        lines.append(f"detection AUROC    {summary['detection_auroc']:.4f}")
    if "corrected_label_accuracy" in summary:
        lines.append(f"corrected labels   {summary['corrected_label_accuracy']:.2%} right")
    lines.append(f"time               {summary['train_seconds']:.0f} s, {summary['samples_per_second']:.0f} images/s")
    return "\n".join(lines)
