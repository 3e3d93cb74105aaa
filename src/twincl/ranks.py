"""Training by many processes: which one this is, and what they say to each other.

All ranks hold the same state and draw the same random numbers; each works on its own rows of a batch. Alone, every
method is the identity. PyTorch is imported when there is somebody to talk to.
"""

import gc
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twincl.errors import InputError, TrainingError, first_line

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Ranks:
    """Process number `rank` of `world` that train one network together.

    What is said of tensors goes over the network of their device, NCCL on CUDA and gloo on the CPU; what is said of
    flags always goes over gloo, so that no rank waits for its GPU.
    """

    rank: int = 0
    world: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the rank that speaks and writes."""
        return self.rank == 0

    def rows(self, count: int) -> slice:
        """This rank's rows of a global batch of `count`: equal shares, one after the other.

        Raises:
            ValueError: `count` is not divisible by the number of ranks.
        """
        if count % self.world:
            raise ValueError(f"{count} rows cannot be shared equally by {self.world} ranks")
        return self.share(count)

    def share(self, count: int) -> slice:
        """This rank's part of `count` samples: one after the other, sizes differ by at most one."""
        return slice(count * self.rank // self.world, count * (self.rank + 1) // self.world)

    def gather(self, tensor: "Tensor") -> "Tensor":
        """The tensors of all ranks, equal in shape, one after the other along the first dimension.

        Differentiable: the gradient of a rank's rows is the sum of what all ranks' losses say of them.
        """
        if self.world == 1:
            return tensor
        import torch

        parts = self._all(tensor)
        parts[self.rank] = tensor
        whole = torch.cat(parts)
        if whole.requires_grad:
            whole.register_hook(_summed)  # type: ignore[no-untyped-call]
        return whole

    def gather_views(self, tensor: "Tensor", views: int) -> "Tensor":
        """The rows of all ranks in the order that one rank would have them.

        A rank's tensor is `views` views of its own rows, one after the other, (views * b, ...); the answer is as many
        views of all rows, (views * B, ...). Differentiable as `gather` is.
        """
        if self.world == 1:
            return tensor
        by_row = tensor.view(views, -1, *tensor.shape[1:]).transpose(0, 1)
        return self.gather(by_row).transpose(0, 1).flatten(0, 1)

    def gather_uneven(self, tensor: "Tensor") -> "Tensor":
        """The tensors of all ranks, which may differ in their number of rows or have none; not differentiable."""
        if self.world == 1:
            return tensor.detach()
        import torch

        counts = [int(count) for count in self._all(torch.tensor(len(tensor)))]
        padded = tensor.new_zeros(max(counts), *tensor.shape[1:])
        padded[: len(tensor)] = tensor.detach()
        return torch.cat([part[:count] for part, count in zip(self._all(padded), counts, strict=True)])

    def same_(self, tensors: "Iterable[Tensor]") -> None:
        """Overwrite `tensors` with those of the first rank."""
        if self.world == 1:
            return
        import torch.distributed as dist

        for tensor in tensors:
            content = tensor.detach().contiguous()
            dist.broadcast(content, src=0)
            tensor.detach().copy_(content)

    def any(self, flag: bool) -> bool:
        """Whether `flag` is set on any rank; all ranks get the same answer."""
        if self.world == 1:
            return flag
        import torch
        import torch.distributed as dist

        agreed = torch.tensor(int(flag))
        dist.all_reduce(agreed, dist.ReduceOp.MAX)
        return bool(agreed)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What fails on every rank is said by the first alone; what fails on some, by those, and all of them end.

        Raises:
            InputError: this rank's own, or that of the others.
        """
        own: InputError | None = None
        try:
            yield
        except InputError as error:
            own = error
        somewhere, everywhere = self.any(own is not None), not self.any(own is None)
        if own is not None:
            own.said_elsewhere = everywhere and not self.first
            raise own
        if somewhere:
            other = InputError("another process of this training cannot begin; see what it said")
            other.said_elsewhere = True
            raise other

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self.any(False)

    def _all(self, tensor: "Tensor") -> "list[Tensor]":
        """The tensors of all ranks, detached."""
        import torch
        import torch.distributed as dist

        own = tensor.detach().contiguous()
        parts = [torch.empty_like(own) for _ in range(self.world)]
        dist.all_gather(parts, own)
        return parts


ALONE = Ranks()


def _summed(gradient: "Tensor") -> "Tensor":
    import torch
    import torch.distributed as dist

    total = gradient.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total)
    return total


@contextmanager
def join(device_type: str) -> Iterator[Ranks]:
    """Take the place among the ranks that the environment names, as torchrun and `twincl train --devices` set it.

    Yields `ALONE` where it names none, or no other. The ranks part at the end of the block, after an error without
    waiting for each other. Nothing that talks to the others, such as a network in DDP, may outlive the block: what
    holds the group last ends it, and only PyTorch's own function lets gloo's threads finish meanwhile; from anywhere
    else it would wait for a thread that waits for the interpreter.

    Raises:
        InputError: the environment is incomplete, or there is no GPU for this rank, or the others cannot be reached.
        TrainingError: another rank has gone while this one waited for it.
    """
    world = _number("WORLD_SIZE", 1)
    if not launched():
        yield ALONE
        return
    import torch
    import torch.distributed as dist

    if not dist.is_available():
        raise InputError("this PyTorch cannot train with several processes; train with --devices 1")
    # its functions keep the group of the moment they are defined at; DDP imports it, and a group that is kept so ends
    # with the interpreter, where a thread of gloo that still holds a tensor aborts the process
    import torch.distributed.nn
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    cuda = device_type == "cuda"
    if cuda:
        local, found = _number("LOCAL_RANK", 0), torch.cuda.device_count()
        if local >= found:
            raise InputError(
                f"process {local + 1} of this machine has no GPU: there are {found}; start fewer processes"
            )
        torch.cuda.set_device(local)
    try:
        store, *_ = next(rendezvous("env://", launched_rank(), world))
        fresh = PrefixStore(f"start {_starts()}", store)  # torchrun's store outlives the ranks and keeps addresses
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if cuda else "gloo", store=fresh, rank=launched_rank(), world_size=world
        )
    except (ValueError, RuntimeError) as error:
        reason = first_line(error)
        raise InputError(f"the {world} processes of this training cannot find each other ({reason})") from error
    try:
        yield Ranks(launched_rank(), world)
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)  # which hold what failed
        gc.collect()
        # private, but the only way to leave NCCL without the others; PyTorch 2.5 has none
        getattr(dist.distributed_c10d, "_abort_process_group", dist.destroy_process_group)()
        # gloo has no exception of its own: its name stands in the message
        if isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in str(error)):
            raise TrainingError("another process of this training has ended; see what it said") from error
        raise
    gc.collect()  # a network in DDP is held by itself
    dist.destroy_process_group()


def restarted() -> bool:
    """Whether torchrun has started this training again after a failure."""
    return _starts() > 0


def _starts() -> int:
    return _number("TORCHELASTIC_RESTART_COUNT", 0)


def launched() -> bool:
    """Whether this process was started as one of several, by torchrun or `--devices`."""
    return "RANK" in os.environ and _number("WORLD_SIZE", 1) > 1


def launched_rank() -> int:
    """The number this process was started with, 0 if it was started alone."""
    return _number("RANK", 0) if launched() else 0


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    if not value.isdecimal():
        raise InputError(f"the environment variable {name} is '{value}'; torchrun sets it to a number, or unset it")
    return int(value)
