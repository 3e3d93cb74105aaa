"""What every rank does in the tests of this folder; started as a program by `conftest.py`, once a rank.

Each duty takes the ranks and returns tensors of its own rows, so that one process alone gives what is expected of many.
The global batch has B rows, which two and three ranks can share.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor

from twincl.augment.features import FEATURES, FeatureViews
from twincl.augment.images import NATURAL, SYMBOLS, ImageViews
from twincl.augment.views import Views
from twincl.ranks import Ranks, join

B = 12


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


DUTIES = {duty.__name__: duty for duty in (gathered, uneven, same, agreed, views)}


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    with join("cpu") as ranks:
        torch.save({name: duty(ranks) for name, duty in DUTIES.items()}, folder / f"{ranks.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
