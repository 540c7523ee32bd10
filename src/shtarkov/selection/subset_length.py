"""Codelength of least squares on a stated support, relative to the empty code, in nats.

With k of D columns, P the projection on them, n the dimension of the data after the unpenalised
columns are projected out, and the coefficients drawn from Zellner's prior N(0, g sigma^2 H^-1):

* sigma unknown (reference measure d sigma / sigma, as in THEORY section 6, so that the empty code
  is the same marginal likelihood): half k ln(1 + g) + half n ln(1 - R^2 g / (1 + g));
* sigma known: y ~ N(0, sigma^2 (I + g P)), so half k ln(1 + g) - |P y|^2 g / (1 + g) / (2 sigma^2).

The support adds ln binom(D, k) + ln min(n, D). g is not stated: the code is the mixture over g,
-ln sum_i w_i exp(-L(g_i)), which is never longer than the best g and the nats to state it, and
whose coefficients, the least squares ones times the mean of g / (1 + g), are posterior means.

The grid: the signal per coefficient is g sigma^2, so g is n SNR / k. It runs from n / 64 to 4^10 n
by factors of four, with weights like 1 / (4 + j^2) at n 4^j: half the weight is within a factor of
four of n (unit information), weak signals spread over many columns find n / 16 at a price of 2.3
nats, and an almost perfect fit still finds its scale (the heavy tail is what keeps a small residual
from being undersold by a bounded grid). A factor of four leaves at most 0.15 k nats between nodes.
benchmarks/selection/g_grid.py compares it with other grids.
Slow twin: numerical integration over sigma and the coefficients (tests/oracle/test_subset_code.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from shtarkov.types import Floats

_STEPS = np.arange(-3.0, 11.0)
_MULTIPLES: Floats = 4.0**_STEPS
_WEIGHTS = 1.0 / (4.0 + _STEPS**2)
_LOG_WEIGHTS: Floats = np.log(_WEIGHTS / _WEIGHTS.sum())


def g_grid(n_dim: int) -> tuple[Floats, Floats]:
    """Give the values of g and the logarithms of their weights."""
    return n_dim * _MULTIPLES, _LOG_WEIGHTS


def _log_sum_exp(values: Floats) -> Floats:
    """Sum exponentials over the last axis; scipy's costs more than the rest of a codelength."""
    largest = values.max(axis=-1)
    total: Floats = largest + np.log(np.sum(np.exp(values - largest[..., None]), axis=-1))
    return total


@dataclass(frozen=True, slots=True, eq=False)
class SubsetLength:
    """What the codelength of every support of one problem depends on.

    Attributes
    ----------
    total_sq : squared length of y after projection, inside and outside the reduced space
    n_dim : dimension of the data after projection
    n_features : D, columns a support is chosen from
    sigma : noise standard deviation, or None when unknown
    """

    total_sq: float
    n_dim: int
    n_features: int
    sigma: float | None = None

    def delta(self, k: ArrayLike, explained_sq: ArrayLike) -> Floats:
        """Nats relative to the empty code of supports of size `k` that explain `explained_sq`."""
        sizes = np.asarray(k, dtype=np.float64)
        _, log_weights = g_grid(self.n_dim)
        given_g = self.given_g(sizes, explained_sq)
        mixed = -_log_sum_exp(log_weights - given_g)
        return np.asarray(mixed + self.support_nats(sizes), dtype=np.float64)

    def support_nats(self, k: ArrayLike) -> Floats:
        """Nats to state a size and which of the columns."""
        sizes = np.asarray(k, dtype=np.float64)
        total = float(self.n_features)
        log_count = gammaln(total + 1.0) - gammaln(sizes + 1.0) - gammaln(total - sizes + 1.0)
        return np.asarray(log_count + np.log(min(self.n_dim, self.n_features)))

    def given_g(self, k: ArrayLike, explained_sq: ArrayLike) -> Floats:
        """Nats of the data at each g of the grid (last axis), the support and g being known."""
        sizes = np.asarray(k, dtype=np.float64)[..., None]
        explained = np.clip(np.asarray(explained_sq, dtype=np.float64), 0.0, self.total_sq)[
            ..., None
        ]
        gs, _ = g_grid(self.n_dim)
        price = 0.5 * sizes * np.log1p(gs)
        if self.sigma is not None:
            return np.asarray(price - 0.5 * explained * (gs / (1.0 + gs)) / self.sigma**2)
        if self.total_sq == 0.0:
            return np.asarray(price + 0.0 * explained)
        # 1 - R^2 g / (1 + g) without cancellation at a perfect fit
        left = (self.total_sq - explained) + explained / (1.0 + gs)
        return np.asarray(price + 0.5 * self.n_dim * np.log(left / self.total_sq))

    def g_weights(self, k: int, explained_sq: float) -> Floats:
        """Posterior weights of the g of the grid for one support."""
        _, log_weights = g_grid(self.n_dim)
        joint = log_weights - self.given_g(k, explained_sq)
        return np.asarray(np.exp(joint - _log_sum_exp(joint)))

    def shrinkage(self, k: int, explained_sq: float) -> float:
        """Posterior mean of g / (1 + g): the factor on the least squares coefficients."""
        gs, _ = g_grid(self.n_dim)
        return float(self.g_weights(k, explained_sq) @ (gs / (1.0 + gs)))
