"""Images as the feature vectors of a pretrained network, for `twincl clean`: quick to learn from on any machine."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor, nn

from twincl.augment.images import NATURAL, ImageViews
from twincl.data.batches import Batches
from twincl.data.images import load_images
from twincl.data.read import read_dataset
from twincl.errors import InputError
from twincl.files import atomic_path, refuse_existing
from twincl.nets.precision import precision
from twincl.nets.registry import TIMM_PREFIX, create_encoder
from twincl.nets.timm_encoder import TimmEncoder
from twincl.runs.labels import labels_from, named_labels
from twincl.runs.prepare import Progress
from twincl.runs.resolve import IMAGENET_STATISTICS
from twincl.runs.workers import number_of_workers
from twincl.training.device import choose_device, mixed_precision_pays


def embed(
    data: str,
    model: str,
    output: Path,
    *,
    weights: Path | None = None,
    labels: str | None = None,
    img_size: int = 224,
    batch_size: int = 64,
    allow_outside: bool = False,
    device: str = "auto",
    force: bool = False,
    progress: Progress = None,
) -> tuple[int, list[tuple[str, str]]]:
    """Write a parquet table with file_name, label (where there are labels) and embedding.

    Returns:
        The number of rows, and what could not be decoded: image and reason.

    Args:
        data: images as `twincl train` reads them, of which the training split is taken.
        model: `timm:NAME`, downloaded with its pretrained weights, or resnet18 or resnet50 with `weights`.
        output: the file to write.
        weights: local file of ImageNet weights.
        labels: file of labels instead of those of the data.
        img_size: side in pixels to which images are brought.
        batch_size: images a pass.
        allow_outside: let a table name files outside its own folder.
        device: as in a training.
        force: replace an earlier file.
        progress: wraps the iterations over images and batches.

    Raises:
        InputError: data, model or output cannot be used.
    """
    if output.suffix != ".parquet":
        raise InputError(f"embeddings are written as parquet; give {output} a name that ends in .parquet")
    refuse_existing(output, force=force)
    place = choose_device(device)
    net, views = _pretrained(model, weights, img_size)
    raw = read_dataset(data, allow_outside=allow_outside)
    if raw.train.is_features:
        raise InputError(f"{data} holds feature vectors already; give them to twincl clean as they are")
    try:
        names = pa.array(raw.train.names)
    except UnicodeEncodeError as error:
        raise InputError(f"parquet cannot hold the name {error.object!a}: it is not Unicode; rename the file") from None
    given = labels_from(labels, raw.train, None)
    workers = number_of_workers()
    loaded = load_images(raw.train, size=img_size, channels=3, workers=workers, progress=progress)
    count = len(loaded.kept)
    unlabelled, size = np.zeros(count, np.int64), min(batch_size, count)
    batches = Batches(loaded.images, unlabelled, batch_size=size, device=place, workers=workers)
    vectors = _embed(net.to(place).eval(), views, batches, mixed_precision_pays(place), progress)

    columns = {"file_name": names.take(pa.array(loaded.kept))}
    if given is not None:
        columns["label"] = pa.array([str(label) for label in named_labels(given, raw.classes)[loaded.kept]])
    flat = pa.array(vectors.numpy().reshape(-1))
    columns["embedding"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    with atomic_path(output) as temporary:
        pq.write_table(pa.table(columns), temporary)
    return count, loaded.broken


def _pretrained(name: str, weights: Path | None, img_size: int) -> tuple[nn.Module, ImageViews]:
    if name.startswith(TIMM_PREFIX):
        encoder = TimmEncoder(name.removeprefix(TIMM_PREFIX), channels=3, img_size=img_size, pretrained=True)
        return encoder, ImageViews(NATURAL, encoder.mean, encoder.std)
    if weights is None:
        raise InputError(
            f"the network '{name}' would be untrained; name one of timm's (timm:resnet50), or give resnet18 or "
            "resnet50 a file of ImageNet weights with --weights"
        )
    return create_encoder(name, shape=(3, img_size, img_size), weights=weights), ImageViews(
        NATURAL, *IMAGENET_STATISTICS
    )


@torch.inference_mode()
def _embed(net: nn.Module, views: ImageViews, batches: Batches, amp: bool, progress: Progress) -> Tensor:
    found = []
    served = batches.in_order()
    for batch in progress(served) if progress else served:
        with precision(batch.images.device, amp):
            found.append(net(views.plain(batch.images)).float().cpu())
    return torch.cat(found)
