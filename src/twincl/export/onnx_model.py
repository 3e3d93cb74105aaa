"""The model as ONNX: probabilities and embeddings from images as they come, for runtimes without PyTorch."""

import importlib
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from twincl import __version__
from twincl.errors import InputError
from twincl.export.deployable import INPUT, OUTPUTS, Deployable, compare, expected_inputs, sample_inputs
from twincl.files import atomic_path
from twincl.results.finished import FinishedRun
from twincl.results.model_file import load_model

OPSET = 18


def write(run: FinishedRun, output: Path) -> str:
    """One file with a batch of any size as input `input` and the outputs `probabilities` and `embeddings`.

    Its metadata hold the class names as JSON (`classes`), what the input is (`input`) and the version of twincl. The
    file is compared with the model on the run's own data where onnxruntime is there, and left only if they agree.

    Raises:
        InputError: onnx or onnxscript is not installed, the run has no model, or the two do not agree.
    """
    _import("onnx")
    _import("onnxscript")
    model = load_model(run.folder, torch.device("cpu"))
    module, samples = Deployable(model), sample_inputs(run, model)
    with _quietly():
        program = torch.onnx.export(
            module,
            (samples[:2],),
            input_names=[INPUT],
            output_names=list(OUTPUTS),
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    _describe(
        program.model,
        {
            "twincl": __version__,
            "classes": json.dumps(model.classes),
            "input": expected_inputs(model.shape),
            "outputs": "calibrated probabilities (batch, classes), unit embeddings (batch, dimensions); float32",
        },
    )
    with atomic_path(output) as temporary:
        program.save(temporary)
        worst = _difference(module, samples, temporary)
    agreement = "not compared with the model: onnxruntime is not installed"
    if worst is not None:
        agreement = f"agrees with the model within {worst:.1g} on {len(samples)} samples"
    return f"opset {OPSET}, {len(model.classes)} classes; {agreement}"


def _describe(graph: Any, about: dict[str, str]) -> None:
    """Our metadata in place of the exporter's, which tells of the machine's files."""
    for node in graph.graph.all_nodes():
        node.metadata_props.clear()
        for value in node.outputs:
            value.metadata_props.clear()
    for value in (*graph.graph.inputs, *graph.graph.initializers.values()):
        value.metadata_props.clear()
    graph.graph.metadata_props.clear()
    graph.metadata_props.clear()
    graph.metadata_props.update(about)
    graph.producer_name, graph.producer_version = "twincl", __version__


def _difference(module: Deployable, samples: Tensor, file: Path) -> float | None:
    try:
        runtime = _import("onnxruntime")
    except InputError:
        return None
    with torch.no_grad():
        expected = module(samples)
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    probabilities, embeddings = map(torch.from_numpy, session.run(list(OUTPUTS), {INPUT: samples.numpy()}))
    return compare(expected, (probabilities, embeddings), "onnxruntime")


def _import(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise InputError(f"the export to ONNX needs {package} ({error}): pip install 'twincl[onnx]'") from None


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep what the exporter has to say about itself (torchvision missing, names deprecated) from the user."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
