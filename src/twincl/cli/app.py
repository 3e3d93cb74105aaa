"""The program: its commands in the order of `twincl --help`, and those about twincl itself."""

from typing import Annotated

import typer

from twincl import __version__
from twincl.cli import trained, training

app = typer.Typer(
    name="twincl",
    help="Train image classifiers on labels nobody trusts; find and fix the wrong ones.",
    epilog="Start with: twincl demo. Then, on your own images: twincl clean photos/ --output runs/photos",
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


def settings(
    preset: Annotated[
        str, typer.Option(help="default, paper, official, official-4gpu, official-c100, webvision, clothing1m.")
    ] = "default",
) -> None:
    """Print every setting with its meaning.

    The YAML that is printed has the names for --set, and is a start for --config.

    \b
    Examples:
      twincl settings --preset paper
      twincl settings > my.yaml, and after editing: twincl train photos/ --config my.yaml -o runs/photos
    """  # noqa: D301
    from twincl.config import build_config, explained

    print(explained(build_config(preset=preset, settings={})), end="")


def doctor() -> None:
    """Show what this machine can do.

    That is versions, device, threads, precision and which extras work.
    """
    from twincl.runs.doctor import examine

    for name, value in examine().items():
        print(f"{name:<14}{value}")


COMMANDS = (
    training.demo,
    training.clean,
    trained.issues,
    trained.report,
    trained.correct,
    trained.export,
    training.train,
    training.finetune,
    trained.predict,
    trained.evaluate,
    trained.embed,
    training.noise,
    settings,
    doctor,
)
for command in COMMANDS:
    app.command()(command)
