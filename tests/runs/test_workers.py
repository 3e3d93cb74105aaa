"""Who decodes: as many threads and processes as were asked for, or as there are cores, and never a lone main thread."""

import functools

import numpy as np
import pytest
import torch
import yaml

from twincl.config import build_config
from twincl.data import images as images_module
from twincl.data.decode import decode
from twincl.data.stores import FileImages
from twincl.runs import predict as predict_module
from twincl.runs.apply import apply_model
from twincl.runs.finetune import finetune_config
from twincl.runs.noise import write_noisy_labels
from twincl.runs.predict import evaluate, predict
from twincl.runs.prepare import prepare
from twincl.runs.train import train
from twincl.runs.workers import number_of_workers

CPU = torch.device("cpu")


@pytest.fixture
def split_folder(picture_folder, tmp_path):
    """60 pictures to learn from and 30 to test on, one of each broken."""
    for name, count in (("train", 20), ("test", 10)):
        picture_folder(tmp_path / "data" / name, per_class=count)
        (tmp_path / "data" / name / "red" / "04.png").write_bytes(b"broken")
    return tmp_path / "data"


@pytest.fixture
def decoders(monkeypatch, meeting):
    """Expects so many threads to decode at once from here on; returns who did."""

    def expect(threads):
        met = meeting(decode, threads)
        monkeypatch.setattr(images_module, "decode", met)
        return met.seen

    return expect


def config_of(path, **settings):
    named = {key.replace("__", "."): value for key, value in settings.items()}
    return build_config(settings={"data.path": str(path), **named})


@pytest.mark.parametrize(("cores", "number"), [(None, 1), (1, 1), (3, 3), (8, 8), (64, 8)])
def test_as_many_as_there_are_cores_unless_a_number_is_given(monkeypatch, cores, number):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert number_of_workers() == number_of_workers(None) == number
    assert [number_of_workers(given) for given in (0, 1, 20)] == [0, 1, 20]


def test_by_default_training_and_test_images_are_decoded_by_a_thread_a_core(split_folder, monkeypatch, decoders):
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    seen = decoders(3)
    data = prepare(config_of(split_folder), CPU)
    assert 3 < len(seen) <= 6, "three at the training images, then others at the test images"
    assert "MainThread" not in seen
    assert data.workers == 3


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_the_number_of_threads_that_is_given_is_obeyed(photos, decoders, workers):
    seen = decoders(max(workers, 1))
    data = prepare(config_of(photos, data__workers=workers), CPU)
    assert len(seen) == max(workers, 1)
    assert ("MainThread" in seen) == (workers == 0)
    assert data.workers == workers


def test_any_number_of_threads_prepares_the_same(split_folder):
    alone, many = (prepare(config_of(split_folder, data__workers=workers), CPU) for workers in (0, 4))
    assert alone.skipped == many.skipped
    assert [(one.given_label, one.split) for one in alone.skipped] == [("red", "train"), ("red", "test")]
    assert np.array_equal(alone.train.rows, many.train.rows)
    for one, other in ((alone.train, many.train), (alone.evaluation, many.evaluation)):
        every = np.arange(len(one.images))
        assert torch.equal(one.images.batch(every), other.images.batch(every))
        assert np.array_equal(one.labels, other.labels)


def test_instance_noise_is_decoded_by_threads(photos, tmp_path, monkeypatch, decoders):
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    seen = decoders(3)
    write_noisy_labels(config_of(photos, noise__type="instance", noise__rate=0.3), tmp_path / "y.npy", force=False)
    assert len(seen) == 3


def quick(path, **settings):
    """One epoch; the statistics are given, because measuring them decodes."""
    given = {"augment__mean": (0.5,) * 3, "augment__std": (0.2,) * 3, "amp": False, "device": "cpu"}
    return config_of(path, optim__epochs=1, optim__batch_size=24, **given, **settings)


@pytest.fixture
def decoded_here(monkeypatch):
    """The batches that this process decodes, and not a worker of its."""
    calls, batch = [], FileImages.batch

    def recorded(self, index):
        calls.append(len(index))
        return batch(self, index)

    monkeypatch.setattr(FileImages, "batch", recorded)
    return calls


def test_beyond_the_memory_limit_workers_decode_for_training_test_finetuning_and_prediction(
    picture_folder, tmp_path, monkeypatch, decoded_here
):
    data = picture_folder(tmp_path / "data", per_class=30, size=64)
    train(quick(data, data__memory_limit_mb=1, data__workers=1), tmp_path / "run")
    settings = {"optim.epochs": 1, "finetune.threshold": 0.0, "data.workers": 1, "device": "cpu"}
    train(finetune_config(tmp_path / "run", settings), tmp_path / "finetuned")
    monkeypatch.setattr(predict_module, "apply_model", functools.partial(apply_model, memory_limit=0))
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    table, _ = predict(tmp_path / "run", str(data))
    found = evaluate(tmp_path / "run", str(data))
    assert decoded_here == []
    monkeypatch.setattr(predict_module, "apply_model", functools.partial(apply_model, memory_limit=0, workers=0))
    again, _ = predict(tmp_path / "run", str(data))
    assert decoded_here == [90]
    assert table.equals(again)
    assert found == evaluate(tmp_path / "run", str(data))


def test_test_images_alone_beyond_the_limit_are_decoded_by_workers(picture_folder, tmp_path, decoded_here):
    data = picture_folder(tmp_path / "data", per_class=10, size=64)
    test = picture_folder(tmp_path / "test", per_class=30, size=64)
    config = quick(data, data__test=str(test), data__memory_limit_mb=1, data__workers=1)
    train(config, tmp_path / "run")
    assert decoded_here == []
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["data"]["workers"] == 0


@pytest.mark.parametrize(("memory_limit", "recorded"), [(2048, 0), (1, 2)])
def test_the_number_is_recorded_where_images_do_not_fit_in_memory(
    picture_folder, tmp_path, monkeypatch, memory_limit, recorded
):
    data = picture_folder(tmp_path / "data", per_class=30, size=64)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    train(quick(data, data__memory_limit_mb=memory_limit), tmp_path / "run")
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["data"]["workers"] == recorded
