"""The label-linked spherical Gaussian mixture over representations (paper, Section 3.1, Eqs. 2 to 7).

Notation: N samples, K classes, D dimensions; `embeddings` (N, D) and `means` (K, D) have unit rows.
Linking means that the classifier's predictions stand in for the mixture's own responsibilities when
the parameters are updated, so that component k is class k.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

VARIANCE_FLOOR = 1e-3  # a class whose embeddings coincide would otherwise divide by zero
BLOCK = 2**24  # entries of the largest matrix over samples and classes that is held at a time: 64 MB of float32


def row_blocks(width: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The tensors (N, ...) cut alike into blocks of rows, so few that rows x `width` does not exceed `BLOCK`.

    What is computed a block at a time needs memory that does not grow with N.
    """
    rows = max(1, BLOCK // width)
    return zip(*(torch.split(tensor, rows) for tensor in tensors), strict=True)


def class_means(embeddings: Tensor, probabilities: Tensor) -> Tensor:
    """Eq. 3: unit mean of each class, (K, D), from embeddings (N, D) weighted by predictions (N, K).

    The paper's division by the total weight of the class cancels in the normalisation. A class that no
    sample is predicted to belong to gets the zero vector.
    """
    return F.normalize(probabilities.T @ embeddings, dim=1, eps=1e-12)


def class_variances(embeddings: Tensor, probabilities: Tensor, means: Tensor) -> Tensor:
    """Eq. 4: weighted mean squared distance to the class mean, (K,), read as a scalar and floored at 1e-3."""
    weight = probabilities.sum(0)
    blocks = row_blocks(len(means), embeddings, probabilities)
    cosine = sum(torch.einsum("nk,nk->k", p, v @ means.T) for v, p in blocks) / weight.clamp_min(1e-12)
    return (2 - 2 * cosine).clamp_min(VARIANCE_FLOOR)  # |v - mu|^2 = 2 - 2 v.mu for unit vectors


def mixture_logits(embeddings: Tensor, means: Tensor, variances: Tensor | float) -> Tensor:
    """Eq. 5: logarithm of the numerator, -|v - mu_k|^2 / (2 sigma_k) = (v.mu_k - 1) / sigma_k, (N, K)."""
    return (embeddings @ means.T - 1) / variances


def mixture_logits_simplified(embeddings: Tensor, means: Tensor, variances: Tensor | float) -> Tensor:
    """Eq. 6: v.mu_k / sigma_k, (N, K); equal to Eq. 5 after the softmax only if all variances are equal."""
    return embeddings @ means.T / variances


def posterior(logits: Tensor) -> Tensor:
    """Eqs. 2 and 5: probability of each component given the sample under a uniform prior, (N, K)."""
    return torch.softmax(logits, dim=1)


def given_label_posterior(posteriors: Tensor, labels: Tensor) -> Tensor:
    """Eq. 7: probability that the given label is the sample's own component, (N,).

    The paper prints z_i where its text and its released code mean the given label y_i.
    """
    return posteriors.gather(1, labels[:, None]).squeeze(1)


@dataclass(frozen=True)
class Mixture:
    """Its parameters. What is asked of N samples is computed a block at a time: (N, K) is never held."""

    means: Tensor  # (K, D)
    variances: Tensor  # (K,)
    simplified: bool = False  # posteriors by Eq. 6 instead of Eq. 5

    def logits(self, embeddings: Tensor) -> Tensor:
        """Logarithms of the posteriors up to a constant of each sample, (N, K)."""
        form = mixture_logits_simplified if self.simplified else mixture_logits
        return form(embeddings, self.means, self.variances)

    def posterior_of(self, labels: Tensor, embeddings: Tensor) -> Tensor:
        """Eq. 7 of N labels, (N,)."""
        blocks = row_blocks(len(self.means), embeddings, labels)
        return torch.cat([given_label_posterior(posterior(self.logits(v)), y) for v, y in blocks])

    def likeliest(self, embeddings: Tensor) -> tuple[Tensor, Tensor]:
        """The component with the largest posterior, (N,), and that posterior, (N,)."""
        blocks = row_blocks(len(self.means), embeddings)
        found = [posterior(self.logits(v)).max(1) for (v,) in blocks]
        return torch.cat([best.indices for best in found]), torch.cat([best.values for best in found])


@dataclass(frozen=True)
class Posteriors:
    """The posterior (Eq. 5, simplified Eq. 6) of N samples: an array (N, K) whose rows are computed when asked for."""

    mixture: Mixture
    embeddings: Tensor  # (N, D)

    @property
    def shape(self) -> tuple[int, int]:
        """N and K."""
        return len(self.embeddings), len(self.mixture.means)

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> NDArray[np.float32]:
        """Some of the rows."""
        found: NDArray[np.float32] = posterior(self.mixture.logits(self.embeddings[rows])).cpu().numpy()
        return found
