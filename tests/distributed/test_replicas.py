import pytest
import torch
from torch import nn

from twincl.errors import InputError
from twincl.nets.replicas import replicate
from twincl.ranks import ALONE, Ranks

CPU = torch.device("cpu")
PER_ROW = ("output", "d_input", "at_rest")
SUMMED = ("d_weight", "d_bias")


def in_one(parts: list[torch.Tensor], views: int) -> torch.Tensor:
    """The rows of all ranks in the order of one: view by view, in each rank by rank."""
    return torch.cat([row for view in zip(*(part.chunk(views) for part in parts), strict=True) for row in view])


@pytest.fixture(scope="module")
def alone(duties):
    return duties.normalised(ALONE)


def kinds() -> list[str]:
    """The names of `duties.norms`."""
    kinds = ["1d", "2d", "channels_last", "bfloat16", "bfloat16_channels_last", "far_from_zero", "ranks_differ"]
    return [*kinds, "float64", "cumulative", "without_affine", "without_running"]


def test_no_kind_is_forgotten(duties):
    assert list(duties.norms()) == kinds()


@pytest.mark.parametrize("kind", kinds())
def test_batch_norm_of_many_ranks_is_that_of_one(found, alone, kind):
    many = [rank["normalised"][kind] for rank in found]
    close = {
        "bfloat16": {"atol": 0.05, "rtol": 0.02},
        "far_from_zero": {"atol": 5e-3, "rtol": 5e-3},  # 10,000 leaves four digits behind the point
        "float64": {"atol": 1e-10, "rtol": 1e-10},
    }.get(kind.removesuffix("_channels_last"), {"atol": 1e-4, "rtol": 1e-4})
    assert alone[kind].keys() == many[0].keys()
    for name, expected in alone[kind].items():
        parts = [rank[name] for rank in many]
        if name in PER_ROW:
            actual = in_one(parts, views=2)
        elif name in SUMMED:
            actual = torch.stack(parts).sum(0)
        else:
            assert all(torch.equal(part, parts[0]) for part in parts), f"the ranks remember another {name}"
            actual = parts[0]
        torch.testing.assert_close(actual, expected, msg=lambda text, name=name: f"{name}: {text}", **close)


@pytest.mark.parametrize("kind", ["channels_last", "bfloat16_channels_last"])
def test_batch_norm_keeps_channels_last(found, kind):
    for rank in found:
        for name in ("output", "d_input"):
            assert rank["normalised"][kind][name].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("kind", ["vectors", "pictures", "channels_last", "bfloat16", "one_view", "gradient"])
def test_dropout_of_many_ranks_is_that_of_one(found, duties, kind):
    expected = duties.dropped(ALONE)[kind]
    assert 0.1 < (expected == 0).float().mean() < 0.5
    parts = [rank["dropped"][kind] for rank in found]
    assert torch.equal(in_one(parts, views=1 if kind == "one_view" else 3), expected)


def test_dropout_leaves_all_generators_in_step(found, duties):
    state = duties.dropped(ALONE)["generator"]
    assert all(torch.equal(rank["dropped"]["generator"], state) for rank in found)


def test_dropout_at_rest_and_of_nothing_is_the_identity():
    rows = torch.ones(4, 3)
    before = torch.get_rng_state()
    assert replicate(nn.Dropout(0.5), Ranks(1, 2), CPU, batch_rows=4).eval()(rows) is rows
    assert replicate(nn.Dropout(0.0), Ranks(1, 2), CPU, batch_rows=4)(rows) is rows
    assert torch.equal(torch.get_rng_state(), before)


def test_a_broken_view_is_refused():
    with pytest.raises(ValueError, match="5 rows are not whole views of 4"):
        replicate(nn.Dropout(0.5), Ranks(1, 2), CPU, batch_rows=4)(torch.ones(5, 3))


def test_a_step_of_many_ranks_is_that_of_one(found, duties):
    alone = duties.stepped(ALONE)
    assert all(alone[name].abs().max() > 1e-4 for name in ("encoder.stem.weight", "projector.layers.0.weight"))
    for rank in found:
        assert alone.keys() == rank["stepped"].keys()
        for name, expected in alone.items():
            torch.testing.assert_close(
                rank["stepped"][name], expected, atol=1e-5, rtol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
            )


def test_one_rank_keeps_its_network(duties):
    net = duties.twin_net()
    modules = list(net.modules())
    assert replicate(net, ALONE, CPU, batch_rows=4) is net
    assert all(one is other for one, other in zip(net.modules(), modules, strict=True))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_parameters_and_buffers_stay_the_same_objects_under_the_same_names(duties, device):
    net = duties.twin_net()
    before = net.state_dict(keep_vars=True)
    training = [module.training for module in net.eval().modules()]
    shared = replicate(net, Ranks(0, 2), torch.device(device), batch_rows=4)
    after = shared.state_dict(keep_vars=True)
    assert list(after) == list(before)
    assert all(after[name] is tensor for name, tensor in before.items())
    assert [module.training for module in shared.modules()] == training
    plain = (nn.BatchNorm1d, nn.BatchNorm2d)
    assert not any(type(module) in (*plain, nn.Dropout) for module in shared.modules())
    assert any(isinstance(module, nn.SyncBatchNorm) for module in shared.modules()) == (device == "cuda")


def test_a_batch_norm_that_does_more_is_refused():
    class Activated(nn.BatchNorm2d):
        pass

    with pytest.raises(InputError, match="Activated cannot be shared by processes"):
        replicate(nn.Sequential(Activated(3)), Ranks(0, 2), CPU, batch_rows=4)
