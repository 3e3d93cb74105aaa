"""A finished run read back from its folder: what every report, correction and export starts from."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from twincl.data.csv_text import unguarded
from twincl.errors import InputError
from twincl.results.folder import CONFIG, ISSUES, METRICS, SUMMARY
from twincl.results.model_file import DESCRIPTION
from twincl.results.outputs import load_outputs
from twincl.results.skipped import Skipped, read_skipped
from twincl.shapes import Shape, is_vector

NAMES = ("given_label", "predicted_label", "suggested_label")  # columns of class names
NUMBERS = ("label_quality", "clean_probability", "suggestion_confidence")
COLUMNS = ("index", "file_name", "is_label_issue", "split", *NAMES, *NUMBERS)


@dataclass(frozen=True)
class FinishedRun:
    """Everything that a training left behind but the weights; N samples in the order of the user's data."""

    folder: Path
    config: dict[str, Any]  # config.yaml, nested by section
    summary: dict[str, Any]
    metrics: list[dict[str, Any]]  # one an epoch
    classes: tuple[str, ...]
    shape: Shape  # of a sample: (C, H, W) of images, (D,) of feature vectors
    table: pd.DataFrame  # label_issues.csv in the order of the data; its text columns are str
    class_probabilities: NDArray[np.float32]  # (N, K)
    embeddings: NDArray[np.float32]  # (N, D) unit rows
    skipped: list[Skipped]  # images that could not be decoded

    @property
    def noun(self) -> str:
        """What to call one of the samples."""
        return "sample" if is_vector(self.shape) else "image"

    @property
    def ranked(self) -> pd.DataFrame:
        """The table with the most suspect label first; its index still counts in the order of the data."""
        return self.table.sort_values(["label_quality", "index"], kind="stable")

    def class_numbers(self, column: str) -> NDArray[np.int64]:
        """(N,) a column of class names as numbers."""
        number = {name: k for k, name in enumerate(self.classes)}
        return np.array([number[name] for name in self.table[column]], dtype=np.int64)


def load_run(folder: Path) -> FinishedRun:
    """Read a run folder; executes nothing.

    Raises:
        InputError: the folder holds no finished run, or one of its files is broken.
    """
    for name in (SUMMARY, ISSUES, DESCRIPTION):
        if not (folder / name).is_file():
            raise InputError(f"{folder} holds no finished run ({name} is missing); give the --output of a training")
    outputs = load_outputs(folder)
    try:
        config = yaml.safe_load((folder / CONFIG).read_text(encoding="utf-8"))
        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        metrics = [json.loads(line) for line in (folder / METRICS).read_text(encoding="utf-8").splitlines()]
        about = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        classes, shape = tuple(about["classes"]), tuple(about["shape"])
        table, skipped = _read_table(folder / ISSUES, classes), read_skipped(folder)
        if not isinstance(config, dict) or "path" not in config.get("data", ()):
            raise ValueError(f"{CONFIG} does not say where the data are")
    except InputError:
        raise
    except (OSError, ValueError, KeyError, yaml.YAMLError) as error:
        raise InputError(f"the run in {folder} cannot be read ({type(error).__name__}: {error})") from None
    if not np.array_equal(table["index"], outputs.rows):
        raise InputError(f"the files in {folder} are of different runs ({ISSUES} does not fit the rest)")
    said, embeddings = outputs.class_probabilities, outputs.embeddings
    return FinishedRun(folder, config, summary, metrics, classes, shape, table, said, embeddings, skipped)


def _read_table(path: Path, classes: tuple[str, ...]) -> pd.DataFrame:
    """The table as it was written; a spreadsheet that saved it may have changed it.

    Raises:
        InputError: a column is missing, or something else in it than it had.
    """
    table = pd.read_csv(
        path,
        dtype=dict.fromkeys(("file_name", "split", *NAMES), object),
        keep_default_na=False,  # a class may be called NA
        encoding_errors="surrogateescape",
    )
    table = unguarded(table)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise InputError(f"{path} has no column '{missing[0]}'; give it back its name, or train the run again")
    for name in NAMES:
        unknown = table.loc[~table[name].isin(classes), name]
        if len(unknown):
            raise InputError(f"{path} has '{unknown.iloc[0]}' as {name}, which is no class of the run; change it back")
    for name in (*NUMBERS, "index"):
        if not pd.api.types.is_numeric_dtype(table[name]):
            raise InputError(f"{path} has something else than numbers as {name}; change it back")
    return table.sort_values("index", ignore_index=True)
