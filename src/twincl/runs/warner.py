"""Says what looks wrong about a training while it runs."""

from collections import Counter
from collections.abc import Iterable

from torch import Tensor

from twincl.methods.method import Snapshot
from twincl.results.health import symptoms
from twincl.runs.listener import Listener
from twincl.runs.prepare import Labels


class Warner:
    """Tells of a symptom once, when it has lasted for a while; the first epochs always look wrong."""

    PATIENCE = 3  # expectation steps in a row

    def __init__(self, classes: tuple[str, ...], tell: Listener) -> None:
        self.classes, self.tell = classes, tell
        self.lasting: Counter[str] = Counter()
        self.now: dict[str, str] = {}
        self.told: set[str] = set()

    def look(self, snapshot: Snapshot, given: Labels, clean: Tensor) -> None:
        """After an expectation step."""
        predicted = snapshot.probabilities.argmax(1).cpu().numpy()
        self.now = symptoms(predicted, given, clean.cpu().numpy(), self.classes)
        self.lasting = Counter({kind: self.lasting[kind] + 1 for kind in self.now})
        self._tell(kind for kind in self.now if kind != "one_mode" and self.lasting[kind] >= self.PATIENCE)

    def at_the_end(self) -> list[str]:
        """All that looks wrong after the last epoch."""
        self._tell(self.now)
        return list(self.now.values())

    def _tell(self, kinds: Iterable[str]) -> None:
        for kind in kinds:
            if kind not in self.told:
                self.told.add(kind)
                self.tell.note(f"warning: {self.now[kind]}")
