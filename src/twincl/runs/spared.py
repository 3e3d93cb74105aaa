"""What a run reads must not lie where it writes."""

from pathlib import Path

from twincl.config import Config
from twincl.data.read import place_of
from twincl.errors import InputError
from twincl.runs.labels import split_key


def spare_data(data: str, output: Path) -> None:
    """Raise InputError if `output` lies in the folder of the data, is the data or holds it."""
    place, target = place_of(data).resolve(), output.resolve()
    if place.exists() and (place in (target, *target.parents) or target in place.parents):
        raise InputError(f"the output {output} lies in or above the data {data}, which is left alone; choose another")


def spare_inputs(config: Config, output: Path) -> None:
    """Refuse a new run in a folder that holds what it is to learn from, or that is part of its data.

    Raises:
        InputError: `output` lies in or above data or test data, or holds another file or run that `config` names.
    """
    for data in (config.data.path, config.data.test):
        if data is not None:
            spare_data(data, output)
    labels = (str(split_key(file)[0]) for file in (config.data.labels, config.data.true_labels) if file)
    for name in (*labels, config.finetune.run, config.model.weights, config.noise.matrix):
        if name is not None and Path(name).resolve().is_relative_to(output.resolve()):
            raise InputError(
                f"the output {output} holds {name}, which this run is to learn from; choose another folder"
            )
