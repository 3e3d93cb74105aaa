"""A finished run written in another format, never over anything of the user's."""

from pathlib import Path
from typing import Any

from twincl import __version__
from twincl.errors import InputError
from twincl.export.folder import MARKER, atomic_folder, refuse_occupied
from twincl.export.registry import Format, find_format
from twincl.files import refuse_existing, write_json
from twincl.results.corrections import Policy
from twincl.results.finished import load_run
from twincl.runs.spared import spare_data

_FLAGS = {
    "policy": "--relabel-above and --drop-below",
    "data": "--data",
    "link": "--link",
    "image_prefix": "--image-prefix",
}


def export(
    run: Path,
    format: str,
    output: Path,
    *,
    policy: Policy | None = None,
    data: str | None = None,
    link: bool = False,
    image_prefix: str | None = None,
    force: bool = False,
) -> str:
    """Write the finished `run` to `output` as one of the formats of `twincl.export.registry`.

    Args:
        run: folder of a finished run.
        format: name of the format.
        output: file, with the format's suffix, or new folder; what is written is there whole or not at all.
        policy: when labels are changed and images dropped; the default policy if None.
        data: where the data lie now, if they have moved since the training.
        link: link the image files instead of copying them.
        image_prefix: what Label Studio finds images under.
        force: replace an earlier export.

    Returns:
        A sentence about what was written.

    Raises:
        InputError: there is no such format or run, an option is not one of the format's, or something would be lost.
    """
    chosen = find_format(format)
    given = {"policy": policy, "data": data, "link": link or None, "image_prefix": image_prefix}
    options = _options(format, chosen, {name: value for name, value in given.items() if value is not None})
    if chosen.suffix and output.suffix != chosen.suffix:
        raise InputError(f"the format '{format}' is a file: give the output a name that ends in {chosen.suffix}")
    finished = load_run(run)
    spare_data(data or finished.config["data"]["path"], output)
    if chosen.suffix:
        refuse_existing(output, force=force)
        return chosen.write(finished, output, **options)
    refuse_occupied(output, force=force)
    with atomic_folder(output) as folder:
        said = chosen.write(finished, folder, **options)
        write_json(folder / MARKER, {"format": format, "run": str(run), "twincl": __version__})
    return said


def _options(name: str, chosen: Format, given: dict[str, Any]) -> dict[str, Any]:
    for option in given:
        if option not in chosen.options:
            raise InputError(f"the format '{name}' has no use for {_FLAGS[option]}; leave that out")
    return {"policy": Policy()} | given if "policy" in chosen.options else given
