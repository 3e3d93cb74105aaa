"""The model as it is: weights without code, and a description."""

import shutil
from pathlib import Path

import torch

from twincl.errors import InputError
from twincl.export.deployable import expected_inputs
from twincl.files import write_text
from twincl.results.finished import FinishedRun
from twincl.results.model_file import DESCRIPTION, WEIGHTS, load_model

_README = """\
# A classifier trained with twincl

`model.safetensors` holds the weights, `model.json` the network's shape, the class names, the normalisation
and the temperature that calibrates the probabilities. Neither can run code.

```
twincl predict THIS_FOLDER new_images/ --output labels.csv
```

```python
from pathlib import Path
import torch
from twincl.results.model_file import calibrated, load_model

model = load_model(Path("THIS_FOLDER"), torch.device("cpu"))
embeddings, logits = model.net(model.views.plain(inputs))  # {inputs}
probabilities = calibrated(logits, model.temperature)  # columns: model.classes
```
"""


def write(run: FinishedRun, output: Path) -> str:
    """`model.safetensors`, `model.json` and a README that says how to load them.

    Raises:
        InputError: the run holds no model that can be loaded.
    """
    model = load_model(run.folder, torch.device("cpu"))
    try:
        for name in (WEIGHTS, DESCRIPTION):
            shutil.copyfile(run.folder / name, output / name)
    except OSError as error:
        raise InputError(f"the model of {run.folder} cannot be copied ({error.strerror})") from None
    write_text(output / "README.md", _README.format(inputs=expected_inputs(model.shape)))
    return f"a model of {len(model.classes)} classes"
