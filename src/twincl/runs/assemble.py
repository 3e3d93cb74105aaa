"""From a resolved configuration and data to the objects that train."""

import functools
from dataclasses import dataclass
from pathlib import Path

import torch

from twincl.augment.features import FeaturePolicy, FeatureViews
from twincl.augment.images import ImageViews
from twincl.augment.views import Views
from twincl.config import Config
from twincl.data.batches import Batches
from twincl.data.images import Images
from twincl.errors import InputError
from twincl.methods.method import Method, Parts
from twincl.methods.registry import find_method
from twincl.nets.registry import create_encoder
from twincl.nets.replicas import Replica, replicate
from twincl.nets.twin import TwinNet
from twincl.ranks import ALONE, Ranks
from twincl.runs.prepare import Labels, Prepared
from twincl.runs.resolve import normalisation, view_policy
from twincl.shapes import is_vector
from twincl.training.device import seed_everything
from twincl.training.loop import TrainState
from twincl.training.schedule import learning_rate


@dataclass(frozen=True)
class Training:
    """The objects that a configuration describes."""

    state: TrainState
    views: Views
    batches: Batches
    labels: Labels  # (N,) what is learned: the given labels, or others in the place of some
    schedule: functools.partial[float]
    epochs: int
    device: torch.device
    amp: bool
    sampled: bool  # E-steps look only at what is learned from next
    ranks: Ranks = ALONE


@dataclass(frozen=True)
class StartingPoint:
    """Where a training begins that does not begin from nothing."""

    weights: dict[str, torch.Tensor]  # some of the network's; the others are new
    rows: Labels  # the samples to learn from
    labels: Labels  # (N,) the labels to learn, of all samples


def assemble(
    config: Config,
    data: Prepared,
    device: torch.device,
    ranks: Ranks = ALONE,
    start: StartingPoint | None = None,
) -> Training:
    """Build network, optimiser, method and batches from a resolved configuration; seeds all randomness alike."""
    seed_everything(config.seed)
    model, optim = config.model, config.optim
    assert model.name
    assert optim.epochs
    assert optim.batch_size
    assert optim.lr
    assert optim.warmup_epochs is not None
    encoder = create_encoder(
        model.name,
        shape=data.train.images.shape,
        shortcut=model.shortcut,
        weights=Path(model.weights) if model.weights else None,
    )
    net = TwinNet(encoder, len(data.classes), feat_dim=model.feat_dim, head_bn=model.head_bn, dropout=model.dropout)
    labels = data.train.labels
    if start:
        net.load_state_dict(start.weights, strict=False)
        labels = start.labels
    net = net.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    replicate(net, ranks, device, batch_rows=optim.batch_size // ranks.world)
    views = _make_views(config, data.train.images)
    batches = Batches(
        data.train.images,
        labels,
        batch_size=optim.batch_size,
        device=device,
        workers=config.data.workers or 0,
        ranks=ranks,
        rows=start.rows if start else None,
        epoch_size=optim.steps_per_epoch and optim.steps_per_epoch * optim.batch_size,
    )
    parts = Parts(
        net=net,
        views=views,
        labels=torch.from_numpy(labels).to(device),
        num_classes=len(data.classes),
        epochs=optim.epochs,
        generator=torch.Generator(device).manual_seed(config.seed),
        ranks=ranks,
        amp=bool(config.amp),
        replica=Replica(net) if ranks.world > 1 else None,
    )
    method = make_method(config, parts)
    optimizer = torch.optim.SGD(
        net.parameters(),
        lr=optim.lr,
        momentum=optim.momentum,
        weight_decay=optim.weight_decay,
        fused=device.type == "cuda",
    )
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
        state=TrainState(net, optimizer, method, parts.generator),
        views=views,
        batches=batches,
        labels=labels,
        schedule=schedule,
        epochs=optim.epochs,
        device=device,
        amp=bool(config.amp),
        sampled=optim.estep == "sample",
        ranks=ranks,
    )


def make_method(config: Config, parts: Parts) -> Method:
    """The method that `config` names, with its own settings."""
    settings = {"tcl": config.tcl, "baseline": config.tcl, "mixup": config.mixup}
    own = {"settings": settings[config.method]} if config.method in settings else {}
    return find_method(config.method)(parts, **own)


def _make_views(config: Config, images: Images) -> Views:
    mean, std = normalisation(config, images)
    policy = view_policy(config.augment, images.shape)
    views = FeatureViews(policy, mean, std) if isinstance(policy, FeaturePolicy) else ImageViews(policy, mean, std)
    if len(mean) != images.shape[0]:
        wanted = "there are {} features" if is_vector(images.shape) else "the images have {} channels"
        raise InputError(f"augment.mean has {len(mean)} values but {wanted.format(images.shape[0])}")
    return views
