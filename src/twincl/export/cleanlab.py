"""Arrays for cleanlab: what it needs to look for issues by its own means."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from twincl.files import write_text
from twincl.results.finished import FinishedRun

_README = """\
# For cleanlab

| file | what is in it |
| --- | --- |
| `labels.npy` | (N,) the given labels as class numbers |
| `pred_probs.npy` | (N, K) the classifier's calibrated class probabilities |
| `features.npy` | (N, D) the run's embeddings |
| `class_names.json` | the K class names |
| `files.txt` | the N file names, one a line (a line break in a name is written as \\n) |

```python
import json
import numpy as np
from cleanlab import Datalab

labels, pred_probs, features = (np.load(f"{name}.npy") for name in ("labels", "pred_probs", "features"))
lab = Datalab({"label": labels}, label_name="label")
lab.find_issues(pred_probs=pred_probs, features=features)
lab.report()
```

cleanlab asks for probabilities of images that the model was not trained on. Those of the images held out for testing
are; the others come from a training that is made not to believe wrong labels.
"""


def write(run: FinishedRun, output: Path) -> str:
    """`labels.npy`, `pred_probs.npy`, `features.npy`, `class_names.json` and `files.txt`, in the order of the data."""
    arrays: dict[str, NDArray[Any]] = {
        "labels": run.class_numbers("given_label"),
        "pred_probs": run.class_probabilities,
        "features": run.embeddings,
    }
    for name, array in arrays.items():
        np.save(output / f"{name}.npy", array)
    names = [name.replace("\r", "\\r").replace("\n", "\\n") for name in run.table["file_name"]]
    write_text(output / "files.txt", "".join(name + "\n" for name in names))
    write_text(output / "class_names.json", json.dumps(run.classes) + "\n")
    write_text(output / "README.md", _README)
    return f"arrays of {len(names)} labels in {len(run.classes)} classes"
