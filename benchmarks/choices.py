"""Where paper, released code and common sense differ: each choice against the preset `default`, as its settings."""

from typing import Any

CHOICES: dict[str, dict[str, Any]] = {
    "label scale: clean fraction (code)": {
        "tcl.label_scale_cross": "clean_fraction",
        "tcl.label_scale_mix": "clean_fraction",
    },
    "label scale in cross-supervision alone (code, CIFAR-100)": {"tcl.label_scale_cross": "clean_fraction"},
    "w without the noise model (paper, code)": {"tcl.gmm_prior": "shared"},
    "the same, from the posterior itself (paper, code)": {"tcl.gmm_prior": "shared", "tcl.gmm_score": "posterior"},
    "all three: no noise model, posterior, clean fraction (code)": {
        "tcl.gmm_prior": "shared",
        "tcl.gmm_score": "posterior",
        "tcl.label_scale_cross": "clean_fraction",
        "tcl.label_scale_mix": "clean_fraction",
    },
    "sigma per class, Eq. 5": {"tcl.sigma": "per_class"},
    "sigma per class, Eq. 6 (paper)": {"tcl.sigma": "per_class_eq6"},
    "mixture per class": {"tcl.gmm_scope": "per_class"},
    "w not monotone (paper, code)": {"tcl.gmm_monotone": False},
    "views strong-weak (first release)": {"tcl.views": "strong-weak"},
    "mix all views (code)": {"tcl.mix_sources": "all"},
    "lambda per sample": {"tcl.mix_per_sample": True},
    "lambda not dominant (paper)": {"tcl.mix_dominant": False},
    "entropy on strong views only": {"tcl.entropy_views": "strong"},
    "un-mixed view in batch norm (code)": {"tcl.forward_unmixed": True},
    "contrast weight 0.25 (code on 4 GPUs)": {"tcl.weight_contrast": 0.25},
    "no epochs on given labels (paper)": {"tcl.label_epochs": 0},
    "shortcut identity (paper)": {"model.shortcut": "identity"},
    "embedding 256 (code)": {"model.feat_dim": 256},
    "no last batch norm": {"model.head_bn": False},
    "no dropout": {"model.dropout": 0.0},
    "cosine over total (code)": {"optim.cosine_span": "total"},
}
