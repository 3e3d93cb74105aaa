"""How much of a step is not the encoder's forward and backward pass, and where the time of a step goes."""

from functools import partial
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks.speed.options import Figures, Options
from benchmarks.speed.product import Steps, random_training
from benchmarks.speed.timing import Stopwatch, best_in_turn
from twincl.core.mixup import mix
from twincl.nets.precision import precision

BATCHES = {"preact18": ("preact_resnet18", 64), "small": ("small", 256)}


def run(options: Options) -> Figures:
    """1 - encoder / step, both on three images a sample, in turn."""
    figures: Figures = {}
    details: Figures = {}
    for name, (encoder, batch_size) in BATCHES.items():
        batch_size = batch_size // 8 if options.quick else batch_size
        steps = Steps(random_training(encoder, 8 * batch_size, batch_size, options))
        steps()
        images = torch.randn(3 * batch_size, 3, 32, 32)
        repeats = 2 if options.quick else 5 if name == "preact18" else 20
        best = best_in_turn(repeats, {"step": steps, "encoder": partial(_encoder_alone, steps, images)})
        figures[f"overhead_fraction_{name}"] = 1 - best["encoder"] / best["step"]
        details[name] = {"batch_size": batch_size} | {f"{part}_seconds": value for part, value in best.items()}
        if options.profile:
            details[name]["profile"] = _profile(name, steps, repeats)
    return figures | {"overhead": details}


def _encoder_alone(steps: Steps, images: Tensor) -> None:
    encoder = steps.training.state.net.encoder
    with precision(images.device, steps.training.amp):
        features = encoder(images)
    encoder.zero_grad(set_to_none=True)
    features.float().sum().backward()


def _profile(name: str, steps: Steps, repeats: int) -> dict[str, float]:
    """Seconds a step spends in each of its parts, mean over `repeats` steps; printed as a table."""
    state, views = steps.training.state, steps.training.views
    watch = Stopwatch()
    with (
        patch.object(steps, "fetch", watch.wrap("batch", steps.fetch)),
        patch.object(steps, "descend", watch.wrap("descend", steps.descend)),
        patch.object(views, "strong", watch.wrap("views", views.strong)),
        patch.object(views, "weak", watch.wrap("views", views.weak)),
        patch("twincl.methods.tcl.mix", watch.wrap("mix", mix)),
        patch.object(state.net.encoder, "forward", watch.wrap("encoder forward", state.net.encoder.forward)),
        patch.object(state.method, "losses", watch.wrap("losses", state.method.losses)),
        patch.object(state.optimizer, "step", watch.wrap("optimiser", state.optimizer.step)),
    ):
        for _ in range(repeats):
            steps()
    spent = {part: value / repeats for part, value in watch.seconds.items()}
    inside = sum(spent[part] for part in ("views", "mix", "encoder forward"))
    parts = {part: spent[part] for part in ("batch", "views", "mix", "encoder forward")}
    parts["heads and losses"] = spent["losses"] - inside
    parts["backward"] = spent["descend"] - spent["losses"] - spent["optimiser"]
    parts["optimiser"] = spent["optimiser"]
    total = sum(parts.values())
    print(f"where the time of a step goes ({name})")
    for part, value in parts.items():
        print(f"  {part:<18}{1000 * value:10.1f} ms {100 * value / total:6.1f} %")
    return parts
