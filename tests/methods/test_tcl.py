"""A step of TCL against its parts put together by hand, with plain loops, from the same draws."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from twincl.augment.images import NATURAL, ImageViews
from twincl.config import PRESETS
from twincl.core import mixture
from twincl.core.detection import DIVIDEMIX, clean_probability, clean_probability_per_class
from twincl.core.mixup import draw_mix
from twincl.core.noise_model import fit_noise_model
from twincl.core.scores import neighbour_score
from twincl.data.batches import Batch
from twincl.methods.method import Parts, Snapshot
from twincl.methods.tcl import TCL, TCLSettings
from twincl.nets.precision import precision
from twincl.nets.twin import TwinNet

N, B, K, D = 30, 6, 3, 5

SETTINGS = {
    "default": TCLSettings(),
    "paper": TCLSettings(**PRESETS["paper"]["tcl"]),
    "official": TCLSettings(**PRESETS["official"]["tcl"]),
    "official-c100": TCLSettings(**PRESETS["official-c100"]["tcl"]),
    "one share for all": TCLSettings(gmm_prior="shared"),
    "strong-weak": TCLSettings(views="strong-weak", sigma="per_class", entropy_views="strong"),
    "weights": TCLSettings(
        weight_contrast=0.25, weight_cross=2.0, weight_marginal_entropy=0.5, weight_mean_entropy=0.7, weight_align=3.0
    ),
    "weak": TCLSettings(targets="weak", label_scale_mix="clean_fraction"),
    "ensemble": TCLSettings(targets="ensemble", ensemble_momentum=0.9),
    "ensemble before mixup": TCLSettings(targets="ensemble", forward_unmixed=True, mix_sources="all"),
    "nothing mixed": TCLSettings(weight_align=0.0, entropy_views="strong"),
    "nothing mixed, before mixup": TCLSettings(weight_align=0.0, entropy_views="strong", targets="weak"),
    "mixed for the entropy alone": TCLSettings(weight_align=0.0),
    "moco": TCLSettings(contrast="moco", moco_queue=20, moco_momentum=0.8),
}


class Flat(nn.Module):
    """The smallest encoder."""

    dim = 7

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3 * 8 * 8, self.dim)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.linear(images.flatten(1))


def make(settings: TCLSettings, *, epochs: int = 40, amp: bool = False) -> TCL:
    torch.manual_seed(0)
    net = TwinNet(Flat(), K, feat_dim=D, head_bn=True, dropout=0.0)
    views = ImageViews(NATURAL, (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
    labels = torch.arange(N) % K
    return TCL(Parts(net, views, labels, K, epochs, torch.Generator().manual_seed(3), amp=amp), settings)


def snapshot(seed: int = 0, spread: float = 0.3) -> Snapshot:
    """Three clusters; a third of the samples lie in the cluster after that of their label."""
    generator = torch.Generator().manual_seed(seed)
    own = F.one_hot((torch.arange(N) + (torch.arange(N) % 9 < 3).long()) % K, D).float()
    embeddings = F.normalize(own + spread * torch.randn(N, D, generator=generator), dim=1)
    return Snapshot(embeddings, (2 * own[:, :K] + torch.randn(N, K, generator=generator)).softmax(1))


def some_batch() -> Batch:
    generator = torch.Generator().manual_seed(1)
    index = torch.randperm(N, generator=generator)[:B]
    images = torch.randint(0, 256, (B, 3, 8, 8), generator=generator, dtype=torch.uint8)
    return Batch(index, images, torch.arange(N)[index] % K)


def rested(method: TCL) -> TCL:
    """With a mixture, and clean probabilities of every size."""
    method.expectation(snapshot())
    method.clean = torch.rand(N, generator=torch.Generator().manual_seed(9))
    if method.ensemble is not None:  # some samples have been seen often, others never
        said = torch.randn(N, K, generator=torch.Generator().manual_seed(10)).softmax(1)
        method.ensemble = said * (torch.arange(N) % 3 / 3)[:, None]
    return method


def step(method: TCL, batch: Batch, seed: int) -> None:
    """The weights move somewhere, as after a step of the optimiser."""
    sum(method.losses(batch, 0).values()).backward()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in method.parts.net.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=generator)
    method.after_step()


# plain formulas on lists of floats


def softmax(row: list[float]) -> list[float]:
    powers = [math.exp(x - max(row)) for x in row]
    return [power / sum(powers) for power in powers]


def cross_entropy(rows: list[list[float]], targets: list[list[float]]) -> float:
    losses = [
        -sum(t * math.log(p) for t, p in zip(target, softmax(row), strict=True))
        for row, target in zip(rows, targets, strict=True)
    ]
    return sum(losses) / len(losses)


def dot(one: list[float], two: list[float]) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


def blend(one: list[float], two: list[float], share: float) -> list[float]:
    return [share * a + (1 - share) * b for a, b in zip(one, two, strict=True)]


def naive_losses(
    method: TCL,
    batch: Batch,
    epoch: int,
    *,
    ensemble: list[list[float]] | None = None,
    copy: nn.Module | None = None,
    queue: list[list[float]] | None = None,
) -> dict[str, float]:
    """Eqs. 9 to 16 for one batch; draws from the method's generator in the order of the step.

    `ensemble` holds the batch's rows before the step; `copy` and `queue` are those of MoCo, if it contrasts.
    """
    options, generator, views = method.settings, method.parts.generator, method.parts.views
    first = views.strong(batch.images, generator)
    if options.views == "strong-strong":
        second, third = views.strong(batch.images, generator), views.weak(batch.images, generator)
    else:
        second, third = views.weak(batch.images, generator), views.strong(batch.images, generator)
    pool, partner, share = [], [], []
    if options.weight_align > 0 or options.entropy_views == "strong+mix":  # else nobody looks at what is mixed
        pool = [*third, *first, *second] if options.mix_sources == "all" else [*third]
        plan = draw_mix(
            len(pool),
            generator,
            alpha=options.mix_alpha,
            per_sample=options.mix_per_sample,
            dominant=options.mix_dominant,
        )
        partner, share = plan.partner.tolist(), plan.share.tolist()
    mixed = [share[i] * pool[i] + (1 - share[i]) * pool[partner[i]] for i in range(len(pool))]
    unmixed = options.forward_unmixed or options.targets == "weak"
    rows = [*first, *second, *mixed, *(third if unmixed else [])]
    with torch.no_grad():
        embeddings, logits = (part.double().tolist() for part in method.parts.forward(torch.stack(rows)))

    labels = batch.labels.tolist()
    one_hot = [[float(label == k) for k in range(K)] for label in labels]
    logits1, logits2, logits_mixed = logits[:B], logits[B : 2 * B], logits[2 * B : 2 * B + len(pool)]
    fraction = sum(w > 0.5 for w in method.clean.tolist()) / N
    factor = {"none": 1.0, "clean_fraction": fraction}
    targets1, targets2, means = one_hot, one_hot, one_hot
    if epoch >= method.label_epochs:
        clean = [method.clean.tolist()[i] for i in batch.index.tolist()]
        cross = [w * factor[options.label_scale_cross] for w in clean]
        mix = [w * factor[options.label_scale_mix] for w in clean]
        said1, said2 = [softmax(row) for row in logits1], [softmax(row) for row in logits2]
        before_mixup = [softmax(row) for row in logits[2 * B + len(pool) :]]
        if options.targets == "weak":
            said1 = said2 = before_mixup
        elif options.targets == "ensemble":
            now = before_mixup if unmixed else [blend(said1[i], said2[i], 0.5) for i in range(B)]
            sums = [blend(ensemble[i], now[i], options.ensemble_momentum) for i in range(B)]
            said1 = said2 = [[x / sum(row) for x in row] for row in sums]
        targets1 = [blend(one_hot[i], said1[i], cross[i]) for i in range(B)]
        targets2 = [blend(one_hot[i], said2[i], cross[i]) for i in range(B)]
        means = [blend(one_hot[i], blend(said1[i], said2[i], 0.5), mix[i]) for i in range(B)]
    targets = [blend(means[i % B], means[partner[i] % B], share[i]) for i in range(len(pool))]

    twins = embeddings[: 2 * B]
    contrast = 0.0
    for i, anchor in enumerate(twins):
        others = sum(math.exp(dot(anchor, twins[j]) / options.tau) for j in range(2 * B) if j != i)
        contrast -= math.log(math.exp(dot(anchor, twins[(i + B) % (2 * B)]) / options.tau) / others) / (2 * B)

    if copy is not None:
        with precision(torch.device("cpu"), method.parts.amp):
            keys = copy(torch.stack([*first, *second])).double().tolist()
        contrast = 0.0
        for i, query in enumerate(twins):
            own = math.exp(dot(query, keys[(i + B) % (2 * B)]) / options.tau)
            others = sum(math.exp(dot(query, key) / options.tau) for key in queue)
            contrast -= math.log(own / (own + others)) / (2 * B)

    regularised = logits1 + logits2 + (logits_mixed if options.entropy_views == "strong+mix" else [])
    said = [softmax(row) for row in regularised]
    marginal = [sum(row[k] for row in said) / len(said) for k in range(K)]

    mu, sigma = method.mixture.means.double().tolist(), method.mixture.variances.double().tolist()
    by_mixture = []
    for v in embeddings[2 * B : 2 * B + len(pool)]:
        if options.sigma == "per_class_eq6":
            by_mixture.append([dot(v, mu[k]) / sigma[k] for k in range(K)])
        else:  # -|v - mu|^2 / (2 sigma)
            by_mixture.append(
                [-sum((a - b) ** 2 for a, b in zip(v, mu[k], strict=True)) / (2 * sigma[k]) for k in range(K)]
            )
    terms = {
        "contrast": options.weight_contrast * contrast,
        "cross": options.weight_cross * (cross_entropy(logits1, targets2) + cross_entropy(logits2, targets1)),
        "marginal_entropy": options.weight_marginal_entropy * sum(p * math.log(p) for p in marginal),
        "mean_entropy": options.weight_mean_entropy * sum(-p * math.log(p) for row in said for p in row) / len(said),
    }
    if not pool:
        return terms
    return terms | {
        "align_class": options.weight_align * cross_entropy(logits_mixed, targets),
        "align_mixture": options.weight_align * cross_entropy(by_mixture, targets),
    }


@pytest.mark.parametrize(
    ("name", "epoch", "amp"),
    [
        *((name, epoch, False) for name in SETTINGS for epoch in (0, 30)),
        *((name, 30, True) for name in ("default", "paper", "official", "moco")),  # only the network is in bfloat16
    ],
)
def test_every_loss_term_matches_its_naive_twin(name: str, epoch: int, amp: bool) -> None:
    method, batch = rested(make(SETTINGS[name], amp=amp)), some_batch()
    remembered = {}
    if method.ensemble is not None:
        remembered["ensemble"] = method.ensemble[batch.index].tolist()
    if method.moco:
        for seed in (2, 3):  # two steps before this one: the queue is full, and the copy is no longer the network
            step(method, batch, seed)
        remembered = {"copy": method.moco._copy, "queue": method.state_dict()["moco.queue"].double().tolist()}
    before = method.parts.generator.get_state()
    terms = method.losses(batch, epoch)
    method.parts.generator.set_state(before)
    expected = naive_losses(method, batch, epoch, **remembered)
    assert list(terms) == list(expected)
    for term, value in expected.items():
        assert float(terms[term].detach()) == pytest.approx(value, rel=1e-4, abs=1e-5), term


def test_given_labels_are_the_targets_of_the_first_epochs() -> None:
    batch = some_batch()
    one_hot = F.one_hot(batch.labels, K).float()
    logits1, logits2 = torch.randn(B, K), torch.randn(B, K)
    for settings, epochs, first in (
        (TCLSettings(), 40, 4),
        (TCLSettings(), 5, 3),
        (TCLSettings(label_epochs=2), 40, 2),
        (TCLSettings(label_epochs=0), 40, 0),
    ):
        method = rested(make(settings, epochs=epochs))
        assert method.label_epochs == first
        if first:
            for targets in method._targets(batch, first - 1, logits1, logits2):
                assert torch.equal(targets, one_hot)
        for targets in method._targets(batch, first, logits1, logits2):
            assert not torch.allclose(targets, one_hot)
            torch.testing.assert_close(targets.sum(1), torch.ones(B))


def test_label_scales_weaken_the_labels_by_the_share_judged_clean() -> None:
    batch, flat = some_batch(), torch.zeros(B, K)
    for cross, mix in ((1.0, 0.4), (0.4, 1.0), (0.4, 0.4), (1.0, 1.0)):
        scales = {
            name: "none" if factor == 1 else "clean_fraction" for name, factor in (("cross", cross), ("mix", mix))
        }
        settings = TCLSettings(label_epochs=0, label_scale_cross=scales["cross"], label_scale_mix=scales["mix"])
        method = make(settings)
        method.clean = (torch.arange(N) < 12).float()  # 40 % are judged clean
        clean = method.clean[batch.index]
        one, two, for_mix = method._targets(batch, 0, flat, flat)
        for targets, factor in ((one, cross), (two, cross), (for_mix, mix)):
            given = targets.gather(1, batch.labels[:, None]).squeeze(1)
            torch.testing.assert_close(given, clean * factor + (1 - clean * factor) / K)


def test_targets_and_mixture_get_no_gradient() -> None:
    method, batch = rested(make(TCLSettings(label_epochs=0))), some_batch()
    logits1, logits2 = (torch.randn(B, K, requires_grad=True) for _ in range(2))
    assert not any(targets.requires_grad for targets in method._targets(batch, 0, logits1, logits2))
    sum(method.losses(batch, 0).values()).backward()
    assert not method.mixture.means.requires_grad
    assert not method.mixture.variances.requires_grad
    assert not method.clean.requires_grad
    assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in method.parts.net.parameters())


def test_only_the_named_pair_of_views_is_contrasted() -> None:
    batch = some_batch()
    seen: dict[str, torch.Tensor] = {}
    for kind in ("strong-strong", "strong-weak"):
        method = rested(make(TCLSettings(views=kind, mix_sources="weak")))
        given = []
        method.parts.net.register_forward_pre_hook(lambda _, inputs, given=given: given.append(inputs[0]))
        method.losses(batch, 0)
        seen[kind] = given[0]
    generator = torch.Generator().manual_seed(3)
    views = make(TCLSettings()).parts.views
    torch.testing.assert_close(seen["strong-strong"][:B], views.strong(batch.images, generator))
    after_first = generator.get_state()
    torch.testing.assert_close(seen["strong-strong"][B : 2 * B], views.strong(batch.images, generator))
    generator.set_state(after_first)
    torch.testing.assert_close(seen["strong-weak"][B : 2 * B], views.weak(batch.images, generator))
    assert torch.equal(seen["strong-strong"][:B], seen["strong-weak"][:B])


@pytest.mark.parametrize("score", ["posterior", "log_odds"])
@pytest.mark.parametrize("name", SETTINGS)
def test_expectation_follows_the_equations(name: str, score: str) -> None:
    settings = replace(SETTINGS[name], gmm_score=score)
    method, seen = make(settings), snapshot(5)
    fitted_to, clean = method.expectation(seen)
    v, p = seen.embeddings.double().tolist(), seen.probabilities.double().tolist()

    posteriors = []
    mu, sigma = [], []
    for k in range(K):
        total = [sum(p[i][k] * v[i][d] for i in range(N)) for d in range(D)]  # Eq. 3
        length = math.sqrt(dot(total, total))
        mu.append([x / length for x in total])
        spread = sum(p[i][k] * sum((a - b) ** 2 for a, b in zip(v[i], mu[k], strict=True)) for i in range(N))
        sigma.append(settings.tau if settings.sigma == "tau" else spread / sum(p[i][k] for i in range(N)))  # Eq. 4
    for i in range(N):
        shift = 0.0 if settings.sigma == "per_class_eq6" else 1.0  # Eq. 6 drops it, Eq. 5 has it
        logits = [(dot(v[i], mu[k]) - shift) / sigma[k] for k in range(K)]
        posteriors.append(softmax(logits))  # Eq. 5
    np.testing.assert_allclose(method.mixture.means, mu, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(method.mixture.variances, sigma, rtol=1e-4)

    scores = np.array([posteriors[i][i % K] for i in range(N)])  # Eq. 7
    scores = np.log(scores / (1 - scores)) if score == "log_odds" else scores
    fit = {"monotone": settings.gmm_monotone, "rescale": settings.gmm_rescale}
    prior = None
    if settings.gmm_prior == "noise_model":
        model, prior = fit_noise_model(np.array(posteriors), np.arange(N) % K), np.empty(N)
        for i in range(N):
            sharpened = [value ** (1 / model.temperature) for value in posteriors[i]]
            joint = [sharpened[k] * model.transition[k][i % K] for k in range(K)]  # Bayes' rule
            prior[i] = joint[i % K] / sum(joint)
    if settings.gmm_scope == "per_class":
        expected = clean_probability_per_class(scores, np.arange(N) % K, prior, **fit)
    else:  # three classes are too few for "auto" to fit each
        expected = clean_probability(scores, prior, **fit).probability  # Eq. 8
    np.testing.assert_allclose(fitted_to, scores, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(clean, expected, rtol=1e-3, atol=1e-3)
    assert clean.min() < 0.5 < clean.max()
    assert torch.equal(clean, method.clean)


@pytest.mark.parametrize("name", ["default", "paper", "official", "official-c100"])
def test_expectation_on_some_rows_is_that_of_a_set_of_these_alone(name: str) -> None:
    rows = torch.arange(N)[torch.arange(N) % 5 != 1]
    seen = Snapshot(*(output[rows] for output in snapshot(5)))
    method, alone = make(SETTINGS[name]), make(SETTINGS[name])
    alone.parts = alone.parts._replace(labels=alone.parts.labels[rows])
    found, expected = method.expectation(seen, rows), alone.expectation(seen)
    for mine, theirs in zip(found, expected, strict=True):
        assert torch.equal(mine, theirs)
    assert torch.equal(method.mixture.means, alone.mixture.means)
    assert torch.equal(method.clean[rows], expected.clean)
    assert method.clean.isnan().nonzero().flatten().tolist() == [i for i in range(N) if i % 5 == 1]
    assert method._label_scale("clean_fraction") == alone._label_scale("clean_fraction") < 1


def test_the_other_detectors_fit_their_own_scores() -> None:
    seen, labels = snapshot(5, spread=0.15), np.arange(N) % K
    ours = TCLSettings(gmm_prior="shared")
    for detector, settings in (("loss", ours), ("loss", SETTINGS["paper"]), ("knn", ours), ("knn", TCLSettings())):
        method = make(replace(settings, detector=detector))
        fitted_to, found = method.expectation(seen)
        if detector == "loss":
            scores = [math.log(float(seen.probabilities[i, i % K])) for i in range(N)]
            fit = {"rescale": True, "limits": DIVIDEMIX}
        else:
            scores = neighbour_score(seen.embeddings, torch.from_numpy(labels), K).tolist()
            fit = {}
        prior = method._prior(seen, method.parts.labels)
        assert (prior is None) == (settings.gmm_prior == "shared")
        expected = clean_probability(np.array(scores), prior, monotone=settings.gmm_monotone, **fit).probability
        np.testing.assert_allclose(fitted_to, scores, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert found.min() < 0.5 < found.max(), detector
        torch.testing.assert_close(method.mixture.means, mixture.class_means(*seen))


def test_the_ensemble_moves_in_the_batch_alone_and_from_the_first_epoch_on() -> None:
    method, batch = make(SETTINGS["ensemble"]), some_batch()
    assert not method.ensemble.any()
    for steps in (1, 2):
        before = method.ensemble.clone()
        for _ in range(2):  # only the step counts, not how often its losses are asked for
            method.losses(batch, 0)
        assert torch.equal(method.ensemble, before)
        method.after_step()
        sums = torch.zeros(N)
        sums[batch.index] = 1 - 0.9**steps
        torch.testing.assert_close(method.ensemble.sum(1), sums)
    assert make(TCLSettings()).ensemble is None


def test_only_what_is_asked_for_is_in_the_state() -> None:
    plain = {"means", "variances", "clean"}
    assert make(TCLSettings()).state_dict().keys() == plain
    assert make(SETTINGS["ensemble"]).state_dict().keys() == plain | {"ensemble"}
    assert {name.partition(".")[0] for name in make(SETTINGS["moco"]).state_dict()} == plain | {"moco"}


@pytest.mark.parametrize("name", ["default", "paper"])
def test_expectation_in_blocks_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = make(SETTINGS[name]), make(SETTINGS[name])
    expected = whole.expectation(snapshot())
    monkeypatch.setattr(mixture, "BLOCK", 7 * K)
    torch.testing.assert_close(parts.expectation(snapshot()), expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(parts.mixture.variances, whole.mixture.variances)


@pytest.mark.parametrize("name", ["paper", "ensemble", "moco"])
def test_state_round_trip_goes_on_with_the_same_numbers(name: str) -> None:
    method, other = rested(make(SETTINGS[name])), make(SETTINGS[name])
    batch = some_batch()
    step(method, batch, 2)
    other.load_state_dict({name: value.clone() for name, value in method.state_dict().items()})
    other.parts.net.load_state_dict(method.parts.net.state_dict())
    other.parts.generator.set_state(method.parts.generator.get_state())
    for _ in range(2):
        one, two = method.losses(batch, 30), other.losses(batch, 30)
        assert {name: float(value.detach()) for name, value in one.items()} == {
            name: float(value.detach()) for name, value in two.items()
        }
        method.after_step(), other.after_step()
    for mine, theirs in zip(method.expectation(snapshot(8)), other.expectation(snapshot(8)), strict=True):
        assert torch.equal(mine, theirs)
