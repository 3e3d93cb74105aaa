import numpy as np
import pytest
import torch
from picture import save

from twincl.data.batches import Batches
from twincl.data.dataset import RawSplit
from twincl.data.images import MemoryImages, load_images
from twincl.errors import InputError
from twincl.ranks import Ranks

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    paths = [save(folder / f"{row}.png", seed=row) for row in range(11)]
    return RawSplit(paths, None, [path.name for path in paths])


def batches(raw, memory_limit=2**30, workers=0, batch_size=4, **options):
    images = load_images(raw, size=8, channels=3, memory_limit=memory_limit).images
    labels = np.arange(100, 100 + len(raw))
    return Batches(images, labels, batch_size=batch_size, device=CPU, workers=workers, **options)


def joined(served):
    parts = list(served)
    return tuple(torch.cat([getattr(part, name) for part in parts]) for name in ("index", "images", "labels"))


@pytest.mark.parametrize("workers", [0, 2])
def test_streaming_equals_memory(raw, workers):
    memory, stream = batches(raw), batches(raw, memory_limit=0, workers=workers)
    for epoch in (0, 1, 0):
        for left, right in zip(memory.shuffled(3, epoch), stream.shuffled(3, epoch), strict=True):
            assert torch.equal(left.index, right.index)
            assert torch.equal(left.images, right.images)
            assert torch.equal(left.labels, right.labels)
    for left, right in zip(joined(memory.in_order()), joined(stream.in_order()), strict=True):
        assert torch.equal(left, right)


def test_order_is_a_function_of_seed_and_epoch(raw):
    served = batches(raw)
    first = joined(served.shuffled(0, 0))[0]
    assert torch.equal(first, joined(batches(raw).shuffled(0, 0))[0])
    assert not torch.equal(first, joined(served.shuffled(0, 1))[0])
    assert not torch.equal(first, joined(served.shuffled(1, 0))[0])


def test_contents(raw):
    served = batches(raw)
    assert served.steps_per_epoch == 2
    sizes = [len(batch.index) for batch in served.shuffled(0, 0)]
    assert sizes == [4, 4]
    index, images, labels = joined(served.in_order())
    assert index.tolist() == list(range(11))
    assert labels.tolist() == list(range(100, 111))
    assert images.shape == (11, 3, 8, 8)
    assert images.dtype == torch.uint8
    index, images, labels = joined(served.shuffled(0, 0))
    assert len(set(index.tolist())) == 8
    assert torch.equal(labels, index + 100)
    assert torch.equal(images, joined(served.in_order())[1][index])


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_only_some_rows_are_learned_from(raw, memory_limit):
    rows = np.array([1, 2, 5, 6, 7, 9, 10])
    served = batches(raw, memory_limit, batch_size=3, rows=rows)
    assert served.steps_per_epoch == 2
    whole = joined(served.in_order())
    assert whole[0].tolist() == list(range(11))
    seen = set()
    for epoch in range(8):
        index, images, labels = joined(served.shuffled(0, epoch))
        assert len(set(index.tolist())) == 6
        assert torch.equal(images, whole[1][index])
        assert torch.equal(labels, whole[2][index])
        seen |= set(index.tolist())
    assert seen == set(rows.tolist())


@pytest.mark.parametrize(("memory_limit", "workers"), [(2**30, 0), (0, 1)])
def test_an_epoch_on_a_sample(raw, memory_limit, workers):
    images = load_images(raw, size=8, channels=3, memory_limit=memory_limit).images
    labels, rows = np.array([0] * 7 + [1] * 4), np.array([0, 1, 2, 3, 4, 5, 8, 9])
    served = Batches(images, labels, batch_size=2, device=CPU, workers=workers, rows=rows, epoch_size=4)
    assert served.steps_per_epoch == 2
    seen = set()
    for epoch in range(12):
        index, pixels, given = joined(served.shuffled(0, epoch))
        assert index.tolist() == served.learned_from(0, epoch).tolist()
        assert sorted(given.tolist()) == [0, 0, 1, 1]
        assert torch.equal(pixels, images.batch(index.numpy()))
        rest = joined(served.shuffled(0, epoch, skip=1))
        assert torch.equal(rest[0], index[2:])
        assert torch.equal(rest[1], pixels[2:])
        seen |= set(index.tolist())
    assert seen == set(rows.tolist())
    assert joined(served.in_order())[0].tolist() == list(range(11))


@pytest.mark.parametrize("epoch_size", [None, 6])
def test_ranks_share_each_batch_and_what_is_judged(raw, epoch_size):
    options = {"batch_size": 2, "epoch_size": epoch_size}
    alone = batches(raw, **options)
    both = [batches(raw, **options, ranks=Ranks(rank, 2)) for rank in range(2)]
    for whole, first, second in zip(alone.shuffled(1, 2), *(one.shuffled(1, 2) for one in both), strict=True):
        assert torch.equal(whole.index, first.index)
        assert torch.equal(whole.labels, second.labels)
        assert torch.equal(whole.images, torch.cat([first.images, second.images]))
    rows = np.array([1, 4, 5, 7, 10])
    shares = [joined(one.in_order(rows)) for one in both]
    assert [share[0].tolist() for share in shares] == [[1, 4], [5, 7, 10]]
    assert torch.equal(torch.cat([share[1] for share in shares]), joined(alone.in_order(rows))[1])


def test_a_sample_larger_than_the_data_is_all_of_it(raw):
    served = batches(raw, epoch_size=1000)
    assert served.steps_per_epoch == 2
    assert batches(raw, epoch_size=1).steps_per_epoch == 1


def test_all_rows_are_as_none_given(raw):
    given, none = batches(raw, rows=np.arange(11)), batches(raw)
    assert torch.equal(joined(given.shuffled(2, 3))[0], joined(none.shuffled(2, 3))[0])


def test_too_few_rows_to_learn_from(raw):
    with pytest.raises(InputError, match="3 training images are fewer than one batch of 4"):
        batches(raw, rows=np.array([0, 1, 2]))


@pytest.mark.parametrize("memory_limit", [0, 2**30])
def test_global_generators_are_not_touched(raw, memory_limit):
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    served = batches(raw, memory_limit, workers=1)
    list(served.shuffled(0, 0))
    list(served.in_order())
    assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(numpy_before, np.random.get_state()[1])  # noqa: NPY002


def test_an_epoch_left_early_and_one_within_another(raw):
    memory, stream = batches(raw), batches(raw, memory_limit=0, workers=1, batch_size=2)
    next(stream.shuffled(0, 0))
    whole = joined(memory.in_order())[1]
    for batch in stream.shuffled(0, 1):
        assert torch.equal(batch.images, whole[batch.index])
        assert torch.equal(joined(stream.in_order())[1], whole)
    served = joined(stream.shuffled(0, 0))
    assert torch.equal(served[1], whole[served[0]])


@pytest.mark.parametrize("workers", [0, 1])
def test_a_decoding_error_in_a_worker_names_the_file(raw, tmp_path, workers):
    paths = [save(tmp_path / f"{row}.png", seed=row) for row in range(4)]
    served = batches(RawSplit(paths, None, [path.name for path in paths]), memory_limit=0, workers=workers)
    paths[2].write_bytes(b"broken")
    with pytest.raises(InputError) as caught:
        list(served.in_order())
    assert str(caught.value).startswith("the image 2.png can no longer be decoded")
    assert "Traceback" not in str(caught.value)


def test_too_few_images():
    images = MemoryImages(np.zeros((3, 4, 4), np.uint8))
    with pytest.raises(
        InputError, match="3 training images are fewer than one batch of 8; pass --batch-size 3 or less"
    ):
        Batches(images, np.zeros(3), batch_size=8, device=CPU)
    with pytest.raises(InputError, match="at least 1"):
        Batches(images, np.zeros(3), batch_size=0, device=CPU)
    with pytest.raises(ValueError, match="3 images but 2 labels"):
        Batches(images, np.zeros(2), batch_size=1, device=CPU)
