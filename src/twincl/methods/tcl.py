"""Twin Contrastive Learning (Huang, Zhang, Shan; CVPR 2023). With `training.loop` this file is Algorithm 1.

Every place where the paper and the authors' released code differ is one field of `TCLSettings`, and so is every line of
the paper's ablation; `docs/method.md` lists them with the measurement behind our choice.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import torch
from annotated_types import Ge, Gt, Lt
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from twincl.core.detection import DIVIDEMIX, USUAL, clean_probability, clean_probability_per_class
from twincl.core.losses import alignment, cross_supervision, info_nce, mean_entropy, negative_marginal_entropy
from twincl.core.mixture import Mixture, Posteriors, class_means, class_variances
from twincl.core.mixup import Mix, mix
from twincl.core.noise_model import fit_noise_model
from twincl.core.scores import classifier_score, neighbour_score
from twincl.core.targets import bootstrap_targets, temporal_ensemble
from twincl.data.batches import Batch
from twincl.methods.method import Detection, LossTerms, Parts, Snapshot
from twincl.methods.mixing import mix_own_rows
from twincl.methods.momentum import MomentumContrast

LabelScale = Literal["none", "clean_fraction"]  # factor 1, or the share of labels judged clean


@dataclass(frozen=True)
class TCLSettings:
    """The switches of the method; defaults are the preset `default`."""

    tau: Annotated[float, Gt(0)] = 0.25  # temperature of the contrastive loss, and sigma where that is "tau"
    sigma: Literal["tau", "per_class", "per_class_eq6"] = "tau"  # sigma_k: fixed, Eq. 4 in Eq. 5, Eq. 4 in Eq. 6
    detector: Literal["ood", "loss", "knn"] = "ood"  # what w is fitted to: Eq. 7, DivideMix's loss, MOIT's votes
    gmm_scope: Literal["auto", "global", "per_class"] = "auto"  # auto: per class from 50 classes of 100 samples on
    gmm_score: Literal["log_odds", "posterior"] = "log_odds"  # what of Eq. 7 the two components are fitted to
    gmm_prior: Literal["noise_model", "shared"] = "noise_model"  # share of right labels: a label's own, or one for all
    gmm_rescale: bool = True  # bring scores to [0, 1] before the two-component fit; losses always are
    gmm_monotone: bool = True  # a higher posterior never means a lower clean probability
    targets: Literal["cross", "weak", "ensemble"] = "cross"  # g of Eq. 9: other view, view before mixup, all epochs
    ensemble_momentum: Annotated[float, Ge(0), Lt(1)] = 0.7  # beta of targets "ensemble"
    label_scale_cross: LabelScale = "none"  # factor on w in the targets of cross-supervision
    label_scale_mix: LabelScale = "none"  # factor on w in the targets of mixup
    label_epochs: Annotated[int, Ge(0)] | None = None  # first epochs on the given labels; None: a tenth, at least 3
    update_every: Annotated[int, Ge(1)] = 1  # epochs from one E-step to the next
    views: Literal["strong-strong", "strong-weak"] = "strong-strong"  # the pair that is contrasted and swapped
    contrast: Literal["simclr", "moco"] = "simclr"  # with the batch, or with a queue by a moving average
    moco_queue: Annotated[int, Ge(1)] = 4096  # keys, at most as many as there are samples
    moco_momentum: Annotated[float, Ge(0), Lt(1)] = 0.99  # of the moving average
    mix_sources: Literal["weak", "all"] = "weak"  # what is mixed: the third view, or all three in one pool
    mix_alpha: Annotated[float, Gt(0)] = 1.0  # lambda ~ Beta(alpha, alpha)
    mix_per_sample: bool = False  # one lambda a sample instead of one a batch
    mix_dominant: bool = True  # lambda = max(lambda, 1 - lambda)
    forward_unmixed: bool = False  # also send the un-mixed third view through the network, if only for batch norm
    entropy_views: Literal["strong", "strong+mix"] = "strong+mix"  # predictions that Eq. 11 regularises
    weight_contrast: Annotated[float, Ge(0)] = 1.0  # weight of Eq. 13, contrast
    weight_cross: Annotated[float, Ge(0)] = 1.0  # weight of Eq. 10, cross-supervision
    weight_marginal_entropy: Annotated[float, Ge(0)] = 1.0  # weight of the first term of Eq. 11: even classes
    weight_mean_entropy: Annotated[float, Ge(0)] = 1.0  # weight of the second term of Eq. 11: sure predictions
    weight_align: Annotated[float, Ge(0)] = 1.0  # weight of Eq. 15, alignment of mixed images

    def epochs_on_labels(self, epochs: int) -> int:
        """How many of so many epochs learn from the given labels as they are."""
        return max(3, epochs // 10) if self.label_epochs is None else self.label_epochs


def fit_mixture(snapshot: Snapshot, settings: TCLSettings) -> Mixture:
    """Eqs. 3 and 4: the mixture over what the network says of the samples."""
    means = class_means(snapshot.embeddings, snapshot.probabilities)
    variances = (
        torch.full_like(means[:, 0], settings.tau)
        if settings.sigma == "tau"
        else class_variances(snapshot.embeddings, snapshot.probabilities, means)
    )
    return Mixture(means, variances, simplified=settings.sigma == "per_class_eq6")


class TCL:
    """Learns a classifier g and representations f whose class mixture tells which given labels are wrong.

    State that survives a step: the `mixture`, the clean probability `clean` (N,) of every given label, NaN of those
    that the last E-step did not look at, and, where targets or contrast need them, the `ensemble` (N, K) of predictions
    and `moco`.
    """

    def __init__(self, parts: Parts, settings: TCLSettings):
        self.parts, self.settings = parts, settings
        self.update_every = settings.update_every
        self.label_epochs = settings.epochs_on_labels(parts.epochs)
        self.mixes = settings.weight_align > 0 or settings.entropy_views == "strong+mix"  # else nobody looks at it
        device = parts.labels.device
        self.mixture = Mixture(
            torch.zeros(parts.num_classes, parts.net.feat_dim, device=device),
            torch.full((parts.num_classes,), settings.tau, device=device),
            simplified=settings.sigma == "per_class_eq6",
        )
        count = len(parts.labels)
        self.clean = torch.ones(count, device=device)
        self.ensemble: Tensor | None = None
        if settings.targets == "ensemble":
            self.ensemble = torch.zeros(count, parts.num_classes, device=device)
        self._moved: tuple[Tensor, Tensor] | None = None  # rows of the ensemble as they are after the step
        self.moco: MomentumContrast | None = None
        if settings.contrast == "moco":  # more keys than samples would be a sample's own among its negatives
            length, momentum = min(settings.moco_queue, count), settings.moco_momentum
            self.moco = MomentumContrast(parts, momentum=momentum, length=length, temperature=settings.tau)

    # E-step

    def expectation(self, snapshot: Snapshot, rows: Tensor | None = None) -> Detection:
        """Update mu and sigma (Eqs. 3, 4) and the clean probability w of every label (Eqs. 7, 8)."""
        self.mixture = fit_mixture(snapshot, self.settings)
        labels = self.parts.labels_of(rows)
        scores = self._scores(snapshot, labels)
        clean = self._clean_probability(scores, labels, self._prior(snapshot, labels)).to(self.clean)
        if rows is None:
            self.clean = clean
        else:
            self.clean = torch.full_like(self.clean, torch.nan).index_copy(0, rows.to(clean.device), clean)
        return Detection(scores, clean)

    def _scores(self, snapshot: Snapshot, labels: Tensor) -> Tensor:
        """How well each label fits its sample, (N,)."""
        if self.settings.detector == "loss":
            return classifier_score(snapshot.probabilities, labels)
        if self.settings.detector == "knn":
            return neighbour_score(snapshot.embeddings, labels, self.parts.num_classes)
        posterior = self.mixture.posterior_of(labels, snapshot.embeddings)
        return torch.logit(posterior, eps=1e-6) if self.settings.gmm_score == "log_odds" else posterior

    def _prior(self, snapshot: Snapshot, given: Tensor) -> NDArray[np.float32] | None:
        """How likely each given label is right by the mixture (Eq. 5) and by how these labels err, (N,).

        None where Eq. 8 is to find one share for all.
        """
        if self.settings.gmm_prior == "shared":
            return None
        posteriors, labels = Posteriors(self.mixture, snapshot.embeddings), given.cpu().numpy()
        return fit_noise_model(posteriors, labels).clean_probability(posteriors, labels)

    def _clean_probability(self, fit: Tensor, given: Tensor, prior: NDArray[np.float32] | None) -> Tensor:
        """Eq. 8 over how well each given label fits, (N,)."""
        scores, labels = fit.cpu().numpy(), given.cpu().numpy()
        scope, monotone = self.settings.gmm_scope, self.settings.gmm_monotone
        rescale, limits = self.settings.gmm_rescale, USUAL
        if self.settings.detector == "loss":
            rescale, limits = True, DIVIDEMIX
        if scope == "auto":
            smallest = int(torch.bincount(given, minlength=self.parts.num_classes).min())
            scope = "per_class" if self.parts.num_classes >= 50 and smallest >= 100 else "global"
        if scope == "per_class":
            return torch.from_numpy(
                clean_probability_per_class(scores, labels, prior, monotone=monotone, rescale=rescale, limits=limits)
            )
        by_all = clean_probability(scores, prior, monotone=monotone, rescale=rescale, limits=limits)
        return torch.from_numpy(by_all.probability)

    # M-step

    def losses(self, batch: Batch, epoch: int) -> LossTerms:
        """Eq. 16: contrast (13), cross-supervision (10), entropy regularisation (11) and alignment (15)."""
        options, generator, ranks = self.settings, self.parts.generator, self.parts.ranks
        strong, weak = self.parts.views.strong, self.parts.views.weak
        first = strong(batch.images, generator, ranks)
        twin, other = (strong, weak) if options.views == "strong-strong" else (weak, strong)
        second, third = twin(batch.images, generator, ranks), other(batch.images, generator, ranks)
        sources = [third, first, second] if options.mix_sources == "all" else [third]
        plan, mixed_images = self._mix(sources) if self.mixes else (None, first[:0])
        mixed = len(sources) if self.mixes else 0

        # One forward for all views, so that batch norm sees them together.
        unmixed = [third] if options.forward_unmixed or options.targets == "weak" else []
        out = self.parts.forward(torch.cat([first, second, mixed_images, *unmixed]))
        views = 2 + mixed + len(unmixed)
        b = len(batch.labels)
        sizes = [b, b, b * mixed, *[b] * len(unmixed)]
        logits1, logits2, mixed_logits, *before_mixup = torch.split(ranks.gather_views(out.logits, views), sizes)
        embeddings1, embeddings2, mixed_embeddings, *_ = torch.split(ranks.gather_views(out.embeddings, views), sizes)

        targets1, targets2, mean_targets = self._targets(batch, epoch, logits1, logits2, *before_mixup)
        regularised = [logits1, logits2, mixed_logits] if options.entropy_views == "strong+mix" else [logits1, logits2]
        predictions = torch.cat(regularised)
        contrast = (
            self.moco.loss(first, second, embeddings1, embeddings2)
            if self.moco
            else info_nce(embeddings1, embeddings2, options.tau)
        )
        terms = {
            "contrast": options.weight_contrast * contrast,
            "cross": options.weight_cross * cross_supervision(logits1, logits2, targets1, targets2),
            "marginal_entropy": options.weight_marginal_entropy * negative_marginal_entropy(predictions),
            "mean_entropy": options.weight_mean_entropy * mean_entropy(predictions),
        }
        if plan is None:
            return terms
        mixed_targets = mix(mean_targets.repeat(mixed, 1), plan)
        align_class, align_mixture = alignment(mixed_logits, self.mixture.logits(mixed_embeddings), mixed_targets)
        return terms | {
            "align_class": options.weight_align * align_class,
            "align_mixture": options.weight_align * align_mixture,
        }

    def _mix(self, sources: list[Tensor]) -> tuple[Mix, Tensor]:
        """Eq. 14 for the images of one pool of views."""
        options = self.settings
        return mix_own_rows(
            torch.cat(sources),
            self.parts,
            views=len(sources),
            alpha=options.mix_alpha,
            per_sample=options.mix_per_sample,
            dominant=options.mix_dominant,
        )

    def _targets(
        self, batch: Batch, epoch: int, logits1: Tensor, logits2: Tensor, before_mixup: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Eq. 9 for both views, and the average of both that mixup uses; the given labels in the first epochs."""
        one_hot = F.one_hot(batch.labels, self.parts.num_classes).to(logits1)
        predictions1, predictions2 = self._predictions(batch, logits1, logits2, before_mixup)
        if epoch < self.label_epochs:
            return one_hot, one_hot, one_hot
        clean = self.clean[batch.index]
        for_cross = clean * self._label_scale(self.settings.label_scale_cross)
        for_mix = clean * self._label_scale(self.settings.label_scale_mix)
        return (
            bootstrap_targets(one_hot, for_cross, predictions1),
            bootstrap_targets(one_hot, for_cross, predictions2),
            bootstrap_targets(one_hot, for_mix, (predictions1 + predictions2) / 2),
        )

    def _predictions(
        self, batch: Batch, logits1: Tensor, logits2: Tensor, before_mixup: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """What stands for g(x) in Eq. 9, for the target of either view."""
        views = logits1.detach().softmax(1), logits2.detach().softmax(1)
        third = None if before_mixup is None else before_mixup.detach().softmax(1)
        if self.settings.targets == "weak":
            assert third is not None
            return third, third
        if self.ensemble is not None:
            seen = (views[0] + views[1]) / 2 if third is None else third
            moved = temporal_ensemble(self.ensemble[batch.index], seen, self.settings.ensemble_momentum)
            self._moved = batch.index, moved
            mean = F.normalize(moved, p=1, dim=1)
            return mean, mean
        return views

    def _label_scale(self, kind: LabelScale) -> Tensor | float:
        """The factor on w; the share is of the labels that the last E-step looked at."""
        return (self.clean > 0.5).sum() / self.clean.isfinite().sum() if kind == "clean_fraction" else 1.0

    def after_step(self) -> None:
        """The mixture moves in the E-step alone; the ensemble takes in what was seen, MoCo follows the weights."""
        if self.ensemble is not None and self._moved is not None:
            rows, moved = self._moved
            self.ensemble[rows] = moved
        if self.moco:
            self.moco.after_step()

    def state_dict(self) -> dict[str, Tensor]:
        """Mixture, clean probabilities, and what else there is."""
        state = {"means": self.mixture.means, "variances": self.mixture.variances, "clean": self.clean}
        state |= {} if self.ensemble is None else {"ensemble": self.ensemble}
        return state | (self.moco.state_dict() if self.moco else {})

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore them."""
        means, variances = (state[name].to(self.clean) for name in ("means", "variances"))
        self.mixture = replace(self.mixture, means=means, variances=variances)
        self.clean = state["clean"].to(self.clean)
        if self.ensemble is not None:
            self.ensemble = state["ensemble"].to(self.ensemble)
        if self.moco:
            self.moco.load_state_dict(state)
