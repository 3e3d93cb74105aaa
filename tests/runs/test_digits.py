"""The promise of the demo on real images, at a length that a test can afford."""

from twincl.config import build_config
from twincl.runs.train import train


def test_tcl_learns_digits_of_which_half_the_labels_are_wrong(tmp_path):
    def summary(method: str) -> dict[str, float]:
        settings = {
            "method": method,
            "data.path": "digits",
            "noise.type": "symmetric",
            "noise.rate": 0.5,
            "optim.epochs": 12,
        }
        return train(build_config(settings=settings), tmp_path / method)

    tcl, plain = summary("tcl"), summary("cross-entropy")
    assert tcl["test_accuracy_last5_mean"] > 0.97
    assert tcl["test_accuracy_last5_mean"] > plain["test_accuracy_last5_mean"] + 0.02
    assert tcl["knn_accuracy"] > 0.97
    assert tcl["detection_auroc"] > 0.99
    assert tcl["detection_average_precision"] > 0.98
    assert abs(tcl["noise_rate_estimate"] - tcl["noise_rate_actual"]) < 0.03
    assert tcl["corrected_label_accuracy"] > 0.95
