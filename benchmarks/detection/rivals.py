"""The two rivals on one row: twincl's one training, and cleanlab on five folds of cross-entropy."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cells import RUNS
from benchmarks.detection.rows import Row
from twincl.config import Config, build_config
from twincl.data.batches import Batches
from twincl.data.stores import MemoryFeatures
from twincl.files import atomic_path
from twincl.results.metrics import auroc, average_precision
from twincl.runs.assemble import assemble
from twincl.runs.learn import learn
from twincl.runs.listener import Silence
from twincl.runs.prepare import Evaluation, Prepared, prepare
from twincl.runs.resolve import resolve
from twincl.training.loop import fit
from twincl.training.snapshot import take_snapshot

Figures = dict[str, Any]
FOLDS = 5
COST = ("seconds", "processor_seconds", "training_passes")
CPU = torch.device("cpu")


def run_twincl(row: Row, seed: int) -> Figures:
    """Everything that `twincl clean` reports, compared with the truth."""
    config, data = _prepare(row, seed, "tcl")
    start, worked = time.perf_counter(), time.process_time()
    config = resolve(config, data, CPU)
    training = assemble(config, data, CPU)
    history: list[dict[str, Any]] = []
    judged, found = learn(training, data, seed=config.seed, history=history, tell=Silence())
    steps = training.epochs * training.batches.steps_per_epoch
    return found | {
        "noise_rate_estimate": judged.of_training.noise_rate,
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - worked,
        "training_passes": 3 * steps * (config.optim.batch_size or 0),
    }


def run_cleanlab(row: Row, seed: int) -> Figures:
    """Out-of-fold probabilities, ranked and cut by cleanlab; embeddings get logistic regression."""
    config, data = _prepare(row, seed, "cross-entropy")
    given, truth = data.train.labels, data.evaluation.truth
    out_of_fold, cost = _logistic(config, data) if row.embedded else _networks(row, config, data)
    assert truth is not None
    wrong = given != truth
    figures: Figures = {"noise_rate_actual": float(wrong.mean()), **cost}
    for method in ("self_confidence", "normalized_margin"):
        quality = get_label_quality_scores(given, out_of_fold, method=method)
        figures[f"auroc_{method}"] = auroc(quality, wrong)
        figures[f"average_precision_{method}"] = average_precision(quality, wrong)
    issue = find_label_issues(given, out_of_fold, n_jobs=1)  # one thread, as everything here
    hits = float((issue & wrong).sum())
    figures["issue_precision"] = hits / float(issue.sum()) if issue.any() else None
    figures["issue_recall"] = hits / float(wrong.sum()) if wrong.any() else None
    figures["share_of_issues"] = float(issue.mean())
    figures["corrected_label_accuracy"] = float((np.where(issue, out_of_fold.argmax(1), given) == truth).mean())
    return figures


RIVALS: dict[str, Callable[[Row, int], Figures]] = {"twincl": run_twincl, "cleanlab": run_cleanlab}


def _prepare(row: Row, seed: int, method: str) -> tuple[Config, Prepared]:
    config = build_config(settings=row.settings | {"method": method, "seed": seed, "amp": False})
    data = prepare(config, CPU)
    if not row.embedded:
        return config, data
    pixels = data.train.images.batch(np.arange(len(data.train.labels))).flatten(1).float().numpy()
    vectors = PCA(row.components, random_state=0).fit_transform(pixels).astype(np.float32)
    train = replace(data.train, images=MemoryFeatures(vectors))
    evaluation = Evaluation(None, None, data.evaluation.truth, "none")
    plain = {key: value for key, value in row.settings.items() if not key.startswith(("augment.", "model."))}
    config = build_config(settings=plain | {"method": method, "seed": seed, "amp": False})
    return config, replace(data, train=train, held_out=None, evaluation=evaluation)


def _networks(row: Row, config: Config, data: Prepared) -> tuple[NDArray[np.float32], Figures]:
    """Cross-entropy with the same encoder, views and epochs, once for each fold; a finished fold is kept."""
    given = data.train.labels
    probabilities = np.zeros((len(given), len(data.classes)), np.float32)
    cost = np.zeros(len(COST))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=config.seed).split(given, given)
    for number, (rest, fold) in enumerate(folds):
        kept = RUNS / "detection" / f"{row.name}-{row.digest}-seed{config.seed}-fold{number}.npz"
        if not kept.is_file():
            said, spent = _fold(config, data, rest, fold)
            kept.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(kept) as temporary, temporary.open("wb") as file:
                np.savez(file, said=said, spent=spent)
        with np.load(kept) as found:
            probabilities[fold] = found["said"]
            cost += found["spent"]
    return probabilities, dict(zip(COST, cost.tolist(), strict=True))


def _fold(
    config: Config, data: Prepared, rest: NDArray[np.int64], fold: NDArray[np.int64]
) -> tuple[NDArray[np.float32], list[float]]:
    """What a network that has learned from `rest` says of `fold`, and what that cost."""
    start, worked = time.perf_counter(), time.process_time()
    part = replace(data, train=data.train.take(rest))
    resolved = resolve(config, part, CPU)
    training = assemble(resolved, part, CPU)
    for _ in fit(
        training.state,
        training.views,
        training.batches,
        epochs=training.epochs,
        seed=config.seed,
        amp=False,
        schedule=training.schedule,
    ):
        pass
    held = Batches(data.train.images.subset(fold), data.train.labels[fold], batch_size=min(256, len(fold)), device=CPU)
    snapshot = take_snapshot(training.state.net, training.views, held.in_order(), amp=False)
    passes = training.epochs * training.batches.steps_per_epoch * (resolved.optim.batch_size or 0)
    return snapshot.probabilities.numpy(), [time.perf_counter() - start, time.process_time() - worked, passes]


def _logistic(config: Config, data: Prepared) -> tuple[NDArray[np.float32], Figures]:
    start, worked = time.perf_counter(), time.process_time()
    vectors = data.train.images.batch(np.arange(len(data.train.labels))).numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=config.seed)
    found = cross_val_predict(model, vectors, data.train.labels, cv=folds, method="predict_proba")
    spent = (time.perf_counter() - start, time.process_time() - worked, 0)
    return found.astype(np.float32), dict(zip(COST, spent, strict=True))
