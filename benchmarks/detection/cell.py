"""One rival on one row: run in a process of its own, kept as JSON with its date and machine."""

from pathlib import Path
from typing import Any

import torch

from benchmarks.cells import RESULTS
from benchmarks.detection.rivals import RIVALS
from benchmarks.detection.rows import Row
from twincl.files import write_json
from twincl.results.folder import environment


def cell_file(name: str, rival: str, seed: int) -> Path:
    """Where the result is kept."""
    return RESULTS / "detection" / f"{name}-{rival}-seed{seed}.json"


def run_cell(row: Row, rival: str, seed: int) -> dict[str, Any]:
    """One rival on one row, in one thread."""
    torch.set_num_threads(1)
    about = environment(torch.device("cpu"), amp=False)
    del about["command"]
    settings = {key: value for key, value in row.settings.items() if not key.startswith("data.")}
    result = {
        "row": row.name,
        "title": row.title,
        "rival": rival,
        "seed": seed,
        "settings": settings,
        "figures": RIVALS[rival](row, seed),
        "environment": about,
    }
    file = cell_file(row.name, rival, seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, result)
    return result
