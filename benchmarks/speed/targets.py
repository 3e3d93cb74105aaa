"""What each figure should reach."""

from typing import NamedTuple


class Target(NamedTuple):
    """At least, or at most, `bound`."""

    at_least: bool
    bound: float

    def met(self, value: float) -> bool:
        """Whether `value` is on the right side."""
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g}"


def _at_least(bound: float) -> Target:
    return Target(True, bound)


def _at_most(bound: float) -> Target:
    return Target(False, bound)


TARGETS = {
    "step_ratio_one_mix": _at_least(5),  # times the samples a second of the reference step
    "step_ratio_three_mix": _at_least(3),
    "step_limit_fraction": _at_least(0.8),  # of what the measured matrix multiplication would allow
    "overhead_fraction_preact18": _at_most(0.15),  # of the step is not the encoder
    "overhead_fraction_small": _at_most(0.35),
    "augment_ratio": _at_least(10),  # times the images a second of Pillow, one core
    "estep_ratio": _at_most(1.15),  # times a bare inference pass
    "detection_fraction": _at_most(0.05),  # of a bare inference pass
    "detection_memory_ratio": _at_most(1),  # memory beyond the inputs, as a multiple of them: twice them in all
    "detection_time_exponent": _at_most(1.1),  # seconds ~ N^x: linear, give or take the noise of three timings
    "knn_peak_mb": _at_most(400),  # chunk x keys cosines of float32 are 205 MB of it
    "train_peak_mb": _at_most(2000),
    "loader_wait_fraction": _at_most(0.1),  # of the step
    "help_seconds": _at_most(0.5),
    "import_seconds": _at_most(0.3),
}
