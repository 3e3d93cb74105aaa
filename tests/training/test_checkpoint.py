"""A checkpoint holds everything; a damaged one is recognised and harmless."""

import hashlib
import io
import pickle

import pytest
import torch

from twincl.errors import InputError, TrainingError
from twincl.training.checkpoint import (
    CHECKSUM_LENGTH,
    KEEP,
    find_checkpoints,
    load_checkpoint,
    remove_checkpoints,
    save_checkpoint,
)


def test_round_trip_restores_everything_that_moves(tiny, tmp_path):
    training, other = tiny(), tiny()
    training.train(2)
    training.state.step, training.state.terms = 2, [{"a": torch.tensor(1.0)}, {"a": torch.tensor(2.5)}]
    torch.rand(3)
    history = [{"epoch": 1, "loss": 0.1}, {"epoch": 2, "loss": None}]
    path = save_checkpoint(tmp_path / "kept", training.state, history)
    expected = (torch.rand(2), torch.rand(2, generator=training.state.generator))

    assert load_checkpoint(tmp_path / "kept", other.state) == (history, [])
    assert torch.equal(torch.rand(2), expected[0]), "the global generator, of dropout"
    assert torch.equal(torch.rand(2, generator=other.state.generator), expected[1])
    assert (other.state.epoch, other.state.step, other.state.terms) == (2, 2, [{"a": 1.0}, {"a": 2.5}])
    for mine, theirs in (
        (training.state.net.state_dict(), other.state.net.state_dict()),
        (training.state.method.state_dict(), other.state.method.state_dict()),
    ):
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    momenta = [[entry["momentum_buffer"] for entry in one.state.optimizer.state.values()] for one in (training, other)]
    assert momenta[0]
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(*momenta, strict=True))
    assert list((tmp_path / "kept").iterdir()) == [path], "no temporary file is left"


@pytest.mark.parametrize(("step", "sample"), [(1, None), (2, None), (3, None), (1, 8), (2, 8)])
def test_a_training_goes_on_in_the_middle_of_an_epoch(tiny, tmp_path, step, sample):
    whole, first, second = (tiny(sample=sample) for _ in range(3))

    class Enough(Exception):
        pass

    def stop(done, of):
        if (first.state.epoch, done) == (1, step):
            save_checkpoint(tmp_path, first.state, [])
            raise Enough

    torch.manual_seed(5)
    expected = whole.train(4)
    torch.manual_seed(5)
    with pytest.raises(Enough):
        first.train(4, on_step=stop)
    torch.manual_seed(77)
    load_checkpoint(tmp_path, second.state)
    seen = second.train(4)
    assert [epoch.losses for epoch in seen] == [epoch.losses for epoch in expected[1:]]
    assert [epoch.learning_rate for epoch in seen] == [epoch.learning_rate for epoch in expected[1:]]
    for mine, theirs in zip(expected[1:], seen, strict=True):
        assert torch.equal(mine.detection.score, theirs.detection.score)
        assert torch.equal(mine.detection.clean, theirs.detection.clean)
        assert torch.equal(mine.snapshot.probabilities, theirs.snapshot.probabilities)
    mine, theirs = whole.state.net.state_dict(), second.state.net.state_dict()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_the_newest_few_are_kept(tiny, tmp_path):
    training = tiny()
    written = []
    for epoch, step in ((0, 1), (0, 2), (1, 0), (1, 10), (2, 0)):
        training.state.epoch, training.state.step = epoch, step
        written.append(save_checkpoint(tmp_path, training.state, []))
    assert find_checkpoints(tmp_path) == written[: -KEEP - 1 : -1]
    (tmp_path / "notes.txt").write_text("mine")
    remove_checkpoints(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    remove_checkpoints(tmp_path / "none")


def _torn(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [_torn, _flipped, lambda content: b""])
def test_a_damaged_checkpoint_is_left_aside_for_the_one_before_it(tiny, tmp_path, damage):
    training = tiny()
    training.state.epoch = 1
    save_checkpoint(tmp_path, training.state, [{"epoch": 1}])
    training.state.epoch = 2
    newest = save_checkpoint(tmp_path, training.state, [{"epoch": 1}, {"epoch": 2}])
    newest.write_bytes(damage(newest.read_bytes()))
    other = tiny()
    assert load_checkpoint(tmp_path, other.state) == ([{"epoch": 1}], [newest])
    assert other.state.epoch == 1


class Trap:
    def __reduce__(self):
        return pytest.fail, ("code in a checkpoint was executed",)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", pickle.dumps(Trap(), 2), pickle.dumps({"epoch": 1}, 2)])
def test_no_whole_checkpoint_is_one_sentence_and_nothing_is_executed(tiny, tmp_path, content):
    digest = hashlib.sha256(content).hexdigest()[:16]  # a stranger can compute it, too
    (tmp_path / f"00001-0000000-{digest}.pt").write_bytes(content)
    with pytest.raises(InputError, match=r"^(no|the) checkpoint .*; start anew with --force$"):
        load_checkpoint(tmp_path, tiny().state)


def test_a_checkpoint_of_other_data_is_refused(tiny, tmp_path):
    save_checkpoint(tmp_path, tiny().state, [])
    with pytest.raises(InputError, match="is of another training or data"):
        load_checkpoint(tmp_path, tiny(count=16).state)


def test_what_is_not_finite_is_never_saved(tiny, tmp_path):
    training = tiny()
    save_checkpoint(tmp_path, training.state, [])
    training.state.terms = [{"pull": torch.tensor(1.0)}, {"pull": torch.tensor(float("inf"))}]
    with pytest.raises(TrainingError, match=r"the loss term 'pull' became inf in step 2 of epoch 1"):
        save_checkpoint(tmp_path, training.state, [])
    training.state.terms, training.state.step = [], 1
    with torch.no_grad():
        next(training.state.net.parameters()).view(-1)[0] = float("nan")
    with pytest.raises(TrainingError, match="the weights became NaN or infinite in epoch 1"):
        save_checkpoint(tmp_path, training.state, [])
    assert len(find_checkpoints(tmp_path)) == 1


def test_random_numbers_begin_anew_where_the_kind_of_device_has_changed(tiny, tmp_path):
    """The generator of a GPU has a state of another length."""
    training = tiny()
    training.state.epoch = 1
    path = save_checkpoint(tmp_path, training.state, [])
    content = torch.load(path, weights_only=True) | {"generator": torch.zeros(16, dtype=torch.uint8)}
    path.unlink()
    torch.save(content, buffer := io.BytesIO())
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()[:CHECKSUM_LENGTH]
    (tmp_path / f"00001-0000000-{digest}.pt").write_bytes(buffer.getvalue())
    drawn = []
    for _ in range(2):
        other = tiny()
        load_checkpoint(tmp_path, other.state)
        assert other.state.epoch == 1
        drawn.append(torch.rand(3, generator=other.state.generator).tolist())
    assert drawn[0] == drawn[1]
    assert drawn[0] != torch.rand(3, generator=tiny().state.generator).tolist()
