"""What the runs of one row in one column say, over their seeds; accuracies in %."""

from dataclasses import dataclass
from typing import Any

from benchmarks.cells import find_result
from benchmarks.over_seeds import spread
from benchmarks.paper.tables import Column, Row, Scale, Table, cell

SEEDS = range(10)  # looked for
LAST = 5  # epochs, as in the paper


@dataclass(frozen=True)
class Measured:
    """The results that were found, a seed each."""

    measure: str
    results: list[dict[str, Any]]
    tested_on: str | None = None  # other data than the training's own, looked at after the last epoch

    @property
    def values(self) -> list[float]:
        """One a run: the mean of its last five epochs; of k-NN and on other data the accuracy at the end."""
        return [sum(run) / len(run) for run in self._last()]

    @property
    def pooled(self) -> list[float]:
        """The last five epochs of all runs together."""
        return [value for run in self._last() for value in run]

    @property
    def final(self) -> list[float]:
        """One a run: its last epoch."""
        return [run[-1] for run in self._runs()]

    @property
    def best(self) -> list[float]:
        """One a run: its best epoch, which only the test set can tell."""
        return [max(run) for run in self._runs()]

    def curves(self, key: str) -> list[list[float | None]]:
        """A metric over the epochs, a run each."""
        return [result["curves"][key] for result in self.results if key in result["curves"]]

    def said(self, key: str, part: str = "summary") -> list[float]:
        """A number of each run that has it; of a curve the last. Where classes were lost, their ratio is infinite."""
        if part == "curves":
            return [last for curve in self.curves(key) if (last := curve[-1]) is not None]
        found = [result[part].get(key) for result in self.results]
        return [float(value) for value in found if value is not None]

    def _last(self) -> list[list[float]]:
        return [run[-LAST:] for run in self._runs()]

    def _runs(self) -> list[list[float]]:
        if self.tested_on:
            other = [result.get("also_tested", {}).get(self.tested_on, {}) for result in self.results]
            return [[100 * found[self.measure]] for found in other if self.measure in found]
        if self.measure == "knn_accuracy":
            return [[100 * value] for value in self.said("knn_accuracy")]
        return [[100 * value for value in run if value is not None] for run in self.curves(self.measure)]


def measured(scale: Scale, table: Table, row: Row, column: Column) -> Measured:
    """Everything that was run there."""
    found = [find_result(cell(scale, table.name, row.variant, column, seed)) for seed in SEEDS]
    tested_on = None if column.data == column.trained_on else column.data
    return Measured(column.measure, [result for result in found if result], tested_on)


def averages(scale: Scale, table: Table, row: Row, columns: list[Column]) -> list[float]:
    """The mean over the columns, one value a seed that was run in all of them."""
    runs = [measured(scale, table, row, column) for column in columns]
    by_seed = [
        {result["summary"]["seed"]: value for result, value in zip(run.results, run.values, strict=True)}
        for run in runs
    ]
    complete = set.intersection(*map(set, by_seed)) if by_seed else set()
    return [sum(values[seed] for values in by_seed) / len(by_seed) for seed in sorted(complete)]


def percent(values: list[float]) -> str:
    """Mean, deviation and number of accuracies in %."""
    return spread(values, 1)
