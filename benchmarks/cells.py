"""One training with one setting is a cell: run once, kept as JSON with its date, machine and settings."""

import hashlib
import json
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from twincl.config import build_config
from twincl.files import write_json
from twincl.results.folder import environment
from twincl.runs.train import train

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Cell:
    """A training: its name in the table, its preset, its settings."""

    table: str
    name: str
    settings: dict[str, Any]
    preset: str = "default"

    @property
    def file(self) -> Path:
        """Where the result is kept; other settings are another file."""
        key = json.dumps([self.preset, self.settings], sort_keys=True)
        digest = hashlib.sha256(key.encode()).hexdigest()[:8]
        return RESULTS / self.table / f"{self.name}-{digest}.json"


def run_cell(cell: Cell, threads: int | None = None) -> dict[str, Any]:
    """Train the cell, or read it if it was trained before."""
    if cell.file.is_file():
        found: dict[str, Any] = json.loads(cell.file.read_text())
        return found
    if threads:
        torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        summary = train(build_config(preset=cell.preset, settings=cell.settings), output)
        metrics = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    del summary["test_data"]  # names a path
    about = environment(torch.device("cpu"), amp=bool(cell.settings.get("amp")))
    del about["command"]
    keys = ("test_accuracy", "detection_auroc", "noise_rate_estimate")
    result = {
        "name": cell.name,
        "preset": cell.preset,
        "settings": {key: _shown(value) for key, value in cell.settings.items()},
        "summary": summary,
        "curves": {key: [_rounded(record.get(key)) for record in metrics] for key in keys},
        "environment": about,
    }
    cell.file.parent.mkdir(parents=True, exist_ok=True)
    write_json(cell.file, result)
    return result


def run_cells(cells: Iterable[Cell], processes: int = 1) -> dict[str, dict[str, Any]]:
    """Run all cells, printing each as it ends; with several processes each gets its share of the cores."""
    cells = list(cells)
    found: dict[str, dict[str, Any]] = {}
    if processes == 1:
        for cell in cells:
            found[cell.name] = _announce(cell, run_cell(cell))
        return found
    threads = max(1, torch.get_num_threads() // processes)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run_cell, cell, threads): cell for cell in cells}
        for future in as_completed(futures):
            cell = futures[future]
            found[cell.name] = _announce(cell, future.result())
    return found


def _announce(cell: Cell, result: dict[str, Any]) -> dict[str, Any]:
    summary = result["summary"]
    print(
        f"{cell.name}: accuracy {summary['test_accuracy_last5_mean']:.4f}, AUROC {summary.get('detection_auroc')}, "
        f"{summary['train_seconds']:.0f} s",
        flush=True,
    )
    return result


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _shown(value: Any) -> Any:
    """Paths as their last part: a result says what was read, not where it lay."""
    return Path(value).name if isinstance(value, str) and "/" in value else value
