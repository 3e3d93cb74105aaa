"""The rows by name: what each of them changes of the scale's own training."""

from typing import Any, NamedTuple

from benchmarks.choices import CHOICES

PAPER_EPOCHS = 200
PLUS_EPOCHS = 70  # of the second stage, after so many of the first


class Variant(NamedTuple):
    """Settings that are changed, the preset they are changed of, and the variant that is trained before."""

    settings: dict[str, Any]
    preset: str | None = None  # None: that of the scale
    after: str | None = None
    labels: bool = True  # False: it never looks at them, so that one training stands for every noise


WEAK: dict[str, Any] = {"tcl.targets": "weak"}
ALONE: dict[str, Any] = {"tcl.gmm_prior": "shared"}  # a detector has only its own score to go by
NO_ENTROPY: dict[str, Any] = {"tcl.weight_marginal_entropy": 0.0, "tcl.weight_mean_entropy": 0.0}
NO_MIXUP: dict[str, Any] = {"tcl.weight_align": 0.0, "tcl.entropy_views": "strong"}

METHODS = {
    "cross-entropy": Variant({"method": "cross-entropy"}),
    "mixup": Variant({"method": "mixup"}),
    "baseline": Variant({"method": "baseline"}),
    "tcl": Variant({}),
    "tcl (paper settings)": Variant({}, preset="paper"),
    "tcl (official settings)": Variant({}, preset="official"),
    "tcl+": Variant({}, after="tcl"),
    "tcl+ (relabelled)": Variant({"finetune.learn_from": "relabelled"}, after="tcl"),
}
ABLATIONS = {
    **{f"detector {name}": Variant(WEAK | ALONE | {"tcl.detector": name}) for name in ("loss", "knn", "ood")},
    "detector ood, noise model": Variant(WEAK | {"tcl.gmm_prior": "noise_model"}),
    "temporal ensembling": Variant({"tcl.targets": "ensemble", "tcl.forward_unmixed": True}),
    "without regulariser": Variant(NO_ENTROPY),
    "without marginal entropy": Variant({"tcl.weight_marginal_entropy": 0.0}),
    "without mean entropy": Variant({"tcl.weight_mean_entropy": 0.0}),
    "without alignment": Variant(NO_MIXUP),
    "moco": Variant({"tcl.contrast": "moco"}),
    "unsupervised": Variant({"tcl.weight_cross": 0.0} | NO_MIXUP | NO_ENTROPY, labels=False),
}

# Eq. 16 as it is has tau 0.25 and updates after every epoch: these two are the row "tcl" and no training of their own
TAUS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.5)
UPDATES = (1, 2, 4, 8, 16, 32)
HYPER = {
    **{f"tau {tau:g}": Variant({"tcl.tau": tau}) for tau in TAUS if tau != 0.25},
    **{f"update every {count}": Variant({"tcl.update_every": count}) for count in UPDATES[1:]},
}
# of the choices between paper and released code those that may change what is learned, not only what it costs
MEASURED_CHOICES = (
    "label scale: clean fraction (code)",
    "label scale in cross-supervision alone (code, CIFAR-100)",
    "w without the noise model (paper, code)",
    "the same, from the posterior itself (paper, code)",
    "all three: no noise model, posterior, clean fraction (code)",
    "sigma per class, Eq. 5",
    "sigma per class, Eq. 6 (paper)",
    "mixture per class",
    "views strong-weak (first release)",
    "mix all views (code)",
    "lambda per sample",
    "lambda not dominant (paper)",
    "contrast weight 0.25 (code on 4 GPUs)",
    "no epochs on given labels (paper)",
    "shortcut identity (paper)",
)
# both presets with as many epochs on given labels as `default` has; their own share of a short training is one and none
LATER = {
    f"{preset} settings, 3 epochs on given labels": Variant({"tcl.label_epochs": 3}, preset=preset)
    for preset in ("paper", "official")
}
ONE_CHANGE = {name: Variant(CHOICES[name]) for name in MEASURED_CHOICES}
VARIANTS: dict[str, Variant] = METHODS | ABLATIONS | HYPER | ONE_CHANGE | LATER


def updates(epochs: int) -> list[int]:
    """How many epochs lie between two E-steps, where a training of so many has at least two of them."""
    return [count for count in UPDATES if 2 * count <= epochs]


def in_proportion(preset: str, epochs: int) -> dict[str, Any]:
    """The first epochs of the presets `paper` and `official`, counted there for 200, as the same share of `epochs`.

    Left as they are, a short training would end before the method begins.
    """
    if preset not in ("paper", "official") or epochs == PAPER_EPOCHS:
        return {}
    shares: dict[str, Any] = {"optim.warmup_epochs": round(20 * epochs / PAPER_EPOCHS)}
    return shares | ({"tcl.label_epochs": round(19 * epochs / PAPER_EPOCHS)} if preset == "official" else {})


def ensemble_momentum(variant: str, data: str, noise: str) -> dict[str, Any]:
    """What temporal ensembling takes over from ELR: 0.7 (the default) on CIFAR-10 with symmetric noise, else 0.9."""
    slower = variant == "temporal ensembling" and (data == "cifar100" or noise == "asymmetric")
    return {"tcl.ensemble_momentum": 0.9} if slower else {}


def plus_epochs(epochs: int) -> int:
    """How long TCL+ goes on after a first stage of so many epochs."""
    return max(1, round(epochs * PLUS_EPOCHS / PAPER_EPOCHS))
