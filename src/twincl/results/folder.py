"""The run folder: what is in it, how it comes to be, and that nothing in it is overwritten unasked."""

import csv
import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from twincl import __version__
from twincl.data.csv_text import guarded
from twincl.errors import InputError
from twincl.files import PARTIAL, atomic_path, remove_partial, write_json, write_text
from twincl.results.model_file import DESCRIPTION, WEIGHTS
from twincl.results.outputs import OUTPUTS
from twincl.training.checkpoint import remove_checkpoints

CONFIG, METRICS, SUMMARY = "config.yaml", "metrics.jsonl", "summary.json"
ISSUES, ENVIRONMENT, SKIPPED = "label_issues.csv", "environment.json", "skipped_images.csv"
CHECKPOINTS = "checkpoints"
CORRECTED, REPORT, FIGURES = "corrected_labels.csv", "report.html", "figures"
EVERYTHING = (
    CONFIG,
    METRICS,
    SUMMARY,
    ISSUES,
    OUTPUTS,
    CORRECTED,
    REPORT,
    ENVIRONMENT,
    SKIPPED,
    WEIGHTS,
    DESCRIPTION,
)


def check_output(folder: Path, *, force: bool, resume: bool) -> None:
    """Refuse a folder whose content would be lost; changes nothing.

    Raises:
        InputError: it is a file, or cannot be created; it holds a run and neither `force` nor `resume` was asked for,
            or both; it holds something that is not a run.
    """
    if force and resume:
        raise InputError("--resume goes on with a run and --force replaces it; pass one of them")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"the output {folder} is a file; choose a folder")
    above = next(path for path in (folder, *folder.parents) if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise InputError(f"the output folder {folder} cannot be written: {above} is no folder to write in")
    if not folder.exists() or all(path.name.startswith(PARTIAL) for path in folder.iterdir()):
        return
    if not _holds_run(folder):
        raise InputError(f"the folder {folder} holds other files and no run; choose a new folder for --output")
    if not force and not resume:
        raise InputError(f"the folder {folder} holds a run; pass --resume to go on with it or --force to replace it")


def _holds_run(folder: Path) -> bool:
    """Whether twincl wrote here: the first file of a run says so."""
    try:
        return "twincl" in json.loads((folder / ENVIRONMENT).read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def open_folder(folder: Path, *, anew: bool) -> None:
    """Create the folder, or for a run that begins `anew` remove the files of an earlier one (and no others).

    The configuration goes first, so that nothing can go on from what is half removed; the file by which a run is
    recognised goes last.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_partial(folder)
        if anew:
            (folder / CONFIG).unlink(missing_ok=True)
            remove_checkpoints(folder / CHECKPOINTS)
            for figure in (folder / FIGURES).glob("*.png"):
                figure.unlink()
            for name in (*(name for name in EVERYTHING if name != ENVIRONMENT), ENVIRONMENT):
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"the output folder {folder} cannot be written: {error.strerror}") from None


def write_metrics(folder: Path, history: list[dict[str, Any]]) -> None:
    """`metrics.jsonl`: one object an epoch."""
    lines = [json.dumps(record, allow_nan=False) for record in history]
    write_text(folder / METRICS, "".join(line + "\n" for line in lines))


def write_issues(folder: Path, table: pd.DataFrame) -> None:
    """`label_issues.csv`: one row a judged image, the most suspect first."""
    write_table(folder / ISSUES, table)


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV, every text quoted and guarded; file names of another encoding keep their bytes."""
    with atomic_path(path) as temporary:
        guarded(table).to_csv(temporary, index=False, quoting=csv.QUOTE_NONNUMERIC, errors="surrogateescape")


def environment(device: torch.device, amp: bool) -> dict[str, Any]:
    """What the run ran on: versions, machine, threads, date and command."""
    return {
        "twincl": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("torch", "numpy", "scikit-learn", "pandas", "pillow")},
        "platform": platform.platform(),
        "processor": processor_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else str(device),
        "amp": amp,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
    }


def write_environment(folder: Path, device: torch.device, amp: bool) -> None:
    """`environment.json`."""
    write_json(folder / ENVIRONMENT, environment(device, amp))


def processor_name() -> str:
    """The processor's name as the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
