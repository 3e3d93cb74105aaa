import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twincl.data.noise import (
    CIFAR10_MAP,
    CIFAR100_COARSE,
    NOISES,
    add_noise,
    asymmetric_cifar10,
    asymmetric_cifar100,
    from_transition_matrix,
    instance_dependent,
    pair,
    symmetric,
)
from twincl.errors import InputError

# the classes of each superclass as the data set's authors list them
SUPERCLASSES = """
beaver dolphin otter seal whale
aquarium_fish flatfish ray shark trout
orchid poppy rose sunflower tulip
bottle bowl can cup plate
apple mushroom orange pear sweet_pepper
clock keyboard lamp telephone television
bed chair couch table wardrobe
bee beetle butterfly caterpillar cockroach
bear leopard lion tiger wolf
bridge castle house road skyscraper
cloud forest mountain plain sea
camel cattle chimpanzee elephant kangaroo
fox porcupine possum raccoon skunk
crab lobster snail spider worm
baby boy girl man woman
crocodile dinosaur lizard snake turtle
hamster mouse rabbit shrew squirrel
maple_tree oak_tree palm_tree pine_tree willow_tree
bicycle bus motorcycle pickup_truck train
lawn_mower rocket streetcar tank tractor
"""


def balanced(num_classes: int, per_class: int) -> np.ndarray:
    return np.random.default_rng(7).permutation(np.repeat(np.arange(num_classes), per_class))


def empirical(labels: np.ndarray, noisy: np.ndarray, num_classes: int) -> np.ndarray:
    counts = np.zeros((num_classes, num_classes))
    np.add.at(counts, (labels, noisy), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def test_superclass_table_follows_the_names():
    groups = [line.split() for line in SUPERCLASSES.split("\n") if line]
    names = sorted(name for group in groups for name in group)
    assert len(names) == len(set(names)) == 100
    coarse_of = {name: number for number, group in enumerate(groups) for name in group}
    assert tuple(coarse_of[name] for name in names) == CIFAR100_COARSE
    assert np.bincount(CIFAR100_COARSE).tolist() == [5] * 20


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_symmetric_without_own_is_wrong_at_exactly_the_rate(rate):
    labels = balanced(10, 100)
    noisy = symmetric(labels, 10, rate, np.random.default_rng(0), include_own=False)
    assert (noisy != labels).sum() == int(rate * 1000)


def test_symmetric_with_own_follows_its_matrix():
    labels = balanced(5, 8000)
    noisy = symmetric(labels, 5, 0.8, np.random.default_rng(0))
    expected = np.full((5, 5), 0.8 / 5) + np.eye(5) * 0.2
    np.testing.assert_allclose(empirical(labels, noisy, 5), expected, atol=0.02)


def test_pair_follows_its_matrix():
    labels = balanced(4, 8000)
    noisy = pair(labels, 4, 0.3, np.random.default_rng(0))
    expected = 0.7 * np.eye(4) + 0.3 * np.roll(np.eye(4), 1, axis=1)
    np.testing.assert_allclose(empirical(labels, noisy, 4), expected, atol=0.02)


def test_asymmetric_cifar10_moves_the_mapped_classes_only():
    labels = balanced(10, 4000)
    noisy = asymmetric_cifar10(labels, 0.4, np.random.default_rng(0))
    expected = np.eye(10)
    for source, target in CIFAR10_MAP.items():
        expected[source, source], expected[source, target] = 0.6, 0.4
    np.testing.assert_allclose(empirical(labels, noisy, 10), expected, atol=0.03)
    everything = asymmetric_cifar10(labels, 1.0, np.random.default_rng(0))
    assert all((everything[labels == k] == CIFAR10_MAP.get(k, k)).all() for k in range(10))


def test_asymmetric_cifar100_stays_in_the_superclass():
    labels = balanced(100, 300)
    coarse = np.array(CIFAR100_COARSE)
    noisy = asymmetric_cifar100(labels, 0.4, np.random.default_rng(0))
    assert (coarse[noisy] == coarse[labels]).all()
    assert (noisy != labels).mean() == pytest.approx(0.4, abs=0.02)
    moved = asymmetric_cifar100(np.arange(100), 1.0, np.random.default_rng(0))
    assert sorted(moved) == list(range(100))  # a permutation: classes keep their size
    cycle = np.arange(100)
    for _ in range(5):
        cycle = moved[cycle]
    assert (cycle == np.arange(100)).all()
    beaver, dolphin, whale = 4, 30, 95
    assert moved[beaver] == dolphin
    assert moved[whale] == beaver


def test_transition_matrix_is_reproduced_and_zeros_stay_zero():
    labels = balanced(4, 10_000)
    matrix = np.array([[0.7, 0.1, 0.2, 0.0], [0.0, 1.0, 0.0, 0.0], [0.25] * 4, [0.0, 0.5, 0.1, 0.4]])
    found = empirical(labels, from_transition_matrix(labels, matrix, np.random.default_rng(0)), 4)
    np.testing.assert_allclose(found, matrix, atol=0.02)
    assert (found[matrix == 0] == 0).all()


def test_instance_noise_has_the_rate_and_depends_on_the_instance():
    labels = balanced(5, 4000)
    features = np.random.default_rng(1).standard_normal((20_000, 8))
    noisy = instance_dependent(labels, features, 5, 0.3, np.random.default_rng(0))
    assert (noisy != labels).mean() == pytest.approx(0.3, abs=0.02)
    # samples that look the same and share a label go wrong in nearly the same way
    same = np.repeat(features[:1] * 3, 20_000, axis=0)
    one_class = np.zeros(20_000, dtype=np.int64)
    wrong = instance_dependent(one_class, same, 5, 0.3, np.random.default_rng(0))
    counts = np.bincount(wrong[wrong != 0], minlength=5)
    assert counts.max() / counts.sum() > 0.5


def test_instance_noise_equals_a_sample_by_sample_reference():
    labels = balanced(3, 2)
    features = np.random.default_rng(1).standard_normal((6, 4))
    rng = np.random.default_rng(5)
    flip = rng.normal(0.4, 0.1, 6)
    assert ((flip > 0) & (flip < 1)).all()
    expected = np.empty_like(labels)
    for label in range(3):
        projection = rng.standard_normal((4, 3))
        members = np.flatnonzero(labels == label)
        for i, u in zip(members, rng.random(len(members)), strict=True):
            odds = np.exp(features[i] @ projection)
            odds[label] = 0
            chances = flip[i] * odds / odds.sum()
            chances[label] = 1 - flip[i]
            expected[i] = next(k for k in range(3) if u < chances[: k + 1].sum())
    ours = instance_dependent(labels, features, 3, 0.4, np.random.default_rng(5))
    assert (ours == expected).all()


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(NOISES),
    labels=st.lists(st.integers(0, 9), max_size=60),
    rate=st.floats(0, 1),
    seed=st.integers(0, 2**32),
    own=st.booleans(),
)
def test_every_kind_gives_valid_reproducible_labels_and_leaves_the_truth(kind, labels, rate, seed, own):
    truth = np.array(labels, dtype=np.int64)
    before = truth.copy()
    features = np.random.default_rng(0).standard_normal((len(truth), 3))
    matrix = np.random.default_rng(0).dirichlet(np.ones(10), size=10)
    arguments = {"kind": kind, "rate": rate, "num_classes": 10, "seed": seed, "include_own": own}
    noisy = add_noise(truth, **arguments, features=features, matrix=matrix)
    assert noisy.shape == truth.shape
    assert noisy.dtype == np.int64
    assert ((noisy >= 0) & (noisy < 10)).all()
    assert (truth == before).all()
    assert not np.shares_memory(noisy, truth)
    assert (noisy == add_noise(truth, **arguments, features=features, matrix=matrix)).all()
    if rate == 0 and kind in ("symmetric", "asymmetric", "pair"):
        assert (noisy == truth).all()


def test_another_seed_gives_other_noise():
    labels = balanced(10, 100)
    first, second = (add_noise(labels, kind="symmetric", rate=0.5, num_classes=10, seed=s) for s in (0, 1))
    assert (first != second).any()


def test_unsigned_labels_do_not_wrap():
    labels = balanced(200, 5).astype(np.uint8)
    noisy = add_noise(labels, kind="symmetric", rate=1.0, num_classes=200, seed=0, include_own=False)
    assert (noisy != labels).all()
    assert noisy.max() < 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "symetric"}, "did you mean 'symmetric'"),
        ({"rate": 1.2}, "between 0 and 1"),
        ({"rate": float("nan")}, "between 0 and 1"),
        ({"num_classes": 1}, "two classes"),
        ({"num_classes": 2}, "between 0 and 1 for 2 classes"),
        ({"kind": "asymmetric"}, "use 'pair' or 'matrix'"),
        ({"kind": "matrix"}, "3 rows"),
        ({"kind": "matrix", "matrix": np.ones((3, 3))}, "sum to 1"),
        ({"kind": "matrix", "matrix": np.full((3, 3), np.nan)}, "sum to 1"),
        ({"kind": "matrix", "matrix": np.ones((3, 2)) / 2}, "square"),
        ({"kind": "instance"}, "features"),
        ({"kind": "instance", "features": np.ones((2, 2))}, "features"),
        ({"labels": np.array([0.0, 1.0])}, "integers"),
    ],
)
def test_what_cannot_be_used_is_refused(change, message):
    arguments = {"labels": np.array([0, 1, 2]), "kind": "symmetric", "rate": 0.5, "num_classes": 3, "seed": 0}
    with pytest.raises(InputError, match=message):
        add_noise(**(arguments | change))
