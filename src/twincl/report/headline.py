"""The outcome of a run as people say it."""

from collections.abc import Mapping
from typing import Any

CLEAN_BELOW = 0.03  # share flagged below which the labels are called clean
_UNIT = "\N{NO-BREAK SPACE}%"


def headline(flagged: int, images: int) -> str:
    """One sentence on how many labels look wrong."""
    share = flagged / images
    if flagged == 0:
        return "Not one label looks wrong"
    if share < CLEAN_BELOW:
        return "The labels look clean"
    if share <= 0.3:
        return f"About 1 in {round(1 / share)} labels looks wrong"
    tenths = round(10 * share)
    if tenths == 5:
        return "About half of the labels look wrong"
    return "Nearly all labels look wrong" if tenths == 10 else f"About {tenths} in 10 labels look wrong"


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage; what is neither nothing nor everything is never rounded to 0 or 100."""
    least = 10.0**-digits
    value = 100 * share
    if 0 < value < least / 2:
        return f"< {least:.{digits}f}{_UNIT}"
    if 100 - least / 2 < value < 100:
        return f"> {100 - least:.{digits}f}{_UNIT}"
    return f"{value:.{digits}f}{_UNIT}"


def accuracy_on_test(summary: Mapping[str, Any]) -> tuple[str, str] | None:
    """Test accuracy and what it was measured on; None where nothing was tested."""
    accuracy = summary.get("test_accuracy_last5_mean")
    if accuracy is None:
        return None
    return percent(accuracy, 1), str(summary.get("test_data"))


_TRUTHS = (
    ("noise_rate_actual", "labels that are really wrong", "of those trained on", True),
    ("noise_rate_estimate", "labels estimated to be wrong", "of the same, without the truth", True),
    ("detection_auroc", "AUROC", "chance that a wrong label ranks before a right one", False),
    ("detection_average_precision", "average precision", "of the ranking, for wrong labels", False),
    ("corrected_label_accuracy", "labels right after correction", "if every suggestion were taken", True),
)


def against_truth(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Value, name and meaning of what can be said only because the true labels are known; empty where they are not."""
    if summary.get("noise_rate_actual") is None:
        return []
    return [
        (percent(summary[key], 1) if is_share else f"{summary[key]:.4f}", name, meaning)
        for key, name, meaning, is_share in _TRUTHS
        if summary.get(key) is not None
    ]
