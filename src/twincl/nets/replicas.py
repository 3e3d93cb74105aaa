"""A network that many ranks train as one: what looks at a whole batch, or draws for it, does so across the ranks.

Names of parameters and buffers stay those of the plain network, so that either loads what the other has saved.
"""

import inspect
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parallel import DistributedDataParallel

from twincl.errors import InputError
from twincl.ranks import Ranks


def replicate(net: nn.Module, ranks: Ranks, device: torch.device, *, batch_rows: int) -> nn.Module:
    """Make BatchNorm and dropout of `net` act on the batch of all ranks, in place; one rank's net is left untouched.

    Args:
        net: the same on all ranks; its parameters stay the same objects.
        ranks: who trains together.
        device: where: on CUDA PyTorch's own synchronised BatchNorm serves, elsewhere one that talks over gloo.
        batch_rows: this rank's rows b of a batch; what passes the network in training is c views of them, one after
            the other, as on one rank it is c views of the whole batch.

    Raises:
        InputError: `net` holds a BatchNorm of a kind that cannot be shared.
    """
    if ranks.world == 1:
        return net
    for name, child in net.named_children():
        setattr(net, name, replicate(child, ranks, device, batch_rows=batch_rows))
    if isinstance(net, _BatchNorm):
        return _synchronised(net, ranks, device)
    if isinstance(net, nn.Dropout):
        return _in_place_of(net, SharedDropout(net.p, ranks, batch_rows))
    return net


class Replica:
    """A replicated network in PyTorch's DDP: its gradients become the mean over the ranks.

    It is wrapped at the first pass: by then a method has frozen what it does not train.
    """

    def __init__(self, net: nn.Module) -> None:
        self._net = net
        self._parallel: DistributedDataParallel | None = None

    def __call__(self, images: Tensor) -> Any:
        """This rank's own rows through the network."""
        if self._parallel is None:
            options = inspect.signature(DistributedDataParallel.__init__).parameters
            buffers = "forward_sync_buffers" if "forward_sync_buffers" in options else "broadcast_buffers"  # < 2.13
            self._parallel = DistributedDataParallel(self._net, **{buffers: False})  # type: ignore[arg-type]
        return self._parallel(images)


def _synchronised(norm: _BatchNorm, ranks: Ranks, device: torch.device) -> nn.Module:
    if type(norm) not in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d):  # a subclass may do more than normalise
        raise InputError(f"this encoder's {type(norm).__name__} cannot be shared by processes; train with --devices 1")
    if device.type == "cuda":
        synchronised: nn.Module = nn.SyncBatchNorm.convert_sync_batchnorm(norm)  # type: ignore[no-untyped-call]
        return synchronised
    return _in_place_of(norm, SharedBatchNorm(norm.num_features, ranks))


def _in_place_of(old: nn.Module, new: nn.Module) -> nn.Module:
    """`new` with the parameters, buffers and options of `old`, the very same objects."""
    vars(new).update(vars(old))
    return new


class SharedBatchNorm(_BatchNorm):
    """BatchNorm over the rows of all ranks, of which each must bring as many; in evaluation mode they need not talk."""

    def __init__(self, features: int, ranks: Ranks) -> None:
        super().__init__(features)
        self.ranks = ranks

    def _check_input_dim(self, input: Tensor) -> None:
        """Nothing to check: the BatchNorm that this one replaces fitted its network."""

    def forward(self, input: Tensor) -> Tensor:
        """Own rows of what plain BatchNorm makes of all: (B,C) or (B,C,...) -> the same shape."""
        if not self.training and self.running_mean is not None:
            return super().forward(input)
        mean, variance = self._statistics(input.detach())
        if self.training and self.running_mean is not None:
            self._remember(mean, variance, input.numel() // len(mean) * self.ranks.world)
        weight, bias = (self.weight, self.bias) if self.affine else (torch.ones_like(mean), torch.zeros_like(mean))
        output: Tensor = _Normalise.apply(  # type: ignore[no-untyped-call]
            input, weight, bias, mean, variance, self.eps, self.ranks
        )
        return output

    def _statistics(self, input: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and biased variance (C,) over all ranks: variance within the ranks and variance between them.

        Each rank's own are those of PyTorch's BatchNorm, tens of times faster here than `torch.var_mean`.
        """
        exact = torch.promote_types(input.dtype, torch.float32)
        nothing = torch.zeros(input.shape[1], dtype=exact, device=input.device)  # its precision becomes the answer's
        own = torch.stack(torch.batch_norm_update_stats(input, nothing, nothing, 0.0))
        means, variances = self.ranks.gather(own[None]).unbind(1)
        mean = means.mean(0)
        return mean, (variances + (means - mean) ** 2).mean(0)

    def _remember(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Move the running statistics; the variance of a sample of `count` values is made unbiased."""
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked += 1
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance * (count / (count - 1)), share)


class _Normalise(torch.autograd.Function):
    """weight * (input - mean) / sqrt(variance + eps) + bias, where mean and variance are those of all ranks' input."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, eps: float, ranks: Ranks
    ) -> Tensor:
        ctx.save_for_backward(input, weight, mean, variance)
        ctx.eps, ctx.ranks = eps, ranks
        return F.batch_norm(input, mean, variance, weight, bias, training=False, eps=eps)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient with mean and variance held fixed, less what flows through them, which comes from all ranks.

        With sums over the N values of a channel on all ranks, x' the normalised input and y the output:
        dx = weight / sqrt(variance + eps) * (dy - sum(dy) / N - x' sum(dy x') / N).
        """
        input, weight, mean, variance = ctx.saved_tensors
        d_input, d_weight, d_bias = torch.ops.aten.native_batch_norm_backward(
            gradients[0], input, weight, mean, variance, None, None, False, ctx.eps, [True, True, True]
        )
        sums = ctx.ranks.gather(torch.stack([d_weight, d_bias])[None]).sum(0)
        count = input.numel() // len(mean) * ctx.ranks.world
        slope, offset = sums * weight * torch.rsqrt(variance + ctx.eps) / count
        d_input -= F.batch_norm(input, mean, variance, slope, offset, training=False, eps=ctx.eps)
        return d_input, d_weight, d_bias, None, None, None, None


class SharedDropout(nn.Dropout):
    """Dropout whose mask is drawn for the batch of all ranks, from PyTorch's default generator as on one rank."""

    def __init__(self, p: float, ranks: Ranks, batch_rows: int) -> None:
        super().__init__(p)
        self.ranks = ranks
        self.batch_rows = batch_rows

    def forward(self, input: Tensor) -> Tensor:
        """(c*b,...), c views of own b rows -> the same shape."""
        if not self.training or self.p == 0:
            return input
        if len(input) % self.batch_rows:
            raise ValueError(f"{len(input)} rows are not whole views of {self.batch_rows} rows")
        everywhere = F.dropout(torch.cat([torch.ones_like(input)] * self.ranks.world), self.p)
        by_rank = everywhere.view(-1, self.ranks.world, self.batch_rows, *input.shape[1:])
        return input * by_rank[:, self.ranks.rank].flatten(0, 1)
