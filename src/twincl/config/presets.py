"""The presets: what each changes of the default settings."""

from collections.abc import Mapping
from typing import Any

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
