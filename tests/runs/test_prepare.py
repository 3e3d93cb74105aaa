"""Data as a training gets them: which rows, which labels, and what only evaluation sees."""

from pathlib import Path

import numpy as np
import torch

from twincl.config import build_config
from twincl.runs.prepare import LabelledSet, Prepared, prepare

CPU = torch.device("cpu")


def arrays(path: Path, count: int = 40) -> np.ndarray:
    """Images whose every pixel is their own row number, so that each can be recognised."""
    images = np.arange(count, dtype=np.uint8)[:, None, None].repeat(8, 1).repeat(8, 2)
    labels = np.arange(count) % 4
    np.savez(path, images=images, labels=labels)
    return labels


def prepared(path: Path, **settings: object) -> Prepared:
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return prepare(build_config(settings={"data.path": str(path), **named}), CPU)


def recognised(data: LabelledSet) -> list[int]:
    return data.images.batch(np.arange(len(data.images)))[:, 0, 0, 0].tolist()


def test_rows_point_into_the_users_data_after_holding_out(tmp_path):
    labels = arrays(tmp_path / "data.npz")
    data = prepared(tmp_path / "data.npz", data__holdout=0.25)
    assert len(data.train.labels) == 30
    assert data.train.rows.tolist() == recognised(data.train) == [int(name) for name in data.train.names]
    assert np.array_equal(data.train.labels, labels[data.train.rows])
    assert data.evaluation.images is not None
    held = data.evaluation.images.batch(np.arange(10))[:, 0, 0, 0].numpy()
    assert set(held) | set(data.train.rows) == set(range(40))
    assert np.array_equal(data.evaluation.labels, labels[held])


def test_rows_skip_images_that_do_not_decode(picture_folder, tmp_path):
    folder = picture_folder(tmp_path / "photos", per_class=5)
    files = sorted(folder.rglob("*.png"))
    files[2].write_bytes(b"not an image")
    data = prepared(folder, data__holdout=0)
    assert data.train.rows.tolist() == [row for row in range(len(files)) if row != 2]
    (skipped,) = data.skipped
    assert (skipped.file_name, skipped.split) == (files[2].relative_to(folder).as_posix(), "train")
    assert skipped.given_label == files[2].parent.name


def test_limit_takes_the_first_rows_and_noise_keeps_the_truth_apart(tmp_path):
    labels = arrays(tmp_path / "data.npz")
    data = prepared(tmp_path / "data.npz", data__limit=20, data__holdout=0, noise__type="pair", noise__rate=1.0)
    assert data.train.rows.tolist() == list(range(20))
    assert np.array_equal(data.evaluation.truth, labels[:20])
    assert np.array_equal(data.train.labels, (labels[:20] + 1) % 4)
    assert not any("truth" in name or "true" in name for name in LabelledSet.__dataclass_fields__)


def test_held_out_labels_are_clean_when_noise_is_simulated_or_truth_is_known(tmp_path):
    labels = arrays(tmp_path / "data.npz")
    np.save(tmp_path / "truth.npy", (labels + 1) % 4)
    simulated = prepared(tmp_path / "data.npz", noise__type="pair", noise__rate=1.0)
    known = prepared(tmp_path / "data.npz", data__true_labels=str(tmp_path / "truth.npy"))
    unknown = prepared(tmp_path / "data.npz")
    for data, shift in ((simulated, 0), (known, 1), (unknown, 0)):
        held = data.evaluation.images.batch(np.arange(len(data.evaluation.labels)))[:, 0, 0, 0].numpy()
        assert np.array_equal(data.evaluation.labels, (labels[held] + shift) % 4)
    assert "may be wrong" in unknown.evaluation.origin
    assert "may be wrong" not in known.evaluation.origin + simulated.evaluation.origin


def test_labels_in_another_order_are_remarked_upon(tmp_path):
    labels = arrays(tmp_path / "data.npz", count=200)
    np.save(tmp_path / "shuffled.npy", np.random.default_rng(0).permutation(labels))
    np.save(tmp_path / "noisy.npy", np.where(np.arange(200) % 3 == 0, (labels + 1) % 4, labels))
    shuffled, noisy = str(tmp_path / "shuffled.npy"), str(tmp_path / "noisy.npy")
    (remark,) = prepared(tmp_path / "data.npz", data__labels=shuffled).remarks
    assert shuffled in remark
    assert "of the data" in remark
    (remark,) = prepared(tmp_path / "data.npz", data__true_labels=shuffled).remarks
    assert shuffled in remark
    assert "learned from" in remark
    assert not prepared(tmp_path / "data.npz", data__labels=noisy, data__true_labels=noisy).remarks
