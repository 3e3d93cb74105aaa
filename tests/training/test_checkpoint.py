import pickle

import pytest
import torch

from twincl.errors import InputError
from twincl.training.checkpoint import load_checkpoint, save_checkpoint


def test_round_trip_restores_everything_that_moves(tiny, tmp_path):
    training, other = tiny(), tiny()
    training.train(2)
    torch.rand(3)
    history = [{"epoch": 1, "loss": 0.1}, {"epoch": 2, "loss": None}]
    save_checkpoint(tmp_path / "c.pt", training.state, history)
    expected = (torch.rand(2), torch.rand(2, generator=training.state.generator))

    assert load_checkpoint(tmp_path / "c.pt", other.state) == history
    assert torch.equal(torch.rand(2), expected[0]), "the global generator, of dropout"
    assert torch.equal(torch.rand(2, generator=other.state.generator), expected[1])
    assert other.state.epoch == 2
    for mine, theirs in (
        (training.state.net.state_dict(), other.state.net.state_dict()),
        (training.state.method.state_dict(), other.state.method.state_dict()),
    ):
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    momenta = [[entry["momentum_buffer"] for entry in one.state.optimizer.state.values()] for one in (training, other)]
    assert momenta[0]
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(*momenta, strict=True))
    assert [file.name for file in tmp_path.iterdir()] == ["c.pt"], "no temporary file is left"


class Trap:
    def __reduce__(self):
        return pytest.fail, ("code in a checkpoint was executed",)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", pickle.dumps(Trap(), 2), pickle.dumps({"epoch": 1}, 2)])
def test_a_damaged_checkpoint_is_one_sentence(tiny, tmp_path, content):
    (tmp_path / "c.pt").write_bytes(content)
    with pytest.raises(InputError, match=r"the checkpoint .*c\.pt cannot be read .*; start anew with --force"):
        load_checkpoint(tmp_path / "c.pt", tiny().state)


def test_a_checkpoint_of_other_data_is_refused(tiny, tmp_path):
    save_checkpoint(tmp_path / "c.pt", tiny().state, [])
    with pytest.raises(InputError, match="was written for other images"):
        load_checkpoint(tmp_path / "c.pt", tiny(count=16).state)
