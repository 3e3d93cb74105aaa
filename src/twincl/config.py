"""Typed, frozen, validated configuration: preset, then YAML file, then flags; the resolved one is saved with the run.

This module and `runs` are the edge: below them code takes plain arguments. A field that is None is not used, or chosen
by the run from the data and the device; `config.yaml` of a run holds what was chosen. Comments beside the fields are
what `twincl settings` prints.
"""

import inspect
import re
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from twincl.errors import InputError, nearest
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


Values = dict[str, Any]

_PAPER: Values = {
    "amp": False,
    "model": {
        "name": "preact_resnet18",
        "feat_dim": 128,
        "head_bn": True,
        "dropout": 0.25,
        "shortcut": "identity",
    },
    "augment": {"name": "natural", "solarize_p": 0.0},
    "optim": {
        "epochs": 200,
        "batch_size": 256,
        "lr_base": 0.03,
        "lr_scaling": "linear",
        "weight_decay": 1e-3,
        "warmup_epochs": 20,
        "cosine_span": "remaining",
        "lr_floor": 0.0,
    },
    "tcl": {
        "tau": 0.25,
        "sigma": "per_class_eq6",
        "gmm_scope": "global",
        "gmm_score": "posterior",
        "gmm_prior": "shared",
        "gmm_rescale": False,
        "gmm_monotone": False,
        "label_scale_cross": "none",
        "label_scale_mix": "none",
        "label_epochs": 0,
        "views": "strong-strong",
        "mix_sources": "weak",
        "mix_per_sample": True,
        "mix_dominant": False,
        "entropy_views": "strong+mix",
        "forward_unmixed": False,
    },
}

_OFFICIAL: Values = {
    "amp": False,
    "model": {
        "name": "preact_resnet18",
        "feat_dim": 256,
        "head_bn": True,
        "dropout": 0.25,
        "shortcut": "activated",
    },
    "augment": {"name": "natural", "solarize_p": 0.5},
    "optim": {
        "epochs": 200,
        "batch_size": 256,
        "lr_base": 0.03,
        "lr_scaling": "linear",
        "weight_decay": 1e-3,
        "warmup_epochs": 20,
        "cosine_span": "total",
        "lr_floor": 0.01,
    },
    "tcl": {
        "tau": 0.25,
        "sigma": "tau",
        "gmm_scope": "auto",
        "gmm_score": "posterior",
        "gmm_prior": "shared",
        "gmm_rescale": True,
        "gmm_monotone": False,
        "label_scale_cross": "clean_fraction",
        "label_scale_mix": "clean_fraction",
        "label_epochs": 19,
        "views": "strong-strong",
        "mix_sources": "all",
        "mix_per_sample": False,
        "mix_dominant": True,
        "entropy_views": "strong+mix",
        "forward_unmixed": True,
    },
}


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> Values:
    """Nested dictionaries joined, `over` winning key by key."""
    joined = dict(base)
    for key, value in over.items():
        inner = joined.get(key)
        joined[key] = merge(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return joined


# The paper's experiments on real noise, for which no configuration was released; of images the centre square is seen.
_WEBVISION: Values = merge(
    _PAPER,
    {
        "data": {"img_size": 224, "max_classes": 50},
        "model": {"name": "resnet18"},
        "optim": {"epochs": 130, "warmup_epochs": 10},
    },
)
_CLOTHING: Values = merge(
    _PAPER,
    {
        "data": {"img_size": 224},
        "model": {"name": "resnet50"},  # the paper begins with ImageNet weights: model.weights
        "optim": {"epochs": 40, "warmup_epochs": 0, "lr_base": 0.01, "steps_per_epoch": 256, "estep": "sample"},
    },
)

PRESETS: dict[str, Values] = {
    "default": {},
    "paper": _PAPER,
    "official": _OFFICIAL,
    # The released configurations as they ran: 256 on each of four devices, the contrastive gradient divided by four.
    "official-4gpu": merge(_OFFICIAL, {"optim": {"batch_size": 1024}, "tcl": {"weight_contrast": 0.25}}),
    "official-c100": merge(_OFFICIAL, {"tcl": {"gmm_scope": "per_class", "label_scale_mix": "none"}}),
    "webvision": _WEBVISION,
    "clothing1m": _CLOTHING,
}


def valid_keys() -> list[str]:
    """Every setting by its dotted name, in the order of the configuration."""
    keys = []
    for name, field in Config.model_fields.items():
        inner = _field_names(field.annotation)
        keys += [f"{name}.{key}" for key in inner] if inner else [name]
    return keys


def _field_names(kind: Any) -> list[str]:
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, Section) else []


def build_config(*, preset: str | None = None, file: Path | None = None, settings: Mapping[str, Any]) -> Config:
    """Join preset, YAML file and `settings` (dotted names), the later winning, and check the result.

    Raises:
        InputError: an unknown preset or key, a value of the wrong type or range, an unreadable file, or one that was
            written for another preset.
    """
    from_file = _read_yaml(file) if file else {}
    asked, of_file = preset or settings.get("preset"), from_file.get("preset")
    name = str(asked or of_file or "default")
    if name not in PRESETS:
        raise InputError(f"unknown preset '{name}': {nearest(name, list(PRESETS))}")
    if asked and of_file and asked != of_file:
        raise InputError(
            f"{file} was written for the preset '{of_file}', and its settings would stay when '{asked}' is asked for; "
            "leave out one of the two, or take from the file what it did not change"
        )
    nested: Values = {}
    for key, value in settings.items():
        section, _, inner = key.partition(".")
        nested = merge(nested, {section: {inner: value}} if inner else {section: value})
    nested["preset"] = name
    _refuse_unknown(_dotted(from_file), where=f" in {file}")
    _refuse_sections(settings)
    _refuse_unknown(settings, where="")
    try:
        return Config.model_validate(merge(merge(PRESETS[name], from_file), nested))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"] if isinstance(part, str) and "[" not in part)
        reason = first["msg"].replace("Input should", "it should", 1)
        raise InputError(f"the value {reprlib.repr(first['input'])} of {key} cannot be used: {reason}") from None


def parse_assignments(assignments: Iterable[str]) -> Values:
    """`section.key=value` strings as a dictionary; the value is read as YAML, so 0.1, true, null and text all work."""
    settings = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise InputError(f"--set needs section.key=value, not '{assignment}'")
        try:
            settings[key.strip()] = _number(yaml.safe_load(text))
        except Exception:  # besides its own errors, PyYAML lets those of the values through
            raise InputError(f"the value in --set '{assignment}' is not valid YAML") from None
    return settings


def _number(value: Any) -> Any:
    """YAML reads 1e-3 as text; people mean the number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def to_yaml(config: Config) -> str:
    """The whole configuration as YAML, readable by `build_config`."""
    return yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def explained(config: Config) -> str:
    """The configuration as YAML with what each setting means beside it, as the comments in the sources say."""
    section, lines = "", []
    meanings = _meanings(Config, "")
    for name, field in Config.model_fields.items():
        meanings |= _meanings(field.annotation, f"{name}.")
    for line in to_yaml(config).splitlines():
        indent, key = re.match(r"( *)(\w*)", line).groups()  # type: ignore[union-attr]
        section = section if indent else f"{key}."
        meaning = meanings.get(f"{section}{key}" if indent else key)
        lines.append(f"{line}  # {meaning}" if meaning else line)
    return "# null: not used, or chosen by the run, whose config.yaml says what\n" + "\n".join(lines) + "\n"


def _meanings(kind: Any, prefix: str) -> dict[str, str]:
    """What stands beside the fields of a class of settings in its source, and their choices, by the field's name."""
    if not _field_names(kind):
        return {}
    try:
        source = inspect.getsource(kind)
    except OSError:  # installed without sources
        source = ""
    comments = dict(re.findall(r"^    (\w+): .*?  # (.+)$", source, re.MULTILINE))
    found = {}
    for name, annotation in get_type_hints(kind).items():
        choices = ", ".join(_choices(annotation))
        parts = [comments.get(name, "").replace("None:", "null:"), f"one of {choices}" if choices else ""]
        found[prefix + name] = "; ".join(part for part in parts if part)
    return found


def _choices(annotation: Any) -> list[str]:
    """The values of the literals in it."""
    if get_origin(annotation) is Literal:
        return [str(value) for value in get_args(annotation)]
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _read_yaml(file: Path) -> Values:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"the configuration file {file} cannot be read: {reason}") from None
    except Exception as error:  # besides its own errors, PyYAML lets those of the values through
        raise InputError(f"the configuration file {file} is not valid YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InputError(f"the configuration file {file} must hold section: {{key: value}} pairs")
    return content


def _dotted(nested: Mapping[str, Any]) -> list[str]:
    sections = {key.partition(".")[0] for key in valid_keys() if "." in key}
    keys: list[str] = []
    for key, value in nested.items():
        inner = isinstance(value, Mapping) and key in sections
        keys += [f"{key}.{name}" for name in value] if inner else [str(key)]
    return keys


def _refuse_unknown(keys: Iterable[str], where: str) -> None:
    valid = valid_keys()
    sections = {key.partition(".")[0] for key in valid}
    for key in keys:
        if key not in valid and key not in sections:
            section = key.partition(".")[0]
            near = [name for name in valid if name.startswith(f"{section}.")] or valid
            raise InputError(f"unknown setting '{key}'{where}: {nearest(key, near)}")


def _refuse_sections(keys: Iterable[str]) -> None:
    """A section as a whole is for files; by name its settings are given one by one."""
    valid = valid_keys()
    for key in keys:
        inside = [name for name in valid if name.startswith(f"{key}.")]
        if inside:
            raise InputError(f"'{key}' is a section of settings; name one of them, such as {inside[0]}")
