"""How the training went: which curves there are to draw."""

from collections.abc import Mapping, Sequence
from typing import Any

from twincl.report.figures import curves
from twincl.report.theme import Plot


def training_curves(metrics: Sequence[Mapping[str, Any]]) -> dict[str, Plot]:
    """The figures over epochs for which there is something to draw."""
    terms = {key: key.removeprefix("loss_").replace("_", " ") for record in metrics for key in record}
    panels = {
        "training_accuracy": (
            "Accuracy",
            {
                "train_agreement": "agreement with the given labels",
                "test_accuracy": "accuracy on test data",
                "train_accuracy": "accuracy against the true labels",
            },
        ),
        "training_loss": (
            "Loss",
            {"loss": "all terms"} | {key: name for key, name in terms.items() if key.startswith("loss_")},
        ),
        "training_noise": (
            "Share of wrong labels",
            {"noise_rate_estimate": "estimated", "noise_rate_actual": "actual"},
        ),
        "training_detection": ("Finding wrong labels (AUROC)", {"detection_auroc": "AUROC"}),
    }
    drawn = {}
    for file, (title, wanted) in panels.items():
        series = {key: name for key, name in wanted.items() if any(record.get(key) is not None for record in metrics)}
        if series:
            percent = file in ("training_accuracy", "training_noise")
            drawn[file] = curves(metrics, series, title, percent=percent)
    return drawn
