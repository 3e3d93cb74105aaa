"""From a configuration and data to the objects that train."""

import dataclasses
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from twincl.augment.views import POLICIES, ViewPolicy, Views
from twincl.config import AugmentSettings, Config, build_config
from twincl.data.batches import Batches
from twincl.data.images import Images
from twincl.errors import InputError
from twincl.methods.method import Parts
from twincl.methods.registry import find_method
from twincl.nets.registry import choose_encoder, create_encoder
from twincl.nets.twin import TwinNet
from twincl.runs.prepare import Prepared
from twincl.training.device import mixed_precision_pays, seed_everything
from twincl.training.loop import TrainState
from twincl.training.schedule import learning_rate

IMAGENET_STATISTICS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # what ImageNet weights expect


@dataclass(frozen=True)
class Training:
    """The objects that a configuration describes."""

    state: TrainState
    views: Views
    batches: Batches
    schedule: functools.partial[float]
    device: torch.device
    amp: bool


def resolve(config: Config, data: Prepared, device: torch.device) -> Config:
    """Fill in what was left to the run: image size, encoder, views, batch size, learning rate, precision."""
    channels, height, width = data.train.images.shape
    count = len(data.train.labels)
    pretrained = config.model.weights is not None and channels == 3
    mean, std = IMAGENET_STATISTICS if pretrained else channel_statistics(data.train.images)
    optim, epochs = config.optim, config.optim.epochs
    batch_size = optim.batch_size or default_batch_size(count)
    share = batch_size / 256
    rate = optim.lr_base * (share if optim.lr_scaling == "linear" else share**0.5)
    augment = config.augment.model_copy(update={"name": config.augment.name or data.augment_hint})
    policy = dataclasses.asdict(view_policy(augment))
    warmup = epochs // 10 if optim.warmup_epochs is None else optim.warmup_epochs
    values = {
        "device": str(device),
        "amp": mixed_precision_pays(device) if config.amp is None else config.amp,
        "data.img_size": config.data.img_size or max(height, width),
        "data.channels": channels,
        "data.workers": 0 if data.train.images.in_memory else _default_workers(config),
        "noise.seed": config.seed if config.noise.seed is None else config.noise.seed,
        "model.name": config.model.name or choose_encoder(max(height, width), device.type),
        "augment.name": augment.name,
        **{f"augment.{name}": value for name, value in policy.items() if name in AugmentSettings.model_fields},
        "augment.mean": config.augment.mean or mean,
        "augment.std": config.augment.std or std,
        "optim.batch_size": batch_size,
        "optim.lr": optim.lr or round(rate, 6) or rate,
        "optim.warmup_epochs": min(warmup, epochs - 1),
    }
    given = flatten(config.model_dump())
    return build_config(preset=config.preset, settings=given | values)


def channel_statistics(images: Images, sample: int = 5000) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel in [0, 1], over evenly spaced images."""
    index = np.unique(np.linspace(0, len(images) - 1, min(sample, len(images))).astype(np.int64))
    pixels = images.batch(index).float().div_(255)
    mean, deviation = pixels.mean((0, 2, 3)), pixels.std((0, 2, 3)).clamp_min(1e-3)
    return tuple(round(float(m), 4) for m in mean), tuple(round(float(s), 4) for s in deviation)


def default_batch_size(count: int) -> int:
    """The power of two from 16 to 256 that still leaves twenty steps an epoch; never more than the images there are."""
    size = 256
    while size > 16 and count < 20 * size:
        size //= 2
    return min(size, count)


def assemble(config: Config, data: Prepared, device: torch.device) -> Training:
    """Build network, optimiser, method and batches from a resolved configuration; seeds all randomness."""
    seed_everything(config.seed)
    model, optim = config.model, config.optim
    assert model.name
    assert optim.batch_size
    assert optim.lr
    assert optim.warmup_epochs is not None
    channels, height, width = data.train.images.shape
    encoder = create_encoder(
        model.name,
        channels=channels,
        img_size=max(height, width),
        shortcut=model.shortcut,
        weights=Path(model.weights) if model.weights else None,
    )
    net = TwinNet(encoder, len(data.classes), feat_dim=model.feat_dim, head_bn=model.head_bn, dropout=model.dropout)
    net = net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    views = Views(view_policy(config.augment), config.augment.mean or (), config.augment.std or ())
    if len(views.mean) != channels:
        raise InputError(f"augment.mean has {len(views.mean)} values but the images have {channels} channels")
    batches = Batches(
        data.train.images,
        data.train.labels,
        batch_size=optim.batch_size,
        device=device,
        workers=config.data.workers or 0,
    )
    parts = Parts(
        net=net,
        views=views,
        labels=torch.from_numpy(data.train.labels).to(device),
        num_classes=len(data.classes),
        epochs=optim.epochs,
        generator=torch.Generator(device).manual_seed(config.seed),
    )
    own_settings = {"tcl": {"settings": config.tcl}}
    method = find_method(config.method)(parts, **own_settings.get(config.method, {}))
    optimizer = torch.optim.SGD(net.parameters(), lr=optim.lr, momentum=optim.momentum, weight_decay=optim.weight_decay)
    schedule = functools.partial(
        learning_rate,
        steps_per_epoch=batches.steps_per_epoch,
        peak=optim.lr,
        epochs=optim.epochs,
        warmup_epochs=optim.warmup_epochs,
        span=optim.cosine_span,
        floor=optim.lr_floor,
    )
    return Training(
        TrainState(net, optimizer, method, parts.generator), views, batches, schedule, device, bool(config.amp)
    )


def view_policy(settings: AugmentSettings) -> ViewPolicy:
    """The named policy with the fields that were set by hand."""
    names = {field.name for field in dataclasses.fields(ViewPolicy)}
    changed = {k: v for k, v in settings.model_dump().items() if k in names and v is not None}
    return dataclasses.replace(POLICIES[settings.name or "natural"], **changed)


def require_same(config: Config, stored: Path) -> None:
    """A run goes on only as what it began as; the device and the workers may change."""
    before, now = flatten(build_config(file=stored, settings={}).model_dump()), flatten(config.model_dump())
    for key in now:
        if now[key] != before.get(key) and key not in ("device", "data.workers", "amp"):
            raise InputError(
                f"the run to resume was started with {key}={before.get(key)}, not {now[key]}; give the same settings"
            )


def flatten(nested: dict[str, Any]) -> dict[str, Any]:
    """Nested settings by dotted name."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        flat |= {f"{key}.{name}": inner for name, inner in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def _default_workers(config: Config) -> int:
    return min(os.cpu_count() or 1, 8) if config.data.workers is None else config.data.workers
