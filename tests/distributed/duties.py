"""What every rank does in the tests of this folder; started as a program by `conftest.py`, once a rank.

Each duty takes the ranks and returns tensors of its own rows, so that one process alone gives what is expected of many.
The global batch has B rows, which two and three ranks can share.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from twincl.augment.features import FEATURES, FeatureViews
from twincl.augment.images import NATURAL, SYMBOLS, ImageViews
from twincl.augment.views import Views
from twincl.core.losses import info_nce, negative_marginal_entropy
from twincl.nets.preact import SmallNet
from twincl.nets.replicas import replicate
from twincl.nets.twin import TwinNet
from twincl.ranks import ALONE, Ranks, join

B = 12
CPU = torch.device("cpu")


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# talking


def gathered(ranks: Ranks) -> dict[str, Tensor]:
    """The loss of rank r counts r + 1 times, so that a gradient which forgets the others' losses is wrong."""
    own = normal(B, 5)[ranks.rows(B)].requires_grad_()
    whole = ranks.gather(own)
    (((ranks.rank + 1) * whole * whole.roll(1, 0)).sum()).backward()
    without_gradient = ranks.gather(own.detach())
    transposed = ranks.gather(normal(5, B).T[ranks.rows(B)])
    return {"whole": whole.detach(), "gradient": own.grad, "plain": without_gradient, "transposed": transposed}


def uneven(ranks: Ranks) -> dict[str, Tensor]:
    return {
        "shares": ranks.gather_uneven(torch.arange(7)[ranks.share(7)]),
        "some_empty": ranks.gather_uneven(torch.full((2 * ranks.rank, 3), ranks.rank)),
        "last_empty": ranks.gather_uneven(normal(4, 2)[: 0 if ranks.rank == ranks.world - 1 else 4].requires_grad_()),
        "all_empty": ranks.gather_uneven(torch.zeros(0, 3)),
    }


def same(ranks: Ranks) -> list[Tensor]:
    tensors = [
        torch.full((2, 3), float(ranks.rank), requires_grad=True),
        torch.full((3, 2), ranks.rank).T,  # not contiguous
        torch.tensor(ranks.rank),
    ]
    ranks.same_(tensors)
    ranks.barrier()
    return [tensor.detach() for tensor in tensors]


def agreed(ranks: Ranks) -> list[bool]:
    return [ranks.any(ranks.rank == asked) for asked in range(-1, ranks.world)]


# views


def views(ranks: Ranks) -> dict[str, list[Tensor]]:
    """Of each kind of sample a strong, a weak and again a strong view of own rows, from one generator a kind."""
    pixels = torch.randint(0, 256, (B, 3, 20, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    features = normal(B, 7)
    kinds: dict[str, tuple[Views, Tensor]] = {
        "natural": (ImageViews(NATURAL, (0.5,) * 3, (0.2,) * 3), pixels),
        "symbols": (ImageViews(SYMBOLS, (0.5,), (0.2,)), pixels[:, :1]),
        "features": (FeatureViews(FEATURES, (0.0,) * 7, (1.0,) * 6 + (0.0,)), features),
    }
    made = {}
    for kind, (make, samples) in kinds.items():
        own, generator = samples[ranks.rows(B)], torch.Generator().manual_seed(2)
        made[kind] = [view(own, generator, ranks) for view in (make.strong, make.weak, make.strong)]
        made[f"{kind} generator"] = [generator.get_state()]
    return made


# networks


def own_rows(whole: Tensor, ranks: Ranks) -> Tensor:
    """Of views of B rows each, one after the other, own rows of each."""
    return torch.cat([view[ranks.rows(B)] for view in whole.split(B)])


def norms() -> dict[str, tuple[nn.Module, Tensor]]:
    """Every kind of BatchNorm with an input of two views; its values are far from centred."""
    picture = 3 + 2 * normal(2 * B, 4, 3, 5) + normal(4, 1, 1, seed=1)
    kinds: dict[str, tuple[nn.Module, Tensor]] = {
        "1d": (nn.BatchNorm1d(4), 1 + normal(2 * B, 4)),
        "2d": (nn.BatchNorm2d(4), picture),
        "channels_last": (nn.BatchNorm2d(4), picture.contiguous(memory_format=torch.channels_last)),
        "bfloat16": (nn.BatchNorm2d(4), picture.bfloat16()),
        "bfloat16_channels_last": (
            nn.BatchNorm2d(4),
            picture.bfloat16().contiguous(memory_format=torch.channels_last),
        ),
        "far_from_zero": (nn.BatchNorm1d(4), 10_000 + normal(2 * B, 4)),
        "ranks_differ": (nn.BatchNorm1d(4), normal(2 * B, 4) + torch.arange(2 * B)[:, None]),
        "float64": (nn.BatchNorm2d(4).double(), picture.double()),
        "cumulative": (nn.BatchNorm1d(4, momentum=None), normal(2 * B, 4)),
        "without_affine": (nn.BatchNorm1d(4, affine=False), normal(2 * B, 4)),
        "without_running": (nn.BatchNorm2d(4, track_running_stats=False), picture),
    }
    for norm, _ in kinds.values():
        for number, parameter in enumerate(norm.parameters()):
            parameter.data = 1 + normal(4, seed=2 + number).to(parameter)
    return kinds


def normalised(ranks: Ranks) -> dict[str, dict[str, Tensor]]:
    """Two steps in training, then evaluation; the loss of own rows alone, as ranks add up their gradients."""
    results = {}
    for kind, (norm, whole) in norms().items():
        norm = replicate(norm, ranks, CPU, batch_rows=B // ranks.world)
        norm(own_rows(whole, ranks))
        own = own_rows(whole.flip(0), ranks).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled="bfloat16" in kind):
            output = norm(own)
        coefficients = own_rows(normal(*whole.shape, seed=4), ranks)
        (coefficients * output.float() ** 2).sum().backward()
        result = {"output": output.detach(), "d_input": own.grad}
        result |= {f"d_{name}": parameter.grad for name, parameter in norm.named_parameters()}
        result |= {name: buffer.clone() for name, buffer in norm.named_buffers()}
        result["at_rest"] = norm.eval()(own_rows(whole, ranks)).detach()
        results[kind] = result
    return results


def dropped(ranks: Ranks) -> dict[str, Tensor]:
    torch.manual_seed(5)
    dropout = replicate(nn.Sequential(nn.Dropout(0.3)), ranks, CPU, batch_rows=B // ranks.world)
    picture = torch.ones(3 * B, 4, 3, 2)
    inputs = {
        "vectors": torch.ones(3 * B, 7),
        "pictures": picture,
        "channels_last": picture.contiguous(memory_format=torch.channels_last),
        "bfloat16": torch.ones(3 * B, 7, dtype=torch.bfloat16),
        "one_view": torch.ones(B, 7),
    }
    outputs = {name: dropout(own_rows(whole, ranks)) for name, whole in inputs.items()}
    own = own_rows(inputs["vectors"], ranks).requires_grad_()
    dropout(own).sum().backward()
    return outputs | {"gradient": own.grad, "generator": torch.get_rng_state()}


def twin_net() -> TwinNet:
    torch.manual_seed(6)
    return TwinNet(SmallNet(channels=3, img_size=16), num_classes=4, feat_dim=8, head_bn=True, dropout=0.25)


def stepped(ranks: Ranks) -> dict[str, Tensor]:
    """A step of training as a whole: views, one pass through the network, losses that look at the whole batch."""
    net = replicate(twin_net(), ranks, CPU, batch_rows=B // ranks.world).double()
    replica = net if ranks is ALONE else DistributedDataParallel(net, broadcast_buffers=False)
    views, generator = ImageViews(NATURAL, (0.5,) * 3, (0.2,) * 3), torch.Generator().manual_seed(7)
    pixels = torch.randint(0, 256, (B, 3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    own = pixels[ranks.rows(B)]
    first, second = views.strong(own, generator, ranks), views.strong(own, generator, ranks)
    weak = views.weak(own, generator, ranks)
    torch.manual_seed(8)
    out = replica(torch.cat([first, second, weak]).double())
    embeddings1, embeddings2, _ = in_views(out.embeddings, ranks)
    logits = in_views(out.logits, ranks)
    loss = info_nce(embeddings1, embeddings2, 0.25) + negative_marginal_entropy(logits.flatten(0, 1))
    loss = loss + F.cross_entropy(logits[2], torch.arange(B) % 4)
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in net.named_parameters()}
    return {"loss": loss.detach()} | gradients | dict(net.named_buffers())


def in_views(own: Tensor, ranks: Ranks) -> Tensor:
    """Outputs (3b, D) of own rows of three views -> (3, B, D) of all ranks."""
    return ranks.gather(own.unflatten(0, (3, -1)).transpose(0, 1)).transpose(0, 1)


DUTIES = {duty.__name__: duty for duty in (gathered, uneven, same, agreed, views, normalised, dropped, stepped)}


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    with join("cpu") as ranks:
        torch.save({name: duty(ranks) for name, duty in DUTIES.items()}, folder / f"{ranks.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
