"""Commands that start from what is trained already: a finished run, or the pretrained network of `embed`."""

import csv
import json
from pathlib import Path
from typing import Annotated

import typer

from twincl.cli import options as opt
from twincl.cli.printable import printable


def evaluate(
    run: opt.Run,
    data: opt.Data,
    split: opt.Split = None,
    labels: opt.LabelFile = None,
    image_column: opt.ImageColumn = None,
    label_column: opt.LabelColumn = None,
    allow_outside: opt.AllowOutside = None,
    device: opt.Device = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Measure RUN on labels you trust.

    Prints the accuracy overall and for each class.

    Example: twincl evaluate runs/photos trusted_photos/
    """
    from twincl.cli.terminal import Terminal, shortened, table
    from twincl.runs.predict import evaluate as measure

    result = measure(
        run,
        data,
        split=split,
        labels=labels,
        image_column=image_column,
        label_column=label_column,
        allow_outside=bool(allow_outside),
        device=device or "auto",
        progress=Terminal().progress,
    )
    if as_json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
        return
    among_five = f", {result['accuracy_top5']:.2%} among the first five" if "accuracy_top5" in result else ""
    print(f"accuracy {result['accuracy']:.2%}{among_five} on {result['num_images']} samples\n")
    classes = [
        (shortened(name, 48), f"{one['accuracy']:.2%}", str(one["num_images"]))
        for name, one in result["per_class"].items()
    ]
    print(table([("class", "accuracy", "samples"), *classes]))
    if result["num_skipped"]:
        typer.echo(f"{result['num_skipped']} images could not be decoded and were left out", err=True)


def predict(
    run: opt.Run,
    data: opt.Data,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV file to write.  [default: print]")] = None,
    split: opt.Split = None,
    image_column: opt.ImageColumn = None,
    allow_outside: opt.AllowOutside = None,
    device: opt.Device = None,
    force: opt.Force = False,
) -> None:
    """Label new images with RUN.

    The result is a CSV table with file, predicted_label, confidence.

    Example: twincl predict runs/photos new_photos/ --output labels.csv
    """
    from twincl.cli.terminal import Terminal
    from twincl.data.csv_text import guarded
    from twincl.files import refuse_existing, write_text
    from twincl.runs.predict import predict as run_model

    if output is not None:
        refuse_existing(output, force=force)
    table, broken = run_model(
        run,
        data,
        split=split,
        image_column=image_column,
        allow_outside=bool(allow_outside),
        device=device or "auto",
        progress=Terminal().progress,
    )
    text = guarded(table).to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
        print(f"{output}: {len(table)} samples")
    for name, reason in broken:
        typer.echo(printable(f"left out: {name} ({reason})"), err=True)


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
    allow_outside: opt.AllowOutside = None,
    device: opt.Device = None,
    force: opt.Force = False,
) -> None:
    """Turn images into vectors of a pretrained network.

    Of data with splits those of the training split. Learning from the vectors is much quicker than from images, and
    starts from what the network knows already.

    \b
    Examples:
      twincl embed photos/ --model timm:resnet50 --output photos.parquet
      twincl embed photos/ --model resnet50 --weights resnet50.pth --output photos.parquet
      twincl clean photos.parquet --output runs/photos
    """  # noqa: D301
    from twincl.cli.terminal import Terminal
    from twincl.runs.embed import embed as run

    count, broken = run(
        data,
        model,
        output,
        weights=weights,
        labels=labels,
        img_size=img_size,
        batch_size=batch_size,
        allow_outside=bool(allow_outside),
        device=device or "auto",
        force=force,
        progress=Terminal().progress,
    )
    print(f"{output}: {count} images")
    for name, reason in broken:
        typer.echo(printable(f"left out: {name} ({reason})"), err=True)


def issues(
    run: opt.Run,
    top: Annotated[int, typer.Option(min=1, help="So many of the worst.")] = 20,
    class_: Annotated[str | None, typer.Option("--class", help="Only those with this given label.")] = None,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="Only suggestions at least this likely to be right.")
    ] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the worst labels of RUN.

    Of each the file, its label, what it should be, and how sure that is.

    Example: twincl issues runs/photos --class cat --min-confidence 0.9
    """
    from twincl.cli.terminal import issue_lines
    from twincl.runs.issues import worst_labels

    table = worst_labels(run, top=top, given_label=class_, min_confidence=min_confidence)
    if as_json:
        print(table.to_json(orient="records", indent=2, force_ascii=True))
    else:
        print(issue_lines(table))


def report(run: opt.Run, force: opt.Force = False) -> None:
    """Write report.html and its figures again.

    The page RUN/report.html is one file that works offline; its figures are in RUN/figures as PNG, too.
    """
    from twincl.cli.terminal import Terminal
    from twincl.runs.report import write_report

    print(write_report(run, force=force, progress=Terminal().progress))


def correct(
    run: opt.Run,
    relabel_above: opt.RelabelAbove = 0.8,
    drop_below: opt.DropBelow = 0.2,
    force: opt.Force = False,
) -> None:
    """Write corrected_labels.csv by limits of your own.

    Its columns are file, given, corrected, action (keep, relabel, drop) and confidence.
    A label that is no issue is kept. An issue is relabelled where the suggestion is at least --relabel-above likely
    to be right; otherwise dropped where the given label is less than --drop-below likely to be right; otherwise kept.

    Example: twincl correct runs/photos --relabel-above 0.95 --force
    """
    from twincl.results.corrections import Policy
    from twincl.runs.corrections import write_corrections

    actions = write_corrections(run, Policy(relabel_above, drop_below), force=force)
    print(f"{run / 'corrected_labels.csv'}: {', '.join(f'{count} {action}' for action, count in actions.items())}")


def export(
    run: opt.Run,
    output: Annotated[Path, typer.Option("--output", "-o", help="File or new folder to write.")],
    format_: Annotated[str, typer.Option("--format", "-f", help="One of the formats above.")],
    relabel_above: Annotated[
        float | None, typer.Option(help="Take a suggested label this likely to be right.  [default: 0.8]")
    ] = None,
    drop_below: Annotated[
        float | None, typer.Option(help="Drop other issues whose label is less likely.  [default: 0.2]")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Where the data lie now, if no longer where they were trained on.")
    ] = None,
    link: Annotated[
        bool,
        typer.Option("--link", help="imagefolder: hard links instead of copies; who edits one edits the original."),
    ] = False,
    image_prefix: Annotated[
        str | None, typer.Option(help="labelstudio: what to put before each file name, such as a URL.")
    ] = None,
    force: opt.Force = False,
) -> None:
    """Write corrected data, or the model, for other tools.

    Labels are corrected by the rule of `twincl correct` with the thresholds given here: RUN/corrected_labels.csv is not
    read, so repeat them if you chose others there. The original data are never touched.

    \b
    Labels:
      csv           corrected labels as a table, for twincl --labels and spreadsheets
      parquet       the same table, typed, for pandas, DuckDB and the like
      imagefolder   a new folder of images, one folder a class, by corrected label
      labelstudio   tasks with predictions for Label Studio, the most suspect first
      fiftyone      a data set to look at in FiftyOne
      cleanlab      labels, probabilities and embeddings as arrays for cleanlab
    \b
    Model:
      onnx          for ONNX runtimes, normalisation inside
      torch-export  for PyTorch without twincl, normalisation inside
      safetensors   weights and description, for twincl

    \b
    Examples:
      twincl export runs/photos --format imagefolder --output photos-clean --relabel-above 0.95
      twincl export runs/photos --format labelstudio --output tasks
      twincl export runs/photos --format onnx --output model.onnx
    """  # noqa: D301
    from twincl.results.corrections import Policy
    from twincl.runs.export import export as write

    asked = {"relabel_above": relabel_above, "drop_below": drop_below}
    given = {name: value for name, value in asked.items() if value is not None}
    policy = Policy(**given) if given else None
    print(write(run, format_, output, policy=policy, data=data, link=link, image_prefix=image_prefix, force=force))
