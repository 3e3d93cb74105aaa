"""Every setting: its type, its range, its default and, as the comment beside it, what it means.

A field that is None is not used, or chosen by the run from the data and the device; `config.yaml` of a run holds what
was chosen. The comments are what `twincl settings` prints.
"""

from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from twincl.methods.mixup import MixupSettings
from twincl.methods.tcl import TCLSettings

Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the configuration: frozen, no unknown keys, every number finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DataSettings(Section):
    """Where images or feature vectors and labels come from."""

    path: str = "digits"  # folder, table, arrays, CIFAR or IDX folder, or "digits"
    test: str | None = None  # test data where `path` has no split for it
    labels: str | None = None  # file with labels that replace those of `path`; FILE:KEY picks a column or key
    true_labels: str | None = None  # file with the truth, for evaluation only
    image_column: str | None = None  # of a table; None: the first of the usual names
    label_column: str | None = None  # column with labels; None: one of the usual names
    allow_outside: bool = False  # let tables name files outside their own folder
    img_size: Annotated[int, Field(ge=4, le=1024)] | None = None  # side in pixels
    channels: Literal[1, 3, 4] | None = None  # of the images; None: as they are
    limit: Count | None = None  # use only the first so many training images
    max_classes: Count | None = None  # use only the first so many classes; None: all, of WebVision 50
    holdout: Annotated[float, Field(ge=0, lt=1)] = 0.2  # share held out for testing where there is no test data
    min_class_size: Count = 2  # fewer images of a class than this are refused
    workers: Annotated[int, Field(ge=0)] | None = None  # processes that decode images which do not fit in memory
    memory_limit_mb: Count = 2048  # decoded images beyond this are streamed from disk


class NoiseSettings(Section):
    """Noise added to the training labels on load; the labels read then count as the truth."""

    type: Literal["none", "symmetric", "asymmetric", "pair", "matrix", "instance"] = "none"  # how labels go wrong
    rate: Share | None = None  # share of the labels to disturb; every type but "matrix" needs one
    include_own: bool = True  # symmetric noise may redraw the right class, as in the literature
    matrix: str | None = None  # .npy or .csv file with the transition matrix of type "matrix"
    seed: Annotated[int, Field(ge=0)] | None = None  # None: the run's seed


class ModelSettings(Section):
    """Encoder and heads."""

    name: str | None = None  # small, preact_resnet18, resnet18, resnet50, timm:NAME; mlp for features
    weights: str | None = None  # local file with ImageNet weights for resnet18 and resnet50
    feat_dim: Count = 128  # dimension of the representation
    head_bn: bool = True  # batch norm after the last layer of both heads
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.25  # in the classifier
    shortcut: Literal["activated", "identity"] = "activated"  # what a pre-activation block carries past itself


class AugmentSettings(Section):
    """The views; a field that is None keeps the value of the named policy."""

    name: Literal["natural", "symbols", "features"] | None = None  # of photographs, of signs, of feature vectors
    crop_min: Annotated[float, Field(gt=0, le=1)] | None = None  # smallest share of the area that a crop keeps
    flip_p: Share | None = None  # probability that a view is mirrored
    jitter_p: Share | None = None  # probability that brightness, contrast, saturation and hue change
    gray_p: Share | None = None  # probability that colours are taken away
    solarize_p: Share | None = None  # probability that bright pixels are inverted
    blur_p: Share | None = None  # probability that a view is blurred
    noise: NotNegative | None = None  # noise on features, in their standard deviations
    dropout: Annotated[float, Field(ge=0, lt=1)] | None = None  # share of the features that a view leaves out
    mean: tuple[float, ...] | None = None  # per channel; None: of the training data, with model.weights of ImageNet
    std: tuple[float, ...] | None = None  # per channel; None: of the training data, with model.weights of ImageNet


class OptimSettings(Section):
    """Stochastic gradient descent and its schedule."""

    epochs: Count | None = None  # None: 40, of feature vectors 20, or 10 from 25,000 on
    batch_size: Annotated[int, Field(ge=2)] | None = None  # of all devices together
    steps_per_epoch: Count | None = None  # at most so many, on a sample balanced by given label; None: all images
    estep: Literal["all", "sample"] = "all"  # after an epoch judge every image, or those that the next one learns from
    lr: Positive | None = None  # None: lr_base scaled by the batch size
    lr_base: Positive | None = None  # rate for a batch of 256; None: 0.06, of feature vectors 0.12
    lr_scaling: Literal["linear", "sqrt"] = "sqrt"  # how the rate follows the batch size
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9  # of the gradients
    weight_decay: NotNegative = 1e-3  # on all parameters
    warmup_epochs: Annotated[int, Field(ge=0)] | None = None  # linear warm-up of the rate; None: a tenth of all
    cosine_span: Literal["total", "remaining"] = "remaining"  # length of the cosine
    lr_floor: Share = 0.01  # lowest rate, as a share of the peak


class FinetuneSettings(Section):
    """Going on from a finished run (TCL+)."""

    run: str | None = None  # its folder; None: training starts from new weights and all labels
    learn_from: Literal["clean", "relabelled"] = "clean"  # labels judged clean; all, others where the mixture is sure
    threshold: Share = 0.5  # of w, or of the posterior as a share of its largest
    new_classifier: bool = False  # keep only the encoder and the representation


class Config(Section):
    """One training, completely."""

    method: str = "tcl"  # tcl, baseline, mixup or cross-entropy
    preset: str = "default"  # what the values here began with
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0  # same seed, same numbers
    device: str = "auto"  # auto, cpu, cuda, cuda:1 ...
    amp: bool | None = None  # true: bfloat16, false: float32; None: the faster, measured
    data: DataSettings = DataSettings()
    noise: NoiseSettings = NoiseSettings()
    model: ModelSettings = ModelSettings()
    augment: AugmentSettings = AugmentSettings()
    optim: OptimSettings = OptimSettings()
    tcl: TCLSettings = TCLSettings()
    mixup: MixupSettings = MixupSettings()
    finetune: FinetuneSettings = FinetuneSettings()


def valid_keys() -> list[str]:
    """Every setting by its dotted name, in the order of the configuration."""
    keys = []
    for name, field in Config.model_fields.items():
        inner = field_names(field.annotation)
        keys += [f"{name}.{key}" for key in inner] if inner else [name]
    return keys


def field_names(kind: Any) -> list[str]:
    """The settings of a section, whichever way it is declared; none of anything else."""
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, Section) else []
