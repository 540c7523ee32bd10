"""The stratum spectrum (ln a_k) from draws of k at a ladder of luckiness weights (THEORY 4b).

With the penalty fixed at lam, the density with weight tau gives k the law a_k (sigma^2/tau)^k / C:
k is sufficient for tau, so histograms of k at several tau hold all there is to know, and MBAR over
histograms combines them. The draws fix a_k up to one factor; a known ln C at one tau supplies it.
Errors: jackknife over (chain, block of draws), left out at every level at once, so that levels
coupled by replica exchange, autocorrelation and all covariances are counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.complexity import strata
from shtarkov.complexity.mbar import solve_states
from shtarkov.diagnostics.convergence import effective_size
from shtarkov.errors import InvalidProblem, SamplingWarning
from shtarkov.types import Floats, Ints

# At most about this many jackknife groups: beyond, the error's own error shrinks little.
_GROUPS = 40
# A block must outlast the chain's memory this many times to count as independent.
_MEMORIES = 5.0
# A k is well visited from this many effective draws on.
_VISITED = 10.0
# Share of the law that may lie beyond the well visited k: it biases ln C by as many nats.
_BEYOND = 0.01


@dataclass(frozen=True, slots=True)
class HistogramSpectrum:
    """ln a_k with errors; every tau and every radius follow from it.

    Attributes
    ----------
    ln_a : (K,) ln a_k, k = 0, 1, ...; -inf where never visited
    std_error : (K,) standard error of ln_a, that of the reference included; inf where not visited
    replicates : (G, K) ln a_k without each group of draws, all with one ln C at `tau_reference`
    tau_reference : where ln C is known from elsewhere
    reference_error : standard error of that ln C; inf if it is not known and ln_a holds up to a
        constant only
    visited : first and last k with enough draws to be trusted
    sampled : smallest and largest tau of the draws
    largest : largest k that can occur
    sigma : noise standard deviation
    """

    ln_a: Floats
    std_error: Floats
    replicates: Floats
    tau_reference: float
    reference_error: float
    visited: tuple[int, int]
    sampled: tuple[float, float]
    largest: int
    sigma: float = 1.0

    def ln_c(self, tau: float) -> tuple[float, float]:
        """Give ln C with luckiness weight tau, and its standard error."""
        self._warn_beyond(self._missing_at_tau(tau), f"tau = {tau:.4g}")
        return self._with_error(lambda ln_a: strata.log_luckiness(ln_a, tau, self.sigma))

    def ln_c_restricted(self, radius: float) -> tuple[float, float]:
        """Give ln C restricted to sum |coef| <= radius, and its standard error."""
        self._warn_beyond(self._missing_at_radius(radius), f"radius = {radius:.4g}")
        return self._with_error(lambda ln_a: strata.log_restricted(ln_a, radius))

    def ln_c_difference(self, tau: float, other: float) -> tuple[float, float]:
        """Give ln C(tau) - ln C(other), and its standard error, free of the reference's."""

        def difference(ln_a: Floats) -> Floats:
            one = strata.log_luckiness(ln_a, tau, self.sigma)
            return np.asarray(one - strata.log_luckiness(ln_a, other, self.sigma))

        value = float(difference(self.ln_a))
        return value, float(jackknife_error(difference(self.replicates)))

    def mean_k(self, tau: float) -> tuple[float, float]:
        """Give the expected number of active coefficients under weight tau, and its error."""
        value = float(strata.mean_active(self.ln_a, tau, self.sigma))
        spread = jackknife_error(strata.mean_active(self.replicates, tau, self.sigma))
        return value, float(spread)

    def covers_tau(self, tau: float) -> bool:
        """Say whether the draws visited the k that matter for this weight."""
        return self._missing_at_tau(tau) <= _BEYOND

    def covers_radius(self, radius: float) -> bool:
        """Say whether the draws visited the k that matter for this radius."""
        return self._missing_at_radius(radius) <= _BEYOND

    def misses_below(self, radius: float) -> bool:
        """Say whether the law of k at a radius leaves the visited k more below them than above.

        Small k are reached with a larger tau, large k with a smaller one.
        """
        first, last = self.visited
        law = strata.restricted_law(self.ln_a, radius)
        below = float(law[: first + 1].sum()) if first > 0 else 0.0
        beyond = float(law[last:].sum()) if last < self.largest else 0.0
        return below > beyond

    def _with_error(self, functional: Callable[[Floats], Floats]) -> tuple[float, float]:
        spread = jackknife_error(functional(self.replicates))
        return float(functional(self.ln_a)), float(np.hypot(spread, self.reference_error))

    def _missing_at_tau(self, tau: float) -> float:
        unknown = 0.0 if self.sampled[0] <= tau <= self.sampled[1] else 1.0
        return self._missing(strata.stratum_law(self.ln_a, tau, self.sigma), unknown)

    def _missing_at_radius(self, radius: float) -> float:
        return self._missing(strata.restricted_law(self.ln_a, radius), 1.0)

    def _missing(self, law: Floats, unknown: float) -> float:
        """Bound the law's share beyond the visited k; `unknown` where nothing tells."""
        first, last = self.visited
        low = _share_beyond(law[first::-1], law[first : first + 2], unknown) if first > 0 else 0.0
        if last >= self.largest:
            return low
        return low + _share_beyond(law[last:], law[last : max(last - 2, -1) : -1], unknown)

    def _warn_beyond(self, share: float, where: str) -> None:
        if share > _BEYOND:
            msg = (
                f"up to {min(share, 1.0):.0%} of the integral at {where} lies beyond the visited "
                f"k = {self.visited[0]}..{self.visited[1]}; extend the ladder of tau"
            )
            warnings.warn(msg, SamplingWarning, stacklevel=3)


def _share_beyond(outward: Floats, inward: Floats, unknown: float) -> float:
    """Bound what lies beyond an edge; both arguments start at the edge.

    The law is taken to be log-concave in k, as it is for orthogonal designs and in every enumerated
    one: then it falls beyond the edge at least as fast as it does at the edge.
    """
    seen = float(outward[1:].sum())
    if inward.size < 2 or inward[1] <= 0.0:
        return seen if seen > 0.0 else unknown
    ratio = inward[0] / inward[1]
    return max(seen, float(inward[0] * ratio / (1.0 - ratio)) if ratio < 1.0 else 1.0)


def jackknife_error(values: Floats) -> Floats:
    """Give the standard error from leave-one-group-out values (G, ...)."""
    n_groups = values.shape[0]
    return np.asarray(np.sqrt(n_groups - 1.0) * np.std(values, axis=0))


def combine_histograms(
    k_draws: Sequence[ArrayLike],
    taus: ArrayLike,
    *,
    sigma: float = 1.0,
    largest: int | None = None,
    reference: tuple[float, float, float] | None = None,
    n_blocks: int | None = None,
) -> HistogramSpectrum:
    """Combine draws of k at several luckiness weights into one stratum spectrum.

    Parameters
    ----------
    k_draws : one (chain, draw) array of integers per level; the number of chains is the same at all
        levels, and chain c of every level is left out together
    taus : (L,) the levels' weights
    sigma : noise standard deviation
    largest : largest k that can occur (the rank of X); by default not known
    reference : (tau, ln C there, its standard error); without it ln C is called 0 at the first tau
    n_blocks : blocks per chain in the jackknife; by default as many as the chains' memory allows
    """
    levels = [np.atleast_2d(np.asarray(draws)) for draws in k_draws]
    rates = np.asarray(taus, dtype=np.float64)
    _check(levels, rates)
    sizes = np.array([_effective(draws) for draws in levels])
    blocks = _block_count(levels, sizes) if n_blocks is None else n_blocks
    if levels[0].shape[0] * blocks < 2:
        msg = "the error needs at least two groups of draws; use more chains or longer ones"
        raise InvalidProblem(msg)
    n_bins = int(max(draws.max() for draws in levels)) + 1
    counts = _group_counts(levels, n_bins, blocks)
    # Each level counts by its effective draws: the histograms' weights in the combination.
    weight = sizes / counts.sum(axis=(1, 2))
    log_bias = np.arange(float(n_bins)) * np.log(sigma**2 / rates)[:, None]
    tau, ln_c, error = (rates[0], 0.0, np.inf) if reference is None else reference
    anchor = _Anchor(float(tau), float(ln_c), float(error), sigma)
    total = counts.sum(axis=1)
    ln_a, shift = _solve(total, weight, log_bias, anchor, _first_shift(total, log_bias))
    left_out = [total - counts[:, group] for group in range(counts.shape[1])]
    replicates = np.array([_solve(each, weight, log_bias, anchor, shift)[0] for each in left_out])
    # On the scale of a_k: a bin only one group visited has error 1, not infinity.
    with np.errstate(invalid="ignore"):
        relative = np.where(np.isfinite(ln_a), np.exp(replicates - ln_a), np.inf)
    spread = np.full(n_bins, np.inf)
    spread[np.isfinite(ln_a)] = jackknife_error(relative[:, np.isfinite(ln_a)])
    trusted = np.flatnonzero(weight @ total >= _VISITED)
    return HistogramSpectrum(
        ln_a,
        np.hypot(spread, anchor.error),
        replicates,
        anchor.tau,
        anchor.error,
        (int(trusted.min()), int(trusted.max())) if trusted.size else (0, 0),
        (float(rates.min()), float(rates.max())),
        2**62 if largest is None else largest,
        sigma,
    )


@dataclass(frozen=True, slots=True)
class _Anchor:
    """The weight at which ln C is known, and what it is."""

    tau: float
    ln_c: float
    error: float
    sigma: float


def _check(levels: list[Ints], taus: Floats) -> None:
    if len(levels) != taus.size or not levels:
        msg = "combine_histograms needs one array of draws per tau, and at least one"
        raise InvalidProblem(msg)
    if np.any(~np.isfinite(taus) | (taus <= 0.0)):
        msg = f"every tau must be positive and finite, got {taus}"
        raise InvalidProblem(msg)
    if len({draws.shape[0] for draws in levels}) > 1:
        msg = "all levels need the same number of chains; leave out the extra ones"
        raise InvalidProblem(msg)
    if any(draws.dtype.kind not in "iu" or draws.min() < 0 for draws in levels):
        msg = "k must be non-negative integers; convert the draws with astype(int)"
        raise InvalidProblem(msg)


def _effective(draws: Ints) -> float:
    size = effective_size(draws)
    return float(draws.size) if size is None else min(size, float(draws.size))


def _block_count(levels: list[Ints], sizes: Floats) -> int:
    """Give the blocks per chain that are still longer than the slowest level's memory."""
    n_chains = levels[0].shape[0]
    room: float = float(np.min(sizes)) / (_MEMORIES * n_chains)
    return max(1, min(int(room), _GROUPS // int(n_chains)))


def _group_counts(levels: list[Ints], n_bins: int, n_blocks: int) -> Floats:
    """Count k per level and group: (L, G, K)."""
    n_chains = levels[0].shape[0]
    counts = np.zeros((len(levels), n_chains * n_blocks, n_bins))
    for level, draws in enumerate(levels):
        block = np.arange(draws.shape[1]) * n_blocks // draws.shape[1]
        group = np.arange(n_chains)[:, None] * n_blocks + block
        np.add.at(counts[level], (group, draws), 1.0)
    return counts


def _first_shift(counts: Floats, log_bias: Floats) -> Floats:
    """Guess the levels' -ln Z by integrating the mean of k over ln(1 / tau).

    From zeros, Newton's method can leap where far levels share no draw, and not come back.
    """
    bins = np.arange(float(counts.shape[1]))
    mean_k = (counts @ bins) / counts.sum(axis=1)
    slope = log_bias[:, -1] / max(bins[-1], 1.0)  # ln(sigma^2 / tau)
    order = np.argsort(slope)
    steps = 0.5 * (mean_k[order][1:] + mean_k[order][:-1]) * np.diff(slope[order])
    shift = np.empty(slope.size)
    shift[order] = -np.concatenate([[0.0], np.cumsum(steps)])
    return shift


def _solve(
    counts: Floats, weight: Floats, log_bias: Floats, anchor: _Anchor, start: Floats
) -> tuple[Floats, Floats]:
    """Give ln a_k from histograms (L, K) of the levels, and the levels' -ln Z."""
    copies = weight @ counts
    sizes = weight * counts.sum(axis=1)
    seen = copies > 0.0
    shift = solve_states(-log_bias[:, seen], sizes, copies[seen], start)
    log_mixture = np.logaddexp.reduce((np.log(sizes) + shift)[:, None] + log_bias, axis=0)
    with np.errstate(divide="ignore"):
        ln_a = np.log(copies) - log_mixture
    excess = float(strata.log_luckiness(ln_a, anchor.tau, anchor.sigma)) - anchor.ln_c
    return ln_a - excess, shift
