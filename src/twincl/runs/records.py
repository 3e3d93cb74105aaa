"""What is written about a training: the line of an epoch, the summary, the description of the model."""

from typing import Any

from twincl import __version__
from twincl.config import Config
from twincl.methods.method import Snapshot, Verdict
from twincl.results.issues import is_issue
from twincl.results.metrics import accuracy, detection, knn_accuracy, last_epochs, noise_rate_estimate
from twincl.runs.prepare import Prepared
from twincl.training.loop import Epoch

Record = dict[str, Any]


def epoch_record(epoch: Epoch, data: Prepared, test: Snapshot | None) -> Record:
    """The line of metrics.jsonl."""
    record: Record = {"epoch": epoch.number, "lr": epoch.learning_rate, "loss": sum(epoch.losses.values())}
    record |= {f"loss_{name}": value for name, value in epoch.losses.items()}
    truth, given = data.evaluation.truth, data.train.labels
    if epoch.snapshot is not None and epoch.verdict is not None:
        record["noise_rate_estimate"] = noise_rate_estimate(epoch.verdict, given)
        record["train_agreement"] = accuracy(epoch.snapshot.probabilities, given)
        if truth is not None:
            record["train_accuracy"] = accuracy(epoch.snapshot.probabilities, truth)
            record |= detection(epoch.verdict, given, truth)
    if test is not None and data.evaluation.labels is not None:
        record["test_accuracy"] = accuracy(test.probabilities, data.evaluation.labels)
    record["train_seconds"] = round(epoch.train_seconds, 3)
    return record


def summarise(
    config: Config,
    data: Prepared,
    history: list[Record],
    snapshot: Snapshot,
    verdict: Verdict,
    test: Snapshot | None,
) -> Record:
    """What summary.json says of a finished training."""
    mean, deviation = last_epochs(history, "test_accuracy")
    truth, given, evaluation = data.evaluation.truth, data.train.labels, data.evaluation
    seconds = sum(record["train_seconds"] for record in history)
    summary: Record = {
        "method": config.method,
        "preset": config.preset,
        "seed": config.seed,
        "epochs": config.optim.epochs,
        "num_train": len(given),
        "num_classes": len(data.classes),
        "num_test": 0 if evaluation.labels is None else len(evaluation.labels),
        "test_data": evaluation.origin,
        "test_accuracy": history[-1].get("test_accuracy"),
        "test_accuracy_last5_mean": mean,
        "test_accuracy_last5_std": deviation,
        "knn_accuracy": None,
        "noise_rate_estimate": noise_rate_estimate(verdict, given),
    }
    if test is not None and evaluation.labels is not None:
        neighbours = given if truth is None else truth
        summary["knn_accuracy"] = knn_accuracy(snapshot, neighbours, test, evaluation.labels)
    if truth is not None:
        summary |= detection(verdict, given, truth)
    steps = config.optim.epochs * (len(given) // (config.optim.batch_size or 1))
    summary |= {
        "num_label_issues": int(is_issue(verdict, given).sum()),
        "train_seconds": round(seconds, 2),
        "samples_per_second": round(steps * (config.optim.batch_size or 1) / max(seconds, 1e-9), 1),
        "twincl_version": __version__,
    }
    return summary


def describe_model(config: Config, data: Prepared) -> Record:
    """What model.json says: all that is needed to use the weights."""
    model, augment = config.model, config.augment
    channels, height, _ = data.train.images.shape
    return {
        "twincl": __version__,
        "method": config.method,
        "encoder": model.name,
        "shortcut": model.shortcut,
        "feat_dim": model.feat_dim,
        "head_bn": model.head_bn,
        "dropout": model.dropout,
        "classes": list(data.classes),
        "channels": channels,
        "img_size": height,
        "mean": list(augment.mean or ()),
        "std": list(augment.std or ()),
    }
