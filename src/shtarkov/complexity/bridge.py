"""Ratios of normalising constants from energies at the draws: Bennett's ratio and its ladder.

Reduced energies u_s(y) with density exp(-u_s)/Z_s. Everything returned is ln Z with its standard
error; nothing is drawn here. Errors come from influence functions: each draw's linear effect on the
answer is a series along its chain, whose long-run variance counts autocorrelation, and in a ladder
the draws a state lends to both its neighbours are counted once. `complexity/mbar.py` uses all draws
for all states. Slow twin: re-solving over fresh samples (tests).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit, logsumexp

from shtarkov.diagnostics.convergence import effective_size, mean_error
from shtarkov.errors import InvalidProblem, NotConverged
from shtarkov.types import Floats

_MAX_ROUNDS = 200
_TOLERANCE = 1e-12
_NO_OVERLAP = "the two samples do not overlap; put more states between them"


class Bridge(NamedTuple):
    """ln Z_1 - ln Z_0 of one pair of states.

    Attributes
    ----------
    ln_ratio : the estimate
    std_error : its standard error
    overlap : share of the information two identical states would give, in (0, 1]; below about
        0.03 the draws of one state hardly visit the other and the error itself is not to be trusted
    influence_forward, influence_reverse : (chain, draw) effect of each draw on `ln_ratio`
    """

    ln_ratio: float
    std_error: float
    overlap: float
    influence_forward: Floats
    influence_reverse: Floats


class Ladder(NamedTuple):
    """ln Z along a ladder of states, relative to the first.

    Attributes
    ----------
    ln_ratio : (K,) ln Z_s - ln Z_0
    covariance : (K, K) of `ln_ratio`
    steps : the K - 1 bridges between neighbours
    """

    ln_ratio: Floats
    covariance: Floats
    steps: tuple[Bridge, ...]

    @property
    def std_error(self) -> Floats:
        """Give the standard error of each `ln_ratio`."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def _as_work(work: ArrayLike, name: str) -> Floats:
    chains = np.atleast_2d(np.asarray(work, dtype=np.float64))
    if chains.ndim != 2 or chains.size == 0 or np.isnan(chains).any():
        msg = f"{name} must be a non-empty (chain, draw) array without NaN, got {chains.shape}"
        raise InvalidProblem(msg)
    return chains


def bar(
    work_forward: ArrayLike,
    work_reverse: ArrayLike,
    size_forward: float | None = None,
    size_reverse: float | None = None,
) -> Bridge:
    """Estimate ln Z_1 - ln Z_0 by Bennett's acceptance ratio.

    Parameters
    ----------
    work_forward : (chain, draw) u_1 - u_0 at draws of state 0
    work_reverse : (chain, draw) u_0 - u_1 at draws of state 1
    size_forward, size_reverse : effective sample sizes, which set the optimal weight between the
        two samples; by default that of the work. Any positive values give a consistent answer.
    """
    forward = _as_work(work_forward, "work_forward")
    reverse = _as_work(work_reverse, "work_reverse")
    n_forward = _effective(forward) if size_forward is None else size_forward
    n_reverse = _effective(reverse) if size_reverse is None else size_reverse
    log_odds = float(np.log(n_forward / n_reverse))
    ln_ratio = _solve(forward, reverse, log_odds)
    weight_forward, mean_forward, slope_forward = _logistic(forward, log_odds + ln_ratio)
    weight_reverse, mean_reverse, slope_reverse = _logistic(reverse, -log_odds - ln_ratio)
    slope = slope_forward + slope_reverse
    influence_forward = (weight_forward / mean_forward - 1.0) / slope
    influence_reverse = (1.0 - weight_reverse / mean_reverse) / slope
    error = np.hypot(mean_error(influence_forward), mean_error(influence_reverse))
    overlap = mean_forward * (n_forward + n_reverse) / n_reverse
    return Bridge(ln_ratio, float(error), min(1.0, overlap), influence_forward, influence_reverse)


def _effective(work: Floats) -> float:
    size = effective_size(work) if np.isfinite(work).all() else None
    return float(work.size) if size is None else size


def _logistic(work: Floats, shift: float) -> tuple[Floats, float, float]:
    """Give the weights 1 / (1 + exp(work + shift)), their mean, and -d ln mean / d shift."""
    weight: Floats = expit(-work - shift)
    mean = float(weight.mean())
    if mean == 0.0:  # no draw of one state is likely under the other, in double precision
        raise NotConverged(_NO_OVERLAP)
    return weight, mean, float((weight * (1.0 - weight)).mean()) / mean


def _log_mean_logistic(work: Floats, shift: float) -> tuple[float, float]:
    """Give ln mean 1 / (1 + exp(work + shift)) and its derivative in shift, without underflow."""
    log_weight = log_expit(-work - shift)
    log_total = float(logsumexp(log_weight))
    with np.errstate(invalid="ignore"):
        share = np.exp(log_weight - log_total)
    return log_total - float(np.log(work.size)), -float((share * expit(work + shift)).sum())


def _solve(forward: Floats, reverse: Floats, log_odds: float) -> float:
    """Solve Bennett's equation for ln Z_1 - ln Z_0 by Newton steps kept inside a bracket.

    With f the logistic weight, s the sample shares and x the answer:
    s_0 mean_0 f(forward + log_odds + x) = s_1 mean_1 f(reverse - log_odds - x).
    The log of left over right falls in x, with slope near -1 at the answer.
    """
    low, high = -np.inf, np.inf
    middle = 0.5 * float(np.median(reverse) - np.median(forward))
    ln_ratio = middle if np.isfinite(middle) else 0.0
    for _ in range(_MAX_ROUNDS):
        left, slope_left = _log_mean_logistic(forward, log_odds + ln_ratio)
        right, slope_right = _log_mean_logistic(reverse, -log_odds - ln_ratio)
        excess, slope = log_odds + left - right, slope_left + slope_right
        if abs(excess) < _TOLERANCE * max(1.0, abs(ln_ratio)):
            return ln_ratio
        low, high = (ln_ratio, high) if excess > 0.0 else (low, ln_ratio)
        proposed = ln_ratio - excess / slope if slope < 0.0 else np.nan
        if not low < proposed < high:
            # A saturated weight has no slope: step by the excess itself, then bisect.
            proposed = ln_ratio + excess
            if not low < proposed < high:
                proposed = 0.5 * (low + high)
        if proposed == ln_ratio:
            return ln_ratio
        ln_ratio = proposed
    raise NotConverged(_NO_OVERLAP)


def bar_ladder(
    work_forward: Sequence[ArrayLike],
    work_reverse: Sequence[ArrayLike],
    *,
    coupled: bool = False,
) -> Ladder:
    """Chain Bennett's ratio along a ladder of K states.

    Parameters
    ----------
    work_forward : K - 1 arrays (chain, draw); the s-th is u_{s+1} - u_s at the draws of state s
    work_reverse : K - 1 arrays (chain, draw); the s-th is u_s - u_{s+1} at the draws of state s + 1
    coupled : the states were drawn together (replica exchange), so that equal (chain, draw) of
        different states depend on each other; all arrays must then have one shape
    """
    if len(work_forward) != len(work_reverse) or len(work_forward) == 0:
        msg = "a ladder of K states needs K - 1 forward and K - 1 reverse work arrays"
        raise InvalidProblem(msg)
    steps = tuple(bar(*pair) for pair in zip(work_forward, work_reverse, strict=True))
    ln_ratio = np.concatenate([[0.0], np.cumsum([step.ln_ratio for step in steps])])
    covariance = _coupled_covariance(steps) if coupled else _separate_covariance(steps)
    return Ladder(ln_ratio, covariance, steps)


def _separate_covariance(steps: tuple[Bridge, ...]) -> Floats:
    """Give the covariance of the running sums when every state has its own chains.

    The sum up to state j uses state s < j for both its neighbours and state j for the lower one.
    """
    n_states = len(steps) + 1
    covariance = np.zeros((n_states, n_states))
    covariance[1:, 1:] = mean_error(steps[0].influence_forward) ** 2
    for state in range(1, n_states):
        lower = steps[state - 1].influence_reverse
        own = mean_error(lower) ** 2
        covariance[state, state] += own
        if state == n_states - 1:
            break
        upper = steps[state].influence_forward
        both = mean_error(lower + upper) ** 2
        covariance[state + 1 :, state + 1 :] += both
        # cov(a, a + b) = (var a + var(a + b) - var b) / 2
        cross = 0.5 * (own + both - mean_error(upper) ** 2)
        cross = np.clip(cross, -np.sqrt(own * both), np.sqrt(own * both))
        covariance[state, state + 1 :] += cross
        covariance[state + 1 :, state] += cross
    return covariance


def _coupled_covariance(steps: tuple[Bridge, ...]) -> Floats:
    """Give the covariance of the running sums when equal (chain, draw) of states are dependent."""
    effect = np.cumsum([step.influence_forward + step.influence_reverse for step in steps], axis=0)
    error = np.array([0.0, *(mean_error(series) for series in effect)])
    _, n_chains, n_draws = effect.shape
    # Correlations need no exact long-run variance: blocks of the draws show them well enough.
    n_blocks = max(1, min(n_draws // 4, 32 // n_chains))
    length = n_draws // n_blocks
    blocks = effect[:, :, : length * n_blocks].reshape(len(steps), n_chains * n_blocks, length)
    sums = blocks.mean(axis=2)
    spread = np.sqrt((sums**2).sum(axis=1, keepdims=True))
    sums = np.divide(sums, spread, out=np.zeros_like(sums), where=spread > 0.0)
    correlation = np.zeros((len(steps) + 1, len(steps) + 1))
    correlation[1:, 1:] = sums @ sums.T
    np.fill_diagonal(correlation, 1.0)
    return correlation * np.outer(error, error)
