"""The commands."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from twincl import __version__
from twincl.cli import options as opt

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
def train(
    data: opt.Data,
    output: opt.Output,
    method: Annotated[str | None, typer.Option(help="tcl or cross-entropy.  [default: tcl]")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="default, paper, official, official-4gpu, official-c100.  [default: default]"),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="YAML file with settings.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="small, preact_resnet18, resnet18, resnet50, timm:NAME.  [default: auto, by size and device]"
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data.  [default: 40]")] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", "-b", help="Images a step.  [default: by number of images]")
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Peak learning rate.  [default: by batch size]")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="On all parameters.  [default: 0.001]")] = None,
    img_size: Annotated[
        int | None,
        typer.Option(help="Side in pixels.  [default: as the images are, at most 64 on CPU, 224 on GPU]"),
    ] = None,
    augment: Annotated[
        str | None,
        typer.Option(help="natural (photos) or symbols (digits, text: no flips, gentle crops).  [default: natural]"),
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Test data; else the test split of DATA, else a fifth is held out.")
    ] = None,
    labels: opt.LabelFile = None,
    true_labels: Annotated[
        str | None,
        typer.Option(metavar="FILE[:KEY]", help="True labels, for evaluation only: npy in data order or CSV."),
    ] = None,
    noise: opt.NoiseType = None,
    noise_rate: opt.NoiseRate = None,
    image_column: opt.ImageColumn = None,
    label_column: opt.LabelColumn = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-j", help="Processes that decode images which do not fit in memory."),
    ] = None,
    seed: opt.Seed = None,
    device: opt.Device = None,
    amp: Annotated[
        bool | None,
        typer.Option("--amp/--no-amp", help="bfloat16 or float32.  [default: the faster, measured]"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on after the last finished epoch.")] = False,
    force: opt.Force = False,
    set_: opt.Set = None,
) -> None:
    """Train a classifier on DATA and judge every label of it.

    RUN then holds label_issues.csv (the most suspect label first), the model, metrics and a summary.

    \b
    Examples:
      twincl train photos/ --output runs/photos
      twincl train table.csv --label-column category -o runs/mine --epochs 100
      twincl train cifar-10-batches-py --labels human.pt:worse_label -o runs/worse
      twincl train digits --noise symmetric --noise-rate 0.5 -o runs/digits
    """  # noqa: D301
    given = opt.settings_of({flag: value for flag, value in locals().items() if flag in opt.FLAGS})

    from twincl.cli.terminal import Terminal
    from twincl.config import build_config, parse_assignments
    from twincl.runs.train import train as run

    settings = given | {"data.path": data} | parse_assignments(set_ or [])
    resolved = build_config(preset=preset, file=config, settings=settings)
    summary = run(resolved, output, force=force, resume=resume, listener=Terminal())
    print(_summary_text(summary, output))


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


def _summary_text(summary: dict[str, Any], output: Path) -> str:
    lines = [""]
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
    lines.append(f"\nThe labels, the most suspect first: {output / 'label_issues.csv'}")
    return "\n".join(lines)
