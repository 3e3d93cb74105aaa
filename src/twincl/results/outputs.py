"""What the network says of every image, kept beside the issue table: for reports, exports and other tools."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from twincl.data.numpy_files import load_arrays
from twincl.errors import InputError
from twincl.files import atomic_path

OUTPUTS = "outputs.npz"


class Outputs(NamedTuple):
    """Arrays over the N judged images, in the order of the user's data."""

    rows: NDArray[np.int64]  # (N,) where each image stands in the data
    class_probabilities: NDArray[np.float32]  # (N, K) that the image belongs to a class; knows nothing of its label
    embeddings: NDArray[np.float32]  # (N, D) unit rows


def save_outputs(folder: Path, outputs: Outputs) -> None:
    """Write `outputs.npz`."""
    with atomic_path(folder / OUTPUTS) as temporary, temporary.open("wb") as file:
        np.savez(file, **outputs._asdict())


def load_outputs(folder: Path) -> Outputs:
    """Read `outputs.npz`; nothing in it is executed.

    Raises:
        InputError: it is missing or broken.
    """
    path = folder / OUTPUTS
    if not path.is_file():
        raise InputError(f"{folder} holds no finished run ({OUTPUTS} is missing); train it to the end first")
    try:
        arrays = load_arrays(path)
        found = [] if isinstance(arrays, np.ndarray) else [arrays[name] for name in Outputs._fields if name in arrays]
    except InputError as error:
        raise InputError(f"{path} cannot be read ({error}); train the run again with --force") from None
    axes = [array.ndim for array in found]
    if axes != [1, 2, 2] or len({len(array) for array in found}) > 1 or found[0].dtype.kind != "i":
        raise InputError(f"{path} does not hold the outputs of a run; train the run again with --force")
    return Outputs(*found)
