import threading
from functools import partial

import numpy as np
import pytest
import torch
from picture import noise, png, save

from twincl.data import images as images_module
from twincl.data.dataset import RawSplit
from twincl.data.decode import BrokenImage, decode
from twincl.data.images import FileImages, MemoryImages, attempt_each, load_images, load_like
from twincl.errors import InputError


def split(pixels):
    return RawSplit(pixels, None, [f"name {row}" for row in range(len(pixels))])


def load(pixels, size=None, channels=None, **options):
    return load_images(split(pixels), size=size, channels=channels, **options)


def test_small_images_keep_their_size_and_colours():
    loaded = load([png(seed=seed) for seed in range(3)])
    assert loaded.images.shape == (3, 8, 8)
    assert loaded.images.in_memory
    assert loaded.kept.tolist() == [0, 1, 2]
    assert loaded.broken == []
    batch = loaded.images.batch(np.array([2, 0]))
    assert batch.dtype == torch.uint8
    assert np.array_equal(batch[0].permute(1, 2, 0), np.asarray(noise(seed=2)))


@pytest.mark.parametrize(
    ("sources", "shape"),
    [
        ([png(mode="L"), png(mode="LA")], (1, 8, 8)),
        ([png(mode="L"), png()], (3, 8, 8)),
        ([png((8, 10)), png((8, 10))], (3, 10, 10)),
        ([png((8, 30))], (3, 48, 48)),
        ([png((8, 8)), png((9, 9))], (3, 48, 48)),
        ([png((96, 96))], (3, 96, 96)),
        ([png((97, 97))], (3, 48, 48)),
    ],
)
def test_shape_found_in_headers(sources, shape):
    assert load(sources, default_size=48).images.shape == shape


@pytest.mark.parametrize("workers", [0, 2])
def test_streaming_equals_memory(tmp_path, workers):
    paths = [save(tmp_path / f"{row}.png", (20 + row, 25), seed=row) for row in range(130)]
    paths[5].write_bytes(b"broken")
    memory = load(paths, size=6, channels=3, workers=workers)
    stream = load(paths, size=6, channels=3, workers=workers, memory_limit=1000)
    assert isinstance(memory.images, MemoryImages)
    assert isinstance(stream.images, FileImages)
    assert len(stream.images) == len(memory.images) == 129
    index = np.array([128, 5, 4, 0])
    assert torch.equal(memory.images.batch(index), stream.images.batch(index))
    assert memory.broken == stream.broken == [("name 5", "not an image of a known format")]


@pytest.mark.parametrize("shape", [None, (3, 9, 9)])
@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_any_number_of_threads_gives_the_same(shape, memory_limit):
    sources = [png((10, 10), seed=row) for row in range(150)]
    damaged = (0, 7, 8, 63, 64, 149)
    for row in damaged:
        sources[row] = sources[row][: 2 * row]

    def found(workers):
        bar = []
        options = {"memory_limit": memory_limit, "workers": workers, "progress": lambda rows: map(tick(bar), rows)}
        loaded = load_like(split(sources), shape, **options) if shape else load(sources, **options)
        return loaded.images.batch(np.arange(len(loaded.kept))), loaded.kept.tolist(), loaded.broken, bar

    def tick(bar):
        return lambda row: bar.append(row) or row

    alone, many = found(0), found(4)
    assert torch.equal(alone[0], many[0])
    assert alone[1:] == many[1:]
    assert [name for name, _ in alone[2]] == [f"name {row}" for row in damaged]
    assert alone[3] == list(range(150))


@pytest.mark.parametrize("threads", [2, 3])
def test_as_many_threads_decode_as_are_asked_for(monkeypatch, meeting, threads):
    sources = [png(seed=row) for row in range(60)]
    loaders = partial(load, sources, 8, 3), partial(load_like, split(sources), (3, 8, 8))
    for loader in loaders:
        met = meeting(decode, threads)
        monkeypatch.setattr(images_module, "decode", met)
        loader(workers=threads)
        assert len(met.seen) == threads
        assert "MainThread" not in met.seen
    met = meeting(decode, 1)
    monkeypatch.setattr(images_module, "decode", met)
    for loader in loaders:
        loader(workers=0)
        loader()
    assert met.seen == {"MainThread"}


@pytest.mark.parametrize("workers", [0, 3])
def test_each_is_attempted_in_order(workers):
    def work(row):
        if row % 5 == 2:
            raise BrokenImage(f"at {row}")
        return row

    found = [str(one) if isinstance(one, BrokenImage) else one for one in attempt_each(work, 333, workers)]
    assert found == [f"at {row}" if row % 5 == 2 else row for row in range(333)]
    assert list(attempt_each(work, 0, workers)) == []

    def fail(row):
        if row == 100:
            raise ZeroDivisionError
        return row

    attempts = attempt_each(fail, 200, workers)
    assert [next(attempts) for _ in range(96)] == list(range(96))
    with pytest.raises(ZeroDivisionError):
        list(attempts)


def test_threads_are_not_far_ahead_and_stop_with_the_one_that_asks():
    begun = []
    attempts = attempt_each(lambda row: begun.append(row), 100_000, 2)
    next(attempts)
    attempts.close()
    assert len(begun) < 1000

    def interrupt(rows):
        yield 0
        raise KeyboardInterrupt

    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt) as caught:
        load([png()] * 5000, 8, 3, workers=2, progress=interrupt)
    assert threading.active_count() == threads, f"while {caught.value!r} still holds on to what was interrupted"


def test_broken_images_are_left_out_and_named():
    sources = [png(), b"", png(seed=1), png((32, 32), seed=2)[:200]]
    seen = []

    def progress(rows):
        assert len(rows) == 4
        for row in rows:
            seen.append(row)
            yield row

    loaded = load(sources, progress=progress)
    assert seen == [0, 1, 2, 3]
    assert loaded.kept.tolist() == [0, 2]
    assert [name for name, _ in loaded.broken] == ["name 1", "name 3"]
    assert all(reason for _, reason in loaded.broken)
    assert len(loaded.images) == 2


def test_nothing_usable():
    with pytest.raises(InputError, match=r"none of the 2 images .*name 0: not an image"):
        load([b"x", b"y"])
    with pytest.raises(InputError, match="none of the 1 images"):
        load([png()[:60]], size=8, channels=3)
    with pytest.raises(InputError, match="no images"):
        load([])


def test_a_file_that_disappears_is_named(tmp_path):
    path = save(tmp_path / "x.png")
    images = load([path], memory_limit=0).images
    path.unlink()
    with pytest.raises(InputError, match=r"name 0 .*no such file"):
        images.batch(np.array([0]))


@pytest.mark.parametrize("shape", [(5, 8, 8), (5, 8, 8, 1), (5, 8, 8, 3), (5, 6, 9, 3)])
def test_arrays_are_wrapped_without_a_copy(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    images = load(pixels).images
    channels = shape[3] if len(shape) == 4 else 1
    assert images.shape == (channels, *shape[1:3])
    expected = pixels.reshape(*shape[:3], channels).transpose(0, 3, 1, 2)
    assert np.array_equal(images.batch(np.array([4, 1])), expected[[4, 1]])
    pixels[...] = 7
    assert (images.batch(np.array([0])) == 7).all()


def test_read_only_arrays():
    pixels = np.frombuffer(bytes(range(32)), dtype=np.uint8).reshape(2, 4, 4)
    assert load(pixels).images.batch(np.array([1])).flatten().tolist() == list(range(16, 32))


def test_arrays_follow_the_rules_of_files():
    """The same pictures, as files and as an array, come out alike for any size and channels."""
    for mode in ("L", "RGB", "RGBA"):
        pictures = [noise((20, 14), mode, seed) for seed in range(3)]
        if mode == "RGBA":
            for picture in pictures:
                picture.putalpha(90)
        array = np.stack([np.asarray(picture) for picture in pictures])
        paths = [_encode(picture) for picture in pictures]
        for size in (7, 14, 21):
            for channels in (1, 3):
                ours = load(array, size, channels).images.batch(np.arange(3)).int()
                files = load(paths, size, channels).images.batch(np.arange(3)).int()
                assert (ours - files).abs().max() <= 2, (mode, size, channels)


def test_array_channels():
    grey = np.full((2, 4, 4), 9, np.uint8)
    assert load(grey, channels=4).images.batch(np.array([0]))[0, :, 0, 0].tolist() == [9, 9, 9, 255]
    clear = np.zeros((1, 4, 4, 4), np.uint8)
    assert load(clear).images.batch(np.array([0]))[0, :, 0, 0].tolist() == [255, 255, 255]
    assert load(clear, channels=4).images.shape == (4, 4, 4)


def _encode(picture):
    from io import BytesIO

    buffer = BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()
