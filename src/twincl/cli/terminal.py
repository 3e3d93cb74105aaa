"""How a training looks in a terminal, and in a log file."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from twincl.cli.printable import printable
from twincl.runs.prepare import Progress

if TYPE_CHECKING:
    import pandas as pd


class Terminal:
    """A progress bar where people look, one plain line an epoch where they do not."""

    def __init__(self) -> None:
        self.interactive = sys.stdout.isatty() and sys.stderr.isatty()
        self.bar: tqdm[Any] | None = None
        self.progress: Progress = self._progress if self.interactive else None

    @staticmethod
    def _progress(iterable: Any, **options: Any) -> Any:
        return tqdm(iterable, leave=False, **options)

    def note(self, text: str) -> None:
        """A sentence of its own line."""
        tqdm.write(printable(text)) if self.bar else print(printable(text), flush=True)

    def step(self, step: int, steps: int) -> None:
        """Move the bar of the epoch."""
        if not self.interactive:
            return
        if self.bar is None:
            self.bar = tqdm(total=steps, leave=False, unit="step")
        self.bar.n = step
        self.bar.refresh() if step == steps else self.bar.update(0)

    def epoch(self, record: dict[str, Any], epochs: int) -> None:
        """Print the line of a finished epoch; after the first, say how long the rest will take."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
        print(epoch_line(record, epochs), flush=True)
        if record["epoch"] == 1 and epochs > 1:
            print(f"about {duration(record['seconds'] * (epochs - 1))} to go", flush=True)


def epoch_line(record: dict[str, Any], epochs: int) -> str:
    """One epoch in one line of plain text."""
    parts = [f"epoch {record['epoch']:>{len(str(epochs))}}/{epochs}", f"loss {record['loss']:.3f}"]
    if record.get("test_accuracy") is not None:
        parts.append(f"test accuracy {record['test_accuracy']:.2%}")
    if record.get("noise_rate_estimate") is not None:
        parts.append(f"wrong labels {record['noise_rate_estimate']:.1%}")
    if record.get("detection_auroc") is not None:
        parts.append(f"AUROC {record['detection_auroc']:.4f}")
    parts.append(f"{record['seconds']:.1f} s")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def issue_lines(issues: "pd.DataFrame") -> str:
    """The worst labels as an aligned table; names of any length and kind stay on their line."""
    if not len(issues):
        return "no label looks wrong"
    rows = [("file", "given label", "suggested label", "confidence", "label quality")]
    rows += [
        (
            shortened(str(row.file_name), 48),
            shortened(str(row.given_label), 24),
            shortened(str(row.suggested_label), 24),
            f"{row.suggestion_confidence:.0%}",
            f"{row.label_quality:.4f}",
        )
        for row in issues.itertuples()
    ]
    return table(rows)


def shortened(text: str, width: int) -> str:
    """Text in one line of at most `width` signs; of a path the end matters most."""
    text = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text under their heading, columns aligned, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
