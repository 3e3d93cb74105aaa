"""The model as a PyTorch program (`.pt2`): runs with torch alone, without twincl."""

import json
import warnings
from pathlib import Path

import torch

from twincl import __version__
from twincl.export.deployable import Deployable, compare, expected_inputs, sample_inputs
from twincl.files import atomic_path
from twincl.results.finished import FinishedRun
from twincl.results.model_file import load_model

ABOUT = "about.json"  # kept in the file beside the program


def write(run: FinishedRun, output: Path) -> str:
    """One file; a batch of any size goes in, a pair of probabilities and embeddings comes out.

        extra = {"about.json": ""}
        program = torch.export.load("model.pt2", extra_files=extra).module()
        probabilities, embeddings = program(images)
        classes = json.loads(extra["about.json"])["classes"]

    Loaded again and compared with the model on the run's own data; left only if the two agree.

    Raises:
        InputError: the run has no model, or the two do not agree.
    """
    model = load_model(run.folder, torch.device("cpu"))
    module, samples = Deployable(model), sample_inputs(run, model)
    about = {"twincl": __version__, "classes": model.classes, "input": expected_inputs(model.shape)}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about PyTorch's own internals
        program = torch.export.export(module, (samples[:2],), dynamic_shapes=({0: torch.export.Dim("batch")},))
        with atomic_path(output) as temporary:
            torch.export.save(program, temporary, extra_files={ABOUT: json.dumps(about)})
            loaded = torch.export.load(temporary).module()
            worst = compare(module(samples), loaded(samples), "torch.export")
    return f"{len(model.classes)} classes; agrees with the model within {worst:.1g} on {len(samples)} samples"
