"""The rows of the table: data, labels, noise, epochs."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

DIGITS_RATES = {"0 %": 0.0, "5 %": 0.05, "20 %": 0.2, "50 %": 0.5, "80 %": 0.8}  # share of wrong labels


@dataclass(frozen=True)
class Row:
    """One training set with wrong labels; `settings` are those of a run, without what is only about TCL."""

    name: str
    title: str
    settings: dict[str, Any]
    components: int | None = None  # reduce the pixels to so many principal components and learn from these

    @property
    def digest(self) -> str:
        """Of the settings, wherever the data lie."""
        settings = {key: Path(value).name if isinstance(value, str) else value for key, value in self.settings.items()}
        return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def embedded(self) -> bool:
        """Whether feature vectors are learned from instead of images."""
        return self.components is not None


def digits_rows() -> list[Row]:
    """scikit-learn's digits at five rates of wrong labels, and with pair noise; as images and as 64 pixel values."""
    rows = []
    for kind, components in (("", None), ("-embedded", 64)):
        epochs = 20 if components else 30
        base = {"data.path": "digits", "optim.epochs": epochs}
        what = "64 pixel values" if components else "images"
        for name, rate in DIGITS_RATES.items():
            noise = _symmetric(rate)
            rows.append(
                Row(f"digits{kind}-{100 * rate:.0f}", f"digits, {what}, {name} wrong", base | noise, components)
            )
        pair = {"noise.type": "pair", "noise.rate": 0.4}
        rows.append(Row(f"digits{kind}-pair40", f"digits, {what}, pair 40 %", base | pair, components))
    return rows


def fashion_rows(folder: Path) -> list[Row]:
    """10,000 images of Fashion-MNIST with noise as in the literature, and their first 64 principal components."""
    rows = []
    base = {"data.path": str(folder), "data.limit": 10_000, "augment.name": "natural", "model.name": "small"}
    for kind, components in (("", None), ("-embedded", 64)):
        what, epochs = ("64 principal components", 20) if components else ("10,000 images, 12 epochs", 12)
        for name, title, noise in (
            ("20", "symmetric 20 %", {"noise.type": "symmetric", "noise.rate": 0.2}),
            ("50", "symmetric 50 %", {"noise.type": "symmetric", "noise.rate": 0.5}),
            ("80", "symmetric 80 %", {"noise.type": "symmetric", "noise.rate": 0.8}),
            ("pair40", "pair 40 %", {"noise.type": "pair", "noise.rate": 0.4}),
        ):
            settings = base | {"optim.epochs": epochs} | noise
            rows.append(Row(f"fashion{kind}-{name}", f"Fashion-MNIST, {what}, {title}", settings, components))
    return rows


def human_rows(images: Path, labels: Path) -> list[Row]:
    """CIFAR-10 under two sets of human labels (CIFAR-10N): the first 10,000 images, and all 50,000."""
    rows = []
    for count, epochs in ((10_000, 20), (50_000, 6)):
        for column in ("random_label1", "aggre_label"):
            settings = {
                "data.path": str(images),
                "data.labels": f"{labels}:{column}",
                "data.true_labels": f"{labels}:clean_label",
                "data.limit": count,
                "data.holdout": 0.0,
                "augment.name": "natural",
                "model.name": "small",
                "optim.epochs": epochs,
            }
            title = f"CIFAR-10N {column}, {count:,} images, {epochs} epochs"
            rows.append(Row(f"cifar10n-{column}-{count}", title, settings))
    return rows


def _symmetric(wrong: float) -> dict[str, Any]:
    """Noise that leaves this share of labels wrong: no label is redrawn as itself."""
    if wrong == 0:
        return {"noise.type": "pair", "noise.rate": 0.0}  # nothing is changed, but the truth is known
    return {"noise.type": "symmetric", "noise.rate": wrong, "noise.include_own": False}
