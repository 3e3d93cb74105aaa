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

from benchmarks.detection.rows import Row
from twincl.config import Config, build_config
from twincl.data.batches import Batches
from twincl.data.stores import MemoryFeatures
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
    start, worked = time.perf_counter(), time.process_time()
    out_of_fold, passes = (_logistic if row.embedded else _networks)(config, data)
    cost = {"seconds": time.perf_counter() - start, "processor_seconds": time.process_time() - worked}
    assert truth is not None
    wrong = given != truth
    figures: Figures = {"noise_rate_actual": float(wrong.mean()), "training_passes": passes, **cost}
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


def _networks(config: Config, data: Prepared) -> tuple[NDArray[np.float32], int]:
    """Cross-entropy with the same encoder, views and epochs, once for each fold."""
    given = data.train.labels
    probabilities = np.zeros((len(given), len(data.classes)), np.float32)
    passes = 0
    for rest, fold in StratifiedKFold(FOLDS, shuffle=True, random_state=config.seed).split(given, given):
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
            passes += training.batches.steps_per_epoch * (resolved.optim.batch_size or 0)
        held = Batches(data.train.images.subset(fold), given[fold], batch_size=min(256, len(fold)), device=CPU)
        snapshot = take_snapshot(training.state.net, training.views, held.in_order(), amp=False)
        probabilities[fold] = snapshot.probabilities.numpy()
    return probabilities, passes


def _logistic(config: Config, data: Prepared) -> tuple[NDArray[np.float32], int]:
    vectors = data.train.images.batch(np.arange(len(data.train.labels))).numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=config.seed)
    found = cross_val_predict(model, vectors, data.train.labels, cv=folds, method="predict_proba")
    return found.astype(np.float32), 0
