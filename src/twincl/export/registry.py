"""The formats by name."""

from collections.abc import Callable
from dataclasses import dataclass

from twincl.errors import InputError, nearest
from twincl.export import (
    cleanlab,
    csv_table,
    fiftyone,
    imagefolder,
    labelstudio,
    onnx_model,
    parquet_table,
    safetensors_model,
    torch_export,
)


@dataclass(frozen=True)
class Format:
    """One way to write a run: `write(run, output, **options)`, which returns a sentence about what it wrote."""

    description: str  # one line, for people
    write: Callable[..., str]
    suffix: str = ""  # of the file that is written; none for a folder
    options: tuple[str, ...] = ()  # which of policy, data, link, image_prefix, skipped `write` takes


FORMATS: dict[str, Format] = {
    "csv": Format(
        "corrected labels as a table, for twincl --labels and spreadsheets",
        csv_table.write,
        ".csv",
        ("policy", "skipped"),
    ),
    "parquet": Format(
        "the same table, typed, for pandas, DuckDB and the like", parquet_table.write, ".parquet", ("policy", "skipped")
    ),
    "imagefolder": Format(
        "a new folder of images, one folder a class, by corrected label",
        imagefolder.write,
        options=("policy", "data", "link"),
    ),
    "labelstudio": Format(
        "tasks with predictions for Label Studio, the most suspect first",
        labelstudio.write,
        options=("data", "image_prefix"),
    ),
    "fiftyone": Format("a data set to look at in FiftyOne", fiftyone.write, options=("policy", "data")),
    "cleanlab": Format("labels, probabilities and embeddings as arrays for cleanlab", cleanlab.write),
    "onnx": Format("the model for ONNX runtimes, normalisation inside", onnx_model.write, ".onnx"),
    "torch-export": Format("the model for PyTorch without twincl, normalisation inside", torch_export.write, ".pt2"),
    "safetensors": Format("the model's weights and description, for twincl", safetensors_model.write),
}


def find_format(name: str) -> Format:
    """The format called `name`; InputError lists the others."""
    if name not in FORMATS:
        raise InputError(f"unknown format '{name}': {nearest(name, list(FORMATS))}")
    return FORMATS[name]
