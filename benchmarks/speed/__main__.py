"""`python -m benchmarks.speed`: run sections, print each figure beside its target, keep all in one JSON file."""

import argparse
from pathlib import Path

from benchmarks.speed import augment, estep, loader, memory, overhead, scale, start, step
from benchmarks.speed.options import Figures, Options, Section
from benchmarks.speed.targets import TARGETS
from twincl.files import write_json
from twincl.results.folder import environment
from twincl.training.device import choose_device, mixed_precision_pays

SECTIONS: dict[str, Section] = {
    "step": step.run,
    "overhead": overhead.run,
    "augment": augment.run,
    "estep": estep.run,
    "scale": scale.run,
    "memory": memory.run,
    "loader": loader.run,
    "start": start.run,
}


def main(arguments: list[str] | None = None) -> Figures:
    """Run the sections named, or all; returns the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; none: all")
    parser.add_argument("--json", type=Path, help="file to write")
    parser.add_argument("--quick", action="store_true", help="a smoke run of under a minute; its figures mean nothing")
    parser.add_argument("--profile", action="store_true", help="print where the time of a step goes (overhead)")
    given = parser.parse_args(arguments)
    names = given.sections or list(SECTIONS)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown section '{unknown[0]}': choose from {', '.join(SECTIONS)}")

    device = choose_device("cpu")
    options = Options(device, mixed_precision_pays(device), given.quick, given.profile)
    about = environment(device, options.amp)
    del about["command"]
    figures: Figures = {}
    for name in names:
        found = SECTIONS[name](options)
        _print(found)
        figures |= found
    figures |= {
        "arguments": {"sections": names, "quick": options.quick, "profile": options.profile},
        "environment": about,
    }
    if given.json:
        write_json(given.json, figures)
    return figures


def _print(found: Figures) -> None:
    for key in (key for key in TARGETS if key in found):
        target, value = TARGETS[key], found[key]
        print(f"{key:<28}{value:12.4g}   {target!s:<10}{'' if target.met(value) else 'missed'}", flush=True)


if __name__ == "__main__":
    main()
