"""One training with one setting is a cell: run once, kept as JSON with its date, machine and settings."""

import hashlib
import json
import math
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from twincl.config import Config, build_config
from twincl.errors import InputError, Stopped, TrainingError
from twincl.files import write_json
from twincl.results.finished import FinishedRun, load_run
from twincl.results.folder import CHECKPOINTS, ENVIRONMENT, SUMMARY
from twincl.results.metrics import imbalance_ratio
from twincl.runs.finetune import finetune_config
from twincl.runs.predict import evaluate
from twincl.runs.train import train
from twincl.training.checkpoint import find_checkpoints, remove_checkpoints

RESULTS = Path(__file__).parent / "results"
RUNS = Path(__file__).parents[1] / "runs"  # not under version control
CURVES = (
    "test_accuracy",
    "test_accuracy_top5",
    "detection_auroc",
    "detection_auroc_score",
    "detection_auroc_w",
    "noise_rate_estimate",
)


@dataclass(frozen=True)
class Cell:
    """A training: its name in the table, its preset, its settings.

    These, and what it goes on from, say which training it is; not the table that shows it, nor where the data lie, nor
    what else it is tested on.
    """

    table: str
    name: str
    settings: dict[str, Any]
    preset: str = "default"
    places: dict[str, str] = field(default_factory=dict)  # settings that name files of the data
    after: "Cell | None" = None  # the first stage of TCL+
    runs: str | None = None  # folder in `RUNS` where the run is kept and goes on; None: only the result is kept
    also_tested: dict[str, str] = field(default_factory=dict)  # other test data by name, for the finished model

    @property
    def key(self) -> str:
        """The name with a digest of the settings."""
        what: list[Any] = [self.preset, self.settings]
        if self.after:
            what.append(self.after.key)
        return f"{self.name}-{hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]}"

    @property
    def file(self) -> Path:
        """Where the result is kept; other settings are another file."""
        return RESULTS / self.table / f"{self.key}.json"

    @property
    def run_folder(self) -> Path:
        """Where the run is kept."""
        assert self.runs is not None
        return RUNS / self.runs / self.key


def find_result(cell: Cell) -> dict[str, Any] | None:
    """The result of the cell, under whichever table it was run; None if it has not been."""
    file = _result_file(cell)
    return json.loads(file.read_text(encoding="utf-8")) if file else None


def _result_file(cell: Cell) -> Path | None:
    files = [cell.file, *sorted(cell.file.parent.parent.glob(f"*/{cell.file.name}"))]
    return next((file for file in files if file.is_file()), None)


def run_cell(cell: Cell, threads: int | None = None, *, run_needed: bool = False) -> dict[str, Any]:
    """Train the cell, or read it if it was trained before; `run_needed` by others, who go on from its folder."""
    if threads:
        torch.set_num_threads(threads)
    found = find_result(cell)
    if found is not None:
        if run_needed:
            _finished_folder(cell)
        return found if cell.runs is None else _tested(cell, found, cell.run_folder)
    commit = _commit()
    with _folder(cell) as folder:
        _train(cell, folder, anew=_was_put_away(folder))
        result = _measured(cell, folder, commit)
        cell.file.parent.mkdir(parents=True, exist_ok=True)
        write_json(cell.file, result)
        remove_checkpoints(folder / CHECKPOINTS)
        return _tested(cell, result, folder)  # last: what cannot be tested has its result, and is tested another time


@contextmanager
def plain_ending() -> Iterator[None]:
    """What cannot be run ends a program with a sentence in place of a traceback, as does a stop; also a decorator."""
    try:
        yield
    except InputError as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(2)
    except (Stopped, KeyboardInterrupt) as stop:
        where = str(stop).partition(";")[0] or "stopped"  # what follows speaks of --resume, which is `twincl`'s
        print(f"{where}; go on with the same command", file=sys.stderr, flush=True)
        sys.exit(128 + (stop.signal if isinstance(stop, Stopped) else signal.SIGINT))


def run_cells(cells: Iterable[Cell], processes: int = 1) -> dict[str, dict[str, Any]]:
    """Run all cells, printing what is new as it ends; with several processes each gets its share of the cores.

    A training that cannot begin or go on is printed and left out: the others do not wait for it.

    Raises:
        InputError: some cannot begin, or be tested on other data; the others have been run.
    """
    found: dict[str, dict[str, Any]] = {}
    refused = 0
    first, second = _waves(list(cells))
    known = {cell.key for cell in (*first, *second) if find_result(cell) is not None}
    begun = {cell.after.key for cell in second if cell.after and cell.key not in known}
    for wave in (first, second):
        with closing(_finishing(wave, processes, begun)) as finishing:
            for cell, finish in finishing:
                try:
                    found[cell.name] = finish()
                except (InputError, TrainingError) as error:
                    print(f"{cell.name}: {error}", flush=True)
                    refused += isinstance(error, InputError)
                    continue
                if cell.key not in known:
                    _announce(cell, found[cell.name])
    if refused:
        raise InputError(f"{refused} trainings could not begin or be tested; see above")
    return found


def _finishing(
    cells: list[Cell], processes: int, begun: set[str]
) -> Generator[tuple[Cell, Callable[[], dict[str, Any]]]]:
    """Each cell with the call that gives its result; in several processes, those that are done first.

    `begun` are the keys of those whose run folder others go on from. A cell is handed out when a process is free, none
    before, so that after a stop no other is begun.
    """
    if processes == 1:
        for cell in cells:
            yield cell, partial(run_cell, cell, run_needed=cell.key in begun)
        return
    threads = max(1, torch.get_num_threads() // processes)
    waiting = cells[::-1]
    running: dict[Future[dict[str, Any]], Cell] = {}
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        while waiting or running:
            while waiting and len(running) < processes:
                cell = waiting.pop()
                interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a new process begins so
                try:
                    running[pool.submit(_run_in_process, cell, threads, cell.key in begun, interrupt)] = cell
                finally:
                    signal.signal(signal.SIGINT, interrupt)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result


def _run_in_process(cell: Cell, threads: int, run_needed: bool, interrupt: Any) -> dict[str, Any]:
    """Run the cell with the handler `interrupt` of Ctrl-C, which an idle process ignores: the others are to save."""
    signal.signal(signal.SIGINT, interrupt)
    try:
        return run_cell(cell, threads, run_needed=run_needed)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _waves(cells: list[Cell]) -> list[list[Cell]]:
    """Every cell once, however many tables show it: those that go on from others after these, which are added."""
    first = [cell.after for cell in cells if cell.after and find_result(cell) is None]
    whole = {cell.key: cell for cell in [*cells, *first]}.values()
    return [[cell for cell in whole if not cell.after], [cell for cell in whole if cell.after]]


@contextmanager
def _folder(cell: Cell) -> Iterator[Path]:
    """The folder of the run, which outlives the block where it is to be kept."""
    if cell.runs is not None:
        yield cell.run_folder
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "run"


def _was_put_away(folder: Path) -> bool:
    """Whether the run in `folder` is finished and once had a result: only after that its checkpoints are removed.

    A finished run that still has them was stopped before its result was written.
    """
    return (folder / SUMMARY).is_file() and not find_checkpoints(folder / CHECKPOINTS)


def _train(cell: Cell, folder: Path, *, anew: bool = False) -> None:
    """Train the cell into `folder`, `anew` or on from where it was stopped; a complete run is left as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    train(_config(cell), folder, resume=not anew, force=anew)


def _finished_folder(cell: Cell) -> Path:
    """The folder of the cell's finished run; trained where it is gone, though the result may be known."""
    folder = cell.run_folder
    if not (folder / SUMMARY).is_file():
        _train(cell, folder)
        if find_result(cell) is not None:
            remove_checkpoints(folder / CHECKPOINTS)
    return folder


def _config(cell: Cell) -> Config:
    if cell.after is None:
        return build_config(preset=cell.preset, settings=cell.settings | cell.places)
    return finetune_config(_finished_folder(cell.after), cell.settings | cell.places)


def _measured(cell: Cell, folder: Path, commit: str) -> dict[str, Any]:
    """What is kept of a finished run."""
    run = load_run(folder)
    left_out = ("test_data", "transition_matrix")  # names a path; K x K lines
    summary = {key: value for key, value in run.summary.items() if key not in left_out}
    about = json.loads((folder / ENVIRONMENT).read_text(encoding="utf-8"))
    del about["command"]
    curves = {key: [_rounded(record.get(key)) for record in run.metrics] for key in CURVES}
    return {
        "name": cell.name,
        "preset": cell.preset,
        "settings": {key: _shown(value) for key, value in cell.settings.items()},
        **({"after": cell.after.key} if cell.after else {}),
        "summary": summary,
        "imbalance": _imbalance(run),
        "curves": {key: values for key, values in curves.items() if any(value is not None for value in values)},
        "environment": about | {"commit": commit},
    }


def _commit() -> str:
    """Of the code that measures, with a mark where it was changed since; empty outside a repository.

    Pages that measurements themselves write are no code.
    """
    root = Path(__file__).parents[1]
    try:
        head, changed = (
            subprocess.run(["git", *asked], cwd=root, capture_output=True, text=True, check=False)
            for asked in (("rev-parse", "--short=12", "HEAD"), ("diff", "--quiet", "HEAD", "--", "*.py"))
        )
    except OSError:  # no git
        return ""
    if head.returncode:  # no repository
        return ""
    return head.stdout.strip() + "-dirty" * (changed.returncode == 1)


def _tested(cell: Cell, found: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The result with what the model in `folder` says of other data, written down, where its run is still there."""
    tested = found.get("also_tested", {})
    if cell.also_tested.keys() <= tested.keys() or not (folder / SUMMARY).is_file():
        return found
    found = found | {"also_tested": tested | _also_tested(cell, folder)}
    write_json(_result_file(cell) or cell.file, found)
    return found


def _also_tested(cell: Cell, folder: Path) -> dict[str, dict[str, float]]:
    """Accuracies of the finished model on other data, by their name."""
    found = {name: evaluate(folder, data) for name, data in cell.also_tested.items()}
    return {name: {key: one[key] for key in ("accuracy", "accuracy_top5") if key in one} for name, one in found.items()}


def _imbalance(run: FinishedRun) -> dict[str, float | str | None]:
    """How unequal the classes are among all given labels, those with w > 0.5, and those not called an issue.

    "inf" for a set that has lost a class; None for w where the method keeps none.
    """
    learned = (run.table["split"] == "train").to_numpy()
    labels = run.class_numbers("given_label")[learned]
    newest = find_checkpoints(run.folder / CHECKPOINTS)
    state = torch.load(newest[0], map_location="cpu", weights_only=True)["method"] if newest else {}
    trusted = state["clean"].numpy() > 0.5 if "clean" in state else None
    unflagged = ~run.table["is_label_issue"].to_numpy(dtype=bool)[learned]
    return {
        "given": _ratio(imbalance_ratio(labels)),
        "trusted": None if trusted is None else _ratio(imbalance_ratio(labels, trusted)),
        "unflagged": _ratio(imbalance_ratio(labels, unflagged)),
    }


def _announce(cell: Cell, result: dict[str, Any]) -> None:
    summary = result["summary"]
    auroc = summary.get("detection_auroc")
    said = [f"accuracy {summary['test_accuracy_last5_mean']:.4f}"]
    said += [] if auroc is None else [f"AUROC {auroc:.3f}"]
    print(f"{cell.name}: {', '.join(said)}, {summary['train_seconds']:.0f} s", flush=True)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _ratio(value: float) -> float | str:
    """JSON has no infinity."""
    return "inf" if math.isinf(value) else round(value, 5)


def _shown(value: Any) -> Any:
    """Paths as their last part: a result says what was read, not where it lay."""
    return Path(value).name if isinstance(value, str) and "/" in value else value
