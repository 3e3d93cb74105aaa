import pytest
import torch

from twincl.augment.features import FEATURES, FeaturePolicy, FeatureViews
from twincl.errors import InputError

MEAN, STD = (3.0, -2.0, 0.0, 7.5), (0.5, 10.0, 1e-8, 0.0)  # the last feature is constant


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch(count: int = 6) -> torch.Tensor:
    values = torch.randn(count, 4, generator=seeded(9)) * torch.tensor(STD) + torch.tensor(MEAN)
    values[0, 3] = 100.0  # seen only after training
    return values


def views(policy: FeaturePolicy = FEATURES) -> FeatureViews:
    return FeatureViews(policy, MEAN, STD)


def standardised(features: torch.Tensor) -> torch.Tensor:
    """The naive twin: value by value, in double precision."""
    return torch.tensor(
        [
            [(x - m) / s if s > 0 else 0.0 for x, m, s in zip(row, MEAN, STD, strict=True)]
            for row in features.double().tolist()
        ]
    )


def test_plain_is_standardised_and_constants_are_zero():
    torch.testing.assert_close(views().plain(batch()), standardised(batch()), atol=1e-5, rtol=1e-5)
    assert (views().plain(batch())[:, 3] == 0).all()


def test_a_deviation_that_is_only_rounding_counts_as_constant():
    view = FeatureViews(FEATURES, (1000.0, 0.0), (1e-4, 1e-38)).plain(torch.tensor([[1001.0, 1.0]]))
    assert view.tolist() == [[0.0, 0.0]]


def test_views_keep_shape_and_leave_the_input_and_global_randomness_alone():
    features = batch()
    before, state = features.clone(), torch.get_rng_state()
    for view in (views().plain(features), views().weak(features, seeded()), views().strong(features, seeded())):
        assert view.shape == features.shape
        assert view.dtype == torch.float32
        assert view.isfinite().all()
        assert not view.requires_grad
    assert torch.equal(features, before)
    assert torch.equal(torch.get_rng_state(), state)


def test_same_state_same_view_and_next_state_another():
    for make in (views().weak, views().strong):
        generator = seeded(5)
        first = make(batch(), generator)
        assert torch.equal(first, make(batch(), seeded(5)))
        assert not torch.equal(first, make(batch(), generator))


def test_a_strong_view_is_noise_then_omission():
    features = batch(50)
    noise = torch.randn(50, 4, generator=(generator := seeded(2)))
    chance = torch.rand(50, 4, generator=generator)
    policy = FeaturePolicy(noise=0.3, dropout=0.2, weak_noise=0.1)
    plain, strong = standardised(features), views(policy).strong(features, seeded(2))
    for i in range(50):
        for j in range(4):
            expected = 0.0 if j == 3 or chance[i, j] < 0.2 else plain[i, j] + 0.3 * noise[i, j]
            assert strong[i, j].item() == pytest.approx(float(expected), abs=1e-4)


def test_noise_and_omission_are_as_strong_as_asked():
    policy = FeaturePolicy(noise=0.4, dropout=0.25, weak_noise=0.15)
    features = batch(20_000)
    plain = standardised(features)[:, :3]
    weak = views(policy).weak(features, seeded())[:, :3] - plain
    assert (weak.mean(0).abs() < 0.01).all()
    assert weak.std(0).tolist() == pytest.approx([0.15] * 3, abs=0.005)
    assert (weak != -plain).all(), "the weak view leaves nothing out"
    strong = views(policy).strong(features, seeded(1))[:, :3]
    left_out = strong == 0
    assert left_out.float().mean(0).tolist() == pytest.approx([0.25] * 3, abs=0.01)
    assert left_out.float().mean(1).std() > 0.2, "each row loses features of its own"
    noise = (strong - plain)[~left_out]
    assert noise.mean().item() == pytest.approx(0, abs=0.01)
    assert noise.std().item() == pytest.approx(0.4, abs=0.01), "what stays is not rescaled"
    assert torch.corrcoef(torch.stack([noise, plain[~left_out]]))[0, 1].abs() < 0.02


def test_constant_features_get_no_noise():
    assert (views().weak(batch(), seeded())[:, 3] == 0).all()
    assert (views().strong(batch(), seeded())[:, 3] == 0).all()


def test_wrong_normalisation_is_refused():
    with pytest.raises(InputError, match="4 values but there are 3 features"):
        views().plain(batch()[:, :3])
    for mean, std in (((1.0,), ()), ((1.0,), (-1.0,))):
        with pytest.raises(InputError, match="one value per feature"):
            FeatureViews(FEATURES, mean, std)
