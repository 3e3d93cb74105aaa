"""What is written about a training: the line of an epoch, the summary, the description of the model."""

from typing import Any

import numpy as np

from twincl import __version__
from twincl.config import Config
from twincl.methods.method import Snapshot
from twincl.results.judgement import Judgement
from twincl.results.metrics import FEW_CLASSES, accuracy, auroc, detection, knn_accuracy, last_epochs, top_accuracy
from twincl.runs.judge import Judged
from twincl.runs.prepare import Prepared
from twincl.runs.resolve import normalisation
from twincl.training.loop import Epoch

Record = dict[str, Any]


def epoch_record(epoch: Epoch, data: Prepared, judgement: Judgement | None, test: Snapshot | None) -> Record:
    """The line of metrics.jsonl; `judgement` is of the training labels by the classifier, where the epoch has one.

    Both it and the epoch's own detection, which may be missing, are of the rows that the epoch looked at.
    """
    record: Record = {"epoch": epoch.number, "lr": epoch.learning_rate, "loss": sum(epoch.losses.values())}
    record |= {f"loss_{name}": value for name, value in epoch.losses.items()}
    if epoch.snapshot is not None and judgement is not None:
        given = data.train.labels[epoch.seen]
        truth = None if data.evaluation.truth is None else data.evaluation.truth[epoch.seen]
        record["noise_rate_estimate"] = judgement.noise_rate
        record["train_agreement"] = accuracy(epoch.snapshot.probabilities, given)
        if truth is not None:
            record["train_accuracy"] = accuracy(epoch.snapshot.probabilities, truth)
            record |= detection(judgement, truth)
        if truth is not None and epoch.detection is not None:
            record["detection_auroc_score"] = auroc(epoch.detection.score.cpu().numpy(), given != truth)
            record["detection_auroc_w"] = auroc(epoch.detection.clean.cpu().numpy(), given != truth)
    if test is not None and data.evaluation.labels is not None:
        record["test_accuracy"] = accuracy(test.probabilities, data.evaluation.labels)
        if len(data.classes) > FEW_CLASSES:
            record["test_accuracy_top5"] = top_accuracy(test.probabilities, data.evaluation.labels, 5)
    record["train_seconds"] = round(epoch.train_seconds, 3)
    return record


def final_metrics(data: Prepared, judged: Judged, snapshot: Snapshot, test: Snapshot | None) -> Record:
    """What evaluation says at the end: k-NN accuracy, and detection where the truth is known."""
    truth, evaluation = data.evaluation.truth, data.evaluation
    metrics: Record = {"knn_accuracy": None}
    if test is not None and evaluation.labels is not None:
        neighbours = data.train.labels if truth is None else truth
        metrics["knn_accuracy"] = knn_accuracy(snapshot, neighbours, test, evaluation.labels)
    if truth is not None:
        metrics |= detection(judged.of_training, truth)
    return metrics


def summarise(
    config: Config, data: Prepared, history: list[Record], judged: Judged, evaluated: Record, learned: int
) -> Record:
    """What summary.json says of a finished training, in which `learned` samples were learned from, each epoch anew.

    Issues and the rates by class are of all judged labels; the estimated noise rate, like the actual one, of those
    that were learned from.
    """
    mean, deviation = last_epochs(history, "test_accuracy")
    given, evaluation = data.train.labels, data.evaluation
    seconds = sum(record["train_seconds"] for record in history)
    judgement = judged.judgement
    shares = judgement.transition_matrix
    return {
        "method": config.method,
        "preset": config.preset,
        "seed": config.seed,
        "epochs": len(history),
        "num_train": len(given),
        "num_judged": len(judgement.given),
        "num_classes": len(data.classes),
        "num_test": 0 if evaluation.labels is None else len(evaluation.labels),
        "test_data": evaluation.origin,
        "test_accuracy": history[-1].get("test_accuracy"),
        **({"test_accuracy_top5": history[-1]["test_accuracy_top5"]} if "test_accuracy_top5" in history[-1] else {}),
        "test_accuracy_last5_mean": mean,
        "test_accuracy_last5_std": deviation,
        **evaluated,
        "num_label_issues": int(judgement.is_issue.sum()),
        "noise_rate_estimate": judged.of_training.noise_rate,
        "noise_rate_by_class": dict(zip(data.classes, (1 - np.diag(shares)).round(4).tolist(), strict=True)),
        "transition_matrix": shares.round(4).tolist(),
        "temperature": round(judged.temperature, 4),
        "train_seconds": round(seconds, 2),
        "samples_per_second": round(learned / max(seconds, 1e-9), 1),
        "twincl_version": __version__,
    }


def describe_model(config: Config, data: Prepared, temperature: float) -> Record:
    """What model.json says: all that is needed to use the weights; `temperature` calibrates what they say."""
    model = config.model
    mean, std = normalisation(config, data.train.images)
    return {
        "twincl": __version__,
        "method": config.method,
        "encoder": model.name,
        "shortcut": model.shortcut,
        "feat_dim": model.feat_dim,
        "head_bn": model.head_bn,
        "dropout": model.dropout,
        "classes": list(data.classes),
        "shape": list(data.train.images.shape),
        "mean": list(mean),
        "std": list(std),
        "temperature": temperature,
    }
