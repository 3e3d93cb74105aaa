"""Eq. 14."""

import pytest
import torch

from twincl.core.mixup import Mix, draw_mix, mix


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_mix_matches_its_naive_twin_for_images_and_targets() -> None:
    plan = draw_mix(7, generator(), per_sample=True, dominant=False)
    for rows in (torch.rand(7, 3, 4, 4), torch.rand(7, 5)):
        mixed = mix(rows, plan)
        for i in range(7):
            share, other = plan.share[i], rows[plan.partner[i]]
            torch.testing.assert_close(mixed[i], share * rows[i] + (1 - share) * other)


def test_extremes_return_self_or_partner() -> None:
    rows, partner = torch.rand(4, 2), torch.tensor([1, 2, 3, 0])
    torch.testing.assert_close(mix(rows, Mix(partner, torch.ones(4))), rows)
    torch.testing.assert_close(mix(rows, Mix(partner, torch.zeros(4))), rows[partner])


def test_mixed_targets_stay_distributions() -> None:
    targets = torch.rand(9, 4).softmax(1)
    torch.testing.assert_close(mix(targets, draw_mix(9, generator())).sum(1), torch.ones(9))


def test_one_share_a_batch_or_a_sample_and_always_a_permutation() -> None:
    for per_sample, distinct in ((False, 1), (True, 50)):
        plan = draw_mix(50, generator(), per_sample=per_sample)
        assert len(plan.share.unique()) == distinct
        assert sorted(plan.partner.tolist()) == list(range(50))


@pytest.mark.parametrize("alpha", [0.4, 1.0, 4.0])
def test_shares_follow_the_beta_distribution(alpha: float) -> None:
    shares = draw_mix(20_000, generator(), alpha=alpha, per_sample=True, dominant=False).share.double()
    assert float(shares.mean()) == pytest.approx(0.5, abs=0.01)
    assert float(shares.var()) == pytest.approx(1 / (4 * (2 * alpha + 1)), abs=0.005)
    dominant = draw_mix(20_000, generator(), alpha=alpha, per_sample=True).share
    assert float(dominant.min()) >= 0.5


def test_the_generator_alone_decides() -> None:
    state = torch.get_rng_state()
    one, two = draw_mix(30, generator(3)), draw_mix(30, generator(3))
    assert torch.equal(one.partner, two.partner)
    assert torch.equal(one.share, two.share)
    assert torch.equal(torch.get_rng_state(), state)
