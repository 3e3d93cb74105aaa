"""Batches of images or feature vectors with their given labels; true labels have no place here."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from twincl.data.sampling import balanced_sample
from twincl.data.stores import Images, MemoryFeatures, MemoryImages
from twincl.data.streams import stream
from twincl.errors import InputError
from twincl.ranks import ALONE, Ranks


@dataclass(frozen=True)
class Batch:
    """B samples and their given labels, all on the device; of the images only this rank's share b, alone all."""

    index: torch.Tensor  # (B,) int64, the samples' places in the data set
    images: torch.Tensor  # (b, C, H, W) uint8, or feature vectors (b, D) float32
    labels: torch.Tensor  # (B,) int64


class Batches:
    """The samples of a split, served in batches; those in memory by indexing, others by worker processes."""

    def __init__(
        self,
        images: Images,
        labels: np.ndarray,
        *,
        batch_size: int,
        device: torch.device,
        workers: int = 0,
        ranks: Ranks = ALONE,
        rows: np.ndarray | None = None,
        epoch_size: int | None = None,
    ) -> None:
        """Prepare to serve `images` with `labels` (N,), on `device`; nothing is read yet.

        Args:
            images: all samples.
            labels: (N,) the given label of each.
            batch_size: samples in a batch, of all ranks together.
            device: where batches are put.
            workers: processes that decode images which are not in memory.
            ranks: who trains together.
            rows: the samples that may be learned from, by their place; all if None. The others are only judged.
            epoch_size: learn in each epoch from so many of these rows, a sample balanced by given label; None: all.

        Raises:
            InputError: there are fewer images to learn from than `batch_size`.
        """
        if len(images) != len(labels):
            raise ValueError(f"{len(images)} images but {len(labels)} labels")
        if batch_size < 1:
            raise InputError(f"the batch size is {batch_size}; give a number of at least 1.")
        rows = np.arange(len(labels)) if rows is None else np.asarray(rows, dtype=np.int64)
        if len(rows) < batch_size:
            raise InputError(
                f"{len(rows)} training images are fewer than one batch of {batch_size}; "
                f"pass --batch-size {len(rows)} or less"
            )
        self._ranks = ranks
        self._rows = rows
        self._epoch_size = None if epoch_size is None else min(max(epoch_size, batch_size), len(rows))
        self._given = np.asarray(labels)
        self._images = images
        self._batch_size = batch_size
        self._device = device
        self._workers = workers
        self._labels = torch.as_tensor(labels, dtype=torch.int64).to(device)
        self._resident = _resident(images, device)
        self._training_order = _Order()
        self._training_loader: _Loader | None = None  # made by the first epoch, with workers that stay

    @property
    def steps_per_epoch(self) -> int:
        """The number of batches that `shuffled` yields."""
        return (self._epoch_size or len(self._rows)) // self._batch_size

    def learned_from(self, seed: int, epoch: int) -> np.ndarray:
        """The rows that `shuffled` serves, in its order, which depends on (seed, epoch) alone."""
        rng = stream(seed, "order", epoch)
        if self._epoch_size is None:
            order = rng.permutation(len(self._rows))
        else:
            order = balanced_sample(self._given[self._rows], self._epoch_size, rng)
        return self._rows[order[: self.steps_per_epoch * self._batch_size]]

    def shuffled(self, seed: int, epoch: int, *, skip: int = 0) -> Iterator[Batch]:
        """One epoch in an order that depends on (seed, epoch) alone; the last incomplete batch is dropped.

        The first `skip` batches are left out: those that a training which goes on has seen.
        """
        size = self._batch_size
        rows = list(self.learned_from(seed, epoch).reshape(-1, size)[skip:])
        own = self._ranks.rows(size)
        for row, images in zip(rows, self._fetch([row[own] for row in rows], True), strict=True):
            yield self._batch(row, images)

    def in_order(self, rows: np.ndarray | None = None) -> Iterator[Batch]:
        """This rank's share of all images, or of `rows`, each once and in order; the last batch may be smaller.

        A lone batch may even be empty.
        """
        every = np.arange(len(self._labels)) if rows is None else rows
        every = every[self._ranks.share(len(every))]
        size = self._batch_size
        parts = [every[start : start + size] for start in range(0, len(every), size)] or [every]
        for row, images in zip(parts, self._fetch(parts, False), strict=True):
            yield self._batch(row, images)

    def _batch(self, row: np.ndarray, images: torch.Tensor) -> Batch:
        index = torch.from_numpy(row).to(self._device, non_blocking=True)
        return Batch(index, images.to(self._device, non_blocking=True), self._labels.index_select(0, index))

    def _fetch(self, rows: list[np.ndarray], training: bool) -> Iterator[torch.Tensor]:
        """The images of each of the `rows`, one batch after the other."""
        if self._resident is not None:
            for index in map(torch.from_numpy, rows):
                yield self._resident.index_select(0, index.to(self._resident.device, non_blocking=True))
        elif self._workers == 0:
            for row in rows:
                yield self._images.batch(row)
        else:
            for images in self._loader(rows, training):
                if isinstance(images, str):
                    raise InputError(images)
                yield images

    def _loader(self, rows: list[np.ndarray], training: bool) -> "_Loader":
        """The batches `rows` by worker processes; training keeps its workers from epoch to epoch."""
        if not training:
            return _make_loader(self._images, _Order(rows), self._workers, self._device, persistent=False)
        self._training_order.rows = rows
        if self._training_loader is None:
            self._training_loader = _make_loader(
                self._images, self._training_order, self._workers, self._device, persistent=True
            )
        return self._training_loader


class _Order:
    """The batches of the coming epoch; replaced between epochs while the workers live on."""

    def __init__(self, rows: list[np.ndarray] | None = None) -> None:
        self.rows = rows or []

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


_Fetched = torch.Tensor | str
_Loader = DataLoader[_Fetched]


class _Fetch(Dataset[_Fetched]):
    """A batch for a row of indices, or the message of its `InputError`: raised here, it would become a traceback."""

    def __init__(self, images: Images) -> None:
        self._images = images

    def __getitem__(self, row: np.ndarray) -> _Fetched:
        try:
            return self._images.batch(row)
        except InputError as error:
            return str(error)


def _make_loader(images: Images, order: _Order, workers: int, device: torch.device, *, persistent: bool) -> _Loader:
    return DataLoader(
        _Fetch(images),
        batch_size=None,  # the sampler yields whole batches
        sampler=order,
        num_workers=workers,
        prefetch_factor=2,
        persistent_workers=persistent,
        pin_memory=device.type == "cuda",
        generator=torch.Generator(),  # otherwise the workers' seeds are drawn from the global generator
        worker_init_fn=_leave_signals,
    )


def _leave_signals(worker: int) -> None:
    """Ctrl-C is for the training, which ends its workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _resident(images: Images, device: torch.device) -> torch.Tensor | None:
    """All samples in one tensor, on the device if half its free memory holds them; None if not in memory."""
    if not isinstance(images, MemoryImages | MemoryFeatures):
        return None
    if device.type != "cuda":
        return images.tensor
    free, _ = torch.cuda.mem_get_info(device)
    return images.tensor.to(device) if images.tensor.nbytes <= free // 2 else images.tensor
