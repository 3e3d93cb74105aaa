import pytest
import torch

from twincl.ranks import ALONE


@pytest.mark.parametrize("kind", ["natural", "symbols", "features"])
def test_the_views_of_all_ranks_are_those_of_one_bit_for_bit(found, duties, kind):
    alone = duties.views(ALONE)
    for view, expected in enumerate(alone[kind]):
        assert torch.equal(torch.cat([rank["views"][kind][view] for rank in found]), expected)
    for rank in found:
        assert torch.equal(rank["views"][f"{kind} generator"][0], alone[f"{kind} generator"][0]), "out of step"


def test_the_views_of_two_ranks_are_not_the_same_draws(found):
    for kind in ("natural", "symbols", "features"):
        first, second = (rank["views"][kind][0] for rank in found[:2])
        assert not torch.equal(first, second)
