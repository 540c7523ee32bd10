"""MBAR: ln Z of many states from all draws at once (Shirts and Chodera 2008), in logarithms.

Reduced energies u_s(y), density exp(-u_s)/Z_s. Solves Z_s = sum_n exp(-u_s(y_n)) / sum_t (N_t/Z_t)
exp(-u_t(y_n)) as the minimum of a convex function. Errors from each draw's influence on the answer,
summed within groups of draws that depend on each other: autocorrelation and replica exchange are
counted by the grouping. Slow twin: `complexity/bridge.py`, which equals it for two states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from shtarkov.errors import InvalidProblem, NotConverged
from shtarkov.types import Floats, Ints

_MAX_ROUNDS = 500
_TOLERANCE = 1e-10


class MultiState(NamedTuple):
    """ln Z of K states relative to the first.

    Attributes
    ----------
    ln_ratio : (K,) ln Z_s - ln Z_0
    covariance : (K, K) of `ln_ratio`
    influence : (K, n_total) effect of each draw on `ln_ratio`
    """

    ln_ratio: Floats
    covariance: Floats
    influence: Floats

    @property
    def std_error(self) -> Floats:
        """Give the standard error of each `ln_ratio`."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def block_labels(n_states: int, n_chains: int, n_draws: int, n_blocks: int) -> Ints:
    """Label draws stored as (state, chain, draw) by independent group: (chain, block of draws).

    Draws of different states in one group share a label, which also covers replica exchange. Blocks
    must be longer than the memory of the chain.
    """
    block = np.arange(n_draws) * n_blocks // n_draws
    chain = np.arange(n_chains)[:, None] * n_blocks
    return np.broadcast_to(chain + block, (n_states, n_chains, n_draws)).reshape(-1).copy()


def mbar(
    energies: ArrayLike, n_per_state: ArrayLike, labels: ArrayLike | None = None
) -> MultiState:
    """Estimate ln Z of all states from all draws.

    Parameters
    ----------
    energies : (K, n_total) reduced energy of every draw in every state; draws ordered by the state
        they come from. States without draws are allowed: only their ln Z is then given.
    n_per_state : (K,) number of draws from each state
    labels : (n_total,) group of each draw; draws of different groups are independent (see
        `block_labels`). By default every draw is its own group.
    """
    energy = np.asarray(energies, dtype=np.float64)
    counts = np.asarray(n_per_state, dtype=np.int64)
    if energy.ndim != 2 or counts.shape != energy.shape[:1] or counts.sum() != energy.shape[1]:
        msg = "energies must be (K, n_total) with n_per_state of length K summing to n_total"
        raise InvalidProblem(msg)
    if np.isnan(energy).any() or np.any(counts < 0):
        msg = "energies must not be NaN and n_per_state not negative"
        raise InvalidProblem(msg)
    sampled = np.flatnonzero(counts)
    drawn = counts[sampled].astype(np.float64)
    shift = solve_states(energy[sampled], drawn)
    log_mixture = _log_mixture(energy[sampled], drawn, shift)
    log_z = np.asarray(logsumexp(-energy - log_mixture, axis=1))
    influence = _influence(energy, counts, log_z, log_mixture)
    groups = np.arange(energy.shape[1]) if labels is None else np.asarray(labels)
    ln_ratio = log_z - log_z[0]
    return MultiState(ln_ratio, _grouped_covariance(influence, groups), influence)


def _log_mixture(energy: Floats, counts: Floats, shift: Floats) -> Floats:
    """Give ln sum_s N_s exp(shift_s - u_s(y_n)) at each draw; shift_s = -ln Z_s."""
    return np.asarray(logsumexp((np.log(counts) + shift)[:, None] - energy, axis=0))


def solve_states(
    energy: Floats, counts: Floats, copies: Floats | None = None, start: Floats | None = None
) -> Floats:
    """Solve for -ln Z of the states that were drawn from, relative to the first.

    Minimises sum_n copies_n log_mixture_n - sum_s N_s shift_s over shift with shift_0 = 0.

    Parameters
    ----------
    energy : (K, n) reduced energies
    counts : (K,) positive number of draws of each state
    copies : (n,) how often each column of `energy` was drawn; once by default
    start : (K,) a first guess
    """
    shift = np.zeros(counts.size) if start is None else start - start[0]
    if counts.size == 1:
        return shift
    weights = np.ones(energy.shape[1]) if copies is None else copies
    log_mixture = _log_mixture(energy, counts, shift)
    for _ in range(_MAX_ROUNDS):
        share = np.exp((np.log(counts) + shift)[:, None] - energy - log_mixture)
        gradient = share @ weights - counts
        if np.abs(gradient / counts).max() < _TOLERANCE:
            return shift
        shift, log_mixture = _descend(energy, counts, weights, shift, log_mixture, share)
    msg = "the states do not overlap; put more states between them"
    raise NotConverged(msg)


def _descend(
    energy: Floats,
    counts: Floats,
    weights: Floats,
    shift: Floats,
    log_mixture: Floats,
    share: Floats,
) -> tuple[Floats, Floats]:
    """Take a Newton step, shortened until the objective falls; else one self-consistent step."""
    total = share @ weights
    hessian = np.diag(total) - (share * weights) @ share.T
    step = np.zeros(counts.size)
    step[1:] = -np.linalg.lstsq(hessian[1:, 1:], (total - counts)[1:], rcond=1e-13)[0]
    before = weights @ log_mixture - counts @ shift
    for size in (1.0, 0.3, 0.05):
        proposed = shift + size * step
        mixture = _log_mixture(energy, counts, proposed)
        # Rounding of the sum hides changes below this: such a step is as good as the optimum.
        if weights @ mixture - counts @ proposed <= before + 1e-12 * abs(before):
            return proposed, mixture
    proposed = -np.asarray(logsumexp(-energy - log_mixture, axis=1, b=weights))
    proposed -= proposed[0]
    return proposed, _log_mixture(energy, counts, proposed)


def _influence(energy: Floats, counts: Ints, log_z: Floats, log_mixture: Floats) -> Floats:
    """Linearise the solution in the empirical measure: effect of each draw on ln Z_s - ln Z_0."""
    n_states = counts.size
    sampled = np.flatnonzero(counts)
    weight = np.exp(-energy - log_z[:, None] - log_mixture)  # each row sums to 1
    # Within a state the draws' mean effect is zero: what varies is which draws it received.
    home = np.repeat(np.arange(n_states), counts)
    centred = np.empty_like(weight)
    for state in sampled:
        own = home == state
        centred[:, own] = weight[:, own] - weight[:, own].mean(axis=1, keepdims=True)
    # d ln Z = centred + (weight weight') diag(N) d ln Z over the sampled states; the shift common
    # to all states is free, and goes when the first is subtracted.
    reach = weight @ weight[sampled].T * counts[sampled]
    system = np.eye(sampled.size) - reach[sampled]
    solution = np.linalg.lstsq(system, centred[sampled], rcond=1e-12)[0]
    effect = centred + reach @ solution
    return np.asarray(effect - effect[0])


def _grouped_covariance(influence: Floats, groups: Ints) -> Floats:
    """Give the covariance of the summed influence, groups of draws being independent."""
    _, member = np.unique(groups, return_inverse=True)
    n_groups = int(member.max()) + 1
    sums = np.zeros((influence.shape[0], n_groups))
    for state in range(influence.shape[0]):
        sums[state] = np.bincount(member, weights=influence[state], minlength=n_groups)
    return np.asarray(sums @ sums.T * (n_groups / max(1, n_groups - 1)))
