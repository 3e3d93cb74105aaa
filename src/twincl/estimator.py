"""The scikit-learn face of twincl: the training of the command line as an estimator, on arrays and in memory."""

import os
import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from twincl.config import Config, build_config, valid_keys
from twincl.data.arrays import as_split, white_level
from twincl.data.dataset import RawSplit
from twincl.errors import InputError
from twincl.results.model_file import Model
from twincl.results.settings import flatten
from twincl.runs.apply import apply_model
from twincl.runs.assemble import assemble
from twincl.runs.judge import Judged
from twincl.runs.labels import named_labels
from twincl.runs.learn import learn
from twincl.runs.listener import Silence
from twincl.runs.predict import split_to_predict
from twincl.runs.prepare import Prepared, prepare_all
from twincl.runs.read import read_configured
from twincl.runs.records import Record
from twincl.runs.resolve import resolve
from twincl.shapes import is_vector
from twincl.training.device import choose_device, undisturbed

_NOT_HERE = {  # settings of a run that an estimator is told in another way, or has no use for
    "seed": "pass random_state",
    "method": "pass it as a parameter",
    "preset": "pass it as a parameter",
    "device": "pass it as a parameter",
    "data.path": "pass it to fit as X",
    "data.labels": "pass them to fit as y",
    "data.limit": "pass fewer samples to fit",
    "data.test": "call score with the test data",
    "data.true_labels": "compare suggested_labels_ with them",
    "data.holdout": "fit learns from all samples",
    "data.min_class_size": "fit takes classes of any size",
    **{key: "change y before fit" for key in valid_keys() if key.startswith("noise.")},
    **{key: "fine-tune a run on disk with twincl finetune" for key in valid_keys() if key.startswith("finetune.")},
}


class TwinClassifier(ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that does not learn wrong labels, and finds them.

    It learns from embeddings and other feature vectors, from images, or from data on disk, and trains as `twincl train`
    does, except that nothing is held out. `predict` and `predict_proba` are the classifier's, `transform` gives the
    learned representations, and the attributes say what is thought of each label that `fit` was given.

    Args:
        method: how to learn: "tcl", "cross-entropy", "mixup" or "baseline".
        preset: settings to begin with: "default", "paper", "official", ...
        epochs: passes over the samples; None, here and below, leaves the choice to preset, data and device.
        batch_size: samples of a step, all of them where there are fewer.
        lr: peak learning rate.
        model: encoder, such as "small" or "resnet18" for images, "mlp" for features.
        augment: views of images, "natural" or "symbols"; those of features are always "features".
        device: "auto", "cpu", "cuda", ...; only while computing: a fitted estimator can be loaded anywhere.
        settings: any other setting by its dotted name, such as {"tcl.tau": 0.3}, or in its section, such as
            {"tcl": {"tau": 0.3}}; `twincl settings` lists them.
        random_state: a number repeats a training exactly, on the same machine; None takes NumPy's global state.
        verbose: above zero prints a line an epoch.

    Attributes:
        classes_: the distinct labels (K,), sorted.
        label_issues_: one row a sample, in the order of X, with the columns of `label_issues.csv`; labels as in y.
            Images of a path that cannot be decoded have none, of which `fit` warns: M rows for N samples. The column
            `index` says which sample of X, counted from 0, a row here and in the next three is of.
        label_quality_: (M,) probability of the given label by classifier and neighbours; low is suspect.
        clean_probability_: (M,) that the given label is right, knowing also how these labels err.
        suggested_labels_: (M,) the most likely class, knowing both: y with its errors mended.
        noise_rate_: estimated share of wrong labels; those in `history_` are by the classifier alone.
        transition_matrix_: (K, K) row: given label; column: share of it that is of a class.
        history_: a dictionary an epoch, as in `metrics.jsonl`.
        n_features_in_: of feature vectors.
        feature_names_in_: of feature vectors in a table whose columns have names.
    """

    def __init__(
        self,
        *,
        method: str = "tcl",
        preset: str = "default",
        epochs: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        model: str | None = None,
        augment: str | None = None,
        device: str = "auto",
        settings: Mapping[str, Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.preset = preset
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.model = model
        self.augment = augment
        self.device = device
        self.settings = settings
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from samples and labels that may be wrong, and judge the labels.

        Args:
            X: feature vectors (N, D); images (N, H, W), (N, H, W, C) or (N, C, H, W), uint8 or floats in 0..1, as NumPy
                arrays or tensors; or the path of a data set, of which the training split is taken.
            y: (N,) labels, numbers or text; None takes those of the data set at the path.

        Raises:
            InputError: a `ValueError`; parameters or data cannot be used.
            TrainingError: the training cannot go on.
        """
        config, device = self._config(), choose_device(self.device)
        split, y, hint = self._training_split(X, y, config)
        classes, labels = self._encode(split, y)

        with undisturbed(device), config_context(array_api_dispatch=False):  # our mixtures are fitted to NumPy arrays
            prepared = prepare_all(split, labels, tuple(map(str, classes)), config, device, augment_hint=hint)
            _warn_of_skipped(prepared)
            resolved = resolve(_no_larger_batch(config, len(prepared.train.labels)), prepared, device)
            training = assemble(resolved, prepared, device)
            history: list[Record] = []
            judged, _ = learn(
                training,
                prepared,
                seed=config.seed,
                history=history,
                tell=_Lines() if self.verbose else Silence(),
            )
        self._data_settings = config.data  # to read data alike when asked, whatever parameters are set until then
        net, shape = training.state.net.cpu().eval(), prepared.train.images.shape
        net.zero_grad(set_to_none=True)
        self._model = Model(net, training.views, prepared.classes, shape, judged.temperature)
        self._n_features_out = net.feat_dim
        if is_vector(shape):
            self.n_features_in_ = shape[0]
        self.classes_ = classes
        self.history_ = history
        self._keep(judged, prepared.classes)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most likely class (N,) of each sample.

        X is of the kind that `fit` got, here and in what follows, or the path of a data set, of which the test split is
        taken where there is one, as `twincl predict` does.
        """
        probabilities = self.predict_proba(X)
        answer: NDArray[Any] = self.classes_[probabilities.argmax(1)]
        return answer

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The classifier's calibrated probability of each class, (N, K) in the order of `classes_`."""
        return self._outputs(X)[1]

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The learned representations (N, D), rows of unit length."""
        return self._outputs(X)[0]

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Fit, and the representations (N, D) of what was learned from: of a path the training split."""
        return self.fit(X, y)._outputs(X, learned=True)[0]

    def find_label_issues(self, X: Any, y: Any = None) -> pd.DataFrame:
        """Fit, and return `label_issues_`."""
        return self.fit(X, y).get_label_issues()

    def get_label_issues(self) -> pd.DataFrame:
        """`label_issues_`: what is thought of each label that `fit` was given."""
        check_is_fitted(self)
        issues: pd.DataFrame = self.label_issues_
        return issues

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _config(self) -> Config:
        settings = flatten(self.settings or {})
        for key in settings.keys() & _NOT_HERE:
            raise InputError(f"the setting '{key}' is not for an estimator: {_NOT_HERE[key]}")
        named = {
            "optim.epochs": self.epochs,
            "optim.batch_size": self.batch_size,
            "optim.lr": self.lr,
            "model.name": self.model,
            "augment.name": self.augment,
            "method": self.method,
            "device": self.device,
            "seed": self._seed(),
        }
        settings |= {key: value for key, value in named.items() if value is not None}
        return build_config(preset=self.preset, settings=settings)

    def _seed(self) -> int:
        """A number is the seed itself, as on the command line; otherwise one is drawn."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _training_split(self, X: Any, y: Any, config: Config) -> tuple[RawSplit, Any, str]:
        """The samples, their labels and the kind of views that suits them."""
        for name in {"n_features_in_", "feature_names_in_"} & vars(self).keys():  # of an earlier fit
            delattr(self, name)
        self._white = None
        if _is_path(X):
            data = read_configured(config.data, os.fspath(X))
            own = data.train.labels
            return (
                data.train,
                named_labels(own, data.classes) if y is None and own is not None else y,
                data.augment_hint,
            )
        X = _as_array(X)
        if _is_images(X) and X.dtype != np.uint8:
            self._white = white_level(X, where="X")  # of one dark image alone it could not be told
        return self._split(X, reset=True), y, "natural"

    def _split(self, X: Any, *, reset: bool) -> RawSplit:
        """Samples in an array or a table, checked; `reset` where they are to be learned from."""
        if _is_images(X):
            return as_split(X, where="X", white=self._white)
        return as_split(validate_data(self, X, dtype=np.float32, reset=reset), where="X")

    def _encode(self, split: RawSplit, y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The distinct labels, and the number among them of each sample's."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        given = column_or_1d(_as_array(y), warn=True)
        assert_all_finite(given, input_name="y")
        check_classification_targets(given)
        check_consistent_length(split.names, given)
        classes, labels = np.unique(given, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"Classifier can't train when only one class is present: all labels are {classes[0]!r}.")
        return classes, labels.astype(np.int64)

    def _keep(self, judged: Judged, names: tuple[str, ...]) -> None:
        """The judgement as attributes, with labels as they came."""
        judgement = judged.judgement
        self.label_quality_ = judgement.label_quality
        self.clean_probability_ = judgement.clean_probability
        self.suggested_labels_ = self.classes_[judgement.suggested]
        self.noise_rate_ = judgement.noise_rate
        self.transition_matrix_ = judgement.transition_matrix
        table, number = judged.table(names).sort_values("index", ignore_index=True), pd.Index(names)
        for column in ("given_label", "predicted_label", "suggested_label"):
            table[column] = self.classes_[number.get_indexer(pd.Index(table[column]))]
        self.label_issues_ = table

    def _outputs(self, X: Any, *, learned: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Representations (N, D) and class probabilities (N, K); of a path of the split `learned` from, if asked."""
        check_is_fitted(self)
        settings = self._data_settings
        if _is_path(X):
            data = read_configured(settings.model_copy(update={"label_column": None}), os.fspath(X))
            split = data.train if learned else split_to_predict(data)
        else:
            split = self._split(_as_array(X), reset=False)
        found = apply_model(
            self._model,
            split,
            choose_device(self.device),
            workers=settings.workers,
            memory_limit=settings.memory_limit_mb * 2**20,
        )
        if found.broken:
            name, reason = found.broken[0]
            raise InputError(f"{len(found.broken)} of {len(split)} images cannot be decoded, such as {name}: {reason}")
        return found.embeddings.double().numpy(), found.probabilities.double().numpy()


def find_label_issues(X: Any, y: Any = None, **parameters: Any) -> pd.DataFrame:
    """What is thought of each label: `TwinClassifier(**parameters).find_label_issues(X, y)`.

    One row a sample that can be decoded, in the order of X, as the column `index` counts them; `is_label_issue`,
    `label_quality`, `given_label` and `predicted_label` mean what they mean in cleanlab.
    """
    return TwinClassifier(**parameters).find_label_issues(X, y)


class _Lines(Silence):
    """Prints a line an epoch."""

    def epoch(self, record: Record, epochs: int) -> None:
        """Loss, the share of labels thought wrong, time."""
        wrong = record.get("noise_rate_estimate")
        judged = "" if wrong is None else f"  wrong labels {wrong:.1%}"
        print(f"epoch {record['epoch']}/{epochs}  loss {record['loss']:.3f}{judged}  {record['seconds']:.1f} s")


def _is_path(X: Any) -> bool:
    return isinstance(X, str | os.PathLike)


def _as_array(values: Any) -> Any:
    """A tensor, or images in whatever holds them, as an array; all else is left to scikit-learn's own checks."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu()
        return (values.float() if values.dtype == torch.bfloat16 else values).numpy()
    axes = np.ndim(values) if isinstance(values, list | tuple) else len(getattr(values, "shape", ()))
    return np.asarray(values) if axes > 2 else values


def _is_images(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim > 2


def _no_larger_batch(config: Config, count: int) -> Config:
    """A batch is at most all samples: a preset, or a grid search, does not know how many there are in a fold."""
    optim = config.optim
    return config.model_copy(
        update={"optim": optim.model_copy(update={"batch_size": optim.batch_size and min(optim.batch_size, count)})}
    )


def _warn_of_skipped(data: Prepared) -> None:
    if data.skipped:
        name, reason, *_ = data.skipped[0]
        warnings.warn(
            f"{len(data.skipped)} images cannot be decoded and are left out, such as {name}: {reason}; "
            "the column 'index' of label_issues_ tells which are in it",
            stacklevel=3,
        )
