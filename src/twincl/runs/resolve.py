"""What a configuration leaves to the run, filled in: by the data, the device, the number of processes."""

import dataclasses
from pathlib import Path
from typing import Any

import torch

from twincl.augment.features import FEATURES, FeaturePolicy
from twincl.augment.images import POLICIES, ViewPolicy
from twincl.config import AugmentSettings, Config, build_config
from twincl.core.spread import evenly_spaced
from twincl.data.features import Statistics, feature_statistics
from twincl.data.images import Images
from twincl.errors import InputError
from twincl.nets.registry import choose_encoder
from twincl.ranks import ALONE, Ranks
from twincl.results.settings import flatten
from twincl.runs.prepare import Prepared
from twincl.runs.workers import number_of_workers
from twincl.shapes import Shape, is_vector
from twincl.training.device import mixed_precision_pays

IMAGENET_STATISTICS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # what ImageNet weights expect


def resolve(config: Config, data: Prepared, device: torch.device, ranks: Ranks = ALONE) -> Config:
    """Fill in what was left to the run: epochs, image size, encoder, views, batch size, learning rate, precision.

    The batch is that of all ranks together.

    Raises:
        InputError: the ranks cannot share the batch equally, or there is no sample for expectation steps to look at.
    """
    shape = data.train.images.shape
    count = len(data.train.labels)
    optim = config.optim
    epochs = optim.epochs or default_epochs(shape, count)
    batch_size = optim.batch_size or shareable(default_batch_size(shape, count), ranks)
    if batch_size % ranks.world:
        raise InputError(
            f"a batch of {batch_size} cannot be shared equally by {ranks.world} processes; "
            f"pass --batch-size {shareable(batch_size, ranks)}"
        )
    if optim.estep == "sample" and optim.steps_per_epoch is None:
        raise InputError("optim.estep=sample is for epochs on a sample; set optim.steps_per_epoch, or optim.estep=all")
    share = batch_size / 256
    lr_base = optim.lr_base or (0.12 if is_vector(shape) else 0.06)
    rate = lr_base * (share if optim.lr_scaling == "linear" else share**0.5)
    hint = "features" if is_vector(shape) else data.augment_hint
    augment = config.augment.model_copy(update={"name": config.augment.name or hint})
    policy = dataclasses.asdict(view_policy(augment, shape))
    warmup = epochs // 10 if optim.warmup_epochs is None else optim.warmup_epochs
    values = {
        "device": str(device),
        "amp": _agreed_precision(device, ranks) if config.amp is None else config.amp,
        **_resolve_images(config, data.train.images),
        "data.workers": 0 if data.train.images.in_memory else number_of_workers(config.data.workers),
        "noise.seed": config.seed if config.noise.seed is None else config.noise.seed,
        "model.name": config.model.name or choose_encoder(shape, device.type),
        "augment.name": augment.name,
        **{f"augment.{name}": value for name, value in policy.items() if name in AugmentSettings.model_fields},
        "optim.epochs": epochs,
        "optim.batch_size": batch_size,
        "optim.lr_base": lr_base,
        "optim.lr": optim.lr or round(rate, 6) or rate,
        "optim.warmup_epochs": min(warmup, epochs - 1),
    }
    given = flatten(config.model_dump())
    return build_config(preset=config.preset, settings=given | values)


def shareable(batch_size: int, ranks: Ranks) -> int:
    """The next smaller batch size that all ranks have an equal share of; at least one sample each."""
    return max(1, batch_size // ranks.world) * ranks.world


def _agreed_precision(device: torch.device, ranks: Ranks) -> bool:
    """bfloat16 where it pays on every rank."""
    return not ranks.any(not mixed_precision_pays(device))


def _resolve_images(config: Config, images: Images) -> dict[str, Any]:
    """What only images have. The statistics of features are too many for a file that people read; see `model.json`."""
    if is_vector(images.shape):
        return {}
    mean, std = normalisation(config, images)
    size = {"data.img_size": config.data.img_size or max(images.shape[1:]), "data.channels": images.shape[0]}
    return size | {"augment.mean": mean, "augment.std": std}


def normalisation(config: Config, images: Images) -> Statistics:
    """Mean and deviation per channel or feature: as given, as the pretrained weights expect, or as measured."""
    given = config.augment
    if given.mean and given.std:
        return given.mean, given.std
    if is_vector(images.shape):
        mean, std = feature_statistics(images)
    elif config.model.weights is not None and images.shape[0] == 3:
        mean, std = IMAGENET_STATISTICS
    else:
        mean, std = channel_statistics(images)
    return given.mean or mean, given.std or std


def channel_statistics(images: Images, sample: int = 5000) -> Statistics:
    """Mean and standard deviation of each channel in [0, 1], over evenly spaced images."""
    pixels = images.batch(evenly_spaced(len(images), sample)).float().div_(255)
    mean, deviation = pixels.mean((0, 2, 3)), pixels.std((0, 2, 3)).clamp_min(1e-3)
    return tuple(round(float(m), 4) for m in mean), tuple(round(float(s), 4) for s in deviation)


def default_epochs(shape: Shape, count: int) -> int:
    """40 for images; feature vectors need fewer, and many of them fewer still."""
    if not is_vector(shape):
        return 40
    return 20 if count < 25_000 else 10


def default_batch_size(shape: Shape, count: int) -> int:
    """The power of two from 16 to 256 that still leaves twenty steps an epoch, of feature vectors ten; at most `count`.

    A large batch has more to contrast with; a small one takes more steps, which feature vectors need fewer of.
    """
    steps = 10 if is_vector(shape) else 20
    size = 256
    while size > 16 and count < steps * size:
        size //= 2
    return min(size, count)


def view_policy(settings: AugmentSettings, shape: Shape) -> ViewPolicy | FeaturePolicy:
    """The named policy with the fields that were set by hand.

    Raises:
        InputError: the policy or one of these fields is for the other kind of data than that of `shape`.
    """
    takes, given = ("feature vectors", "images") if settings.name == "features" else ("images", "feature vectors")
    if (settings.name == "features") != is_vector(shape):
        raise InputError(
            f"the views '{settings.name}' are for {takes}, but the data are {given}; leave augment.name open (null)"
        )
    policy = FEATURES if settings.name == "features" else POLICIES[settings.name or "natural"]
    own = {field.name for field in dataclasses.fields(policy)}
    changed = settings.model_dump(exclude={"name", "mean", "std"}, exclude_none=True)
    for name in sorted(changed.keys() - own):
        raise InputError(f"augment.{name} is for {given}, but the data are {takes}; leave it open (null)")
    return dataclasses.replace(policy, **changed)


def require_same(config: Config, stored: Path) -> None:
    """A run goes on only as what it began as; device, precision and workers may change."""
    before, now = flatten(build_config(file=stored, settings={}).model_dump()), flatten(config.model_dump())
    for key in now:
        if key == "noise.rate" and not now[key] and not before.get(key):  # none is what earlier versions call 0
            continue
        if now[key] != before.get(key) and key not in ("device", "data.workers", "amp"):
            raise InputError(
                f"the run to resume was started with {key}={before.get(key)}, not {now[key]}; give the same settings"
            )
