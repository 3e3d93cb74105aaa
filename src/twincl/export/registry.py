"""The formats by name."""

from collections.abc import Callable
from dataclasses import dataclass

from twincl.errors import InputError, did_you_mean
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

    write: Callable[..., str]
    suffix: str = ""  # of the file that is written; none for a folder
    options: tuple[str, ...] = ()  # which of policy, data, link, image_prefix `write` takes


FORMATS: dict[str, Format] = {
    "csv": Format(csv_table.write, ".csv", ("policy",)),
    "parquet": Format(parquet_table.write, ".parquet", ("policy",)),
    "imagefolder": Format(imagefolder.write, options=("policy", "data", "link")),
    "labelstudio": Format(labelstudio.write, options=("data", "image_prefix")),
    "fiftyone": Format(fiftyone.write, options=("policy", "data")),
    "cleanlab": Format(cleanlab.write),
    "onnx": Format(onnx_model.write, ".onnx"),
    "torch-export": Format(torch_export.write, ".pt2"),
    "safetensors": Format(safetensors_model.write),
}


def find_format(name: str) -> Format:
    """The format called `name`; InputError lists the others."""
    if name not in FORMATS:
        raise InputError(f"unknown format '{name}': {did_you_mean(name, list(FORMATS))}")
    return FORMATS[name]
