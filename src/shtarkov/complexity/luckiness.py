"""ln C(lam, tau) along the luckiness weight at one penalty (THEORY 4b).

-d ln C / d ln tau = tau E[norm] under q ~ exp(-half |r|^2 - tau norm); E[k] for the Lasso.
A ladder of tau at Chebyshev nodes in ln tau is sampled as the penalty path is, with control
variates, and integrated away from tau = lam, where the matched path supplies ln C.
Slow twins: `closed_form.lasso_ln_c` and `enumeration`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shtarkov.complexity import ladder
from shtarkov.complexity import worries as worry
from shtarkov.complexity.integrands import slope_in_tau
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.quadrature import (
    NODE_COUNTS,
    chebyshev_nodes,
    integral_weights,
    smallest_rule,
    unresolved_part,
)
from shtarkov.complexity.rung import Rung
from shtarkov.families.observables import K
from shtarkov.progress import Meter, Progress
from shtarkov.types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class LuckinessLadder:
    """A sampled ladder of tau at one penalty, in units of sigma.

    Attributes
    ----------
    kappa : lam / sigma
    log_taus : (L,) Chebyshev nodes in ln(tau / sigma), descending
    means, variances : (L,) of the integrand at the nodes
    active : L arrays (chain, draw) of k
    n_draws, ess, rank_rhat, failures, warnings : as in `ComplexityResult`
    """

    kappa: float
    log_taus: Floats
    means: Floats
    variances: Floats
    active: tuple[Ints, ...]
    n_draws: int
    ess: float | None
    rank_rhat: float | None
    failures: int
    warnings: tuple[str, ...]

    def relative_ln_c(self, tau: float, other: float) -> tuple[float, float]:
        """Give ln C(tau) - ln C(other), both inside the ladder and in units of sigma; its error."""
        weights = _functionals(self.log_taus, np.log([tau]), math.log(other))[0]
        return float(weights @ self.means), float(np.sqrt(weights**2 @ self.variances))

    def holds(self, tau: float) -> bool:
        """Say whether `tau` lies within the ladder."""
        slack = 1e-9
        return bool(self.log_taus[-1] - slack <= math.log(tau) <= self.log_taus[0] + slack)


def _functionals(nodes: Floats, log_taus: Floats, log_origin: float) -> Floats:
    """Give W with W @ means = ln C(tau) - ln C(origin)."""
    origin = integral_weights(nodes, np.array([log_origin]))
    return np.asarray(integral_weights(nodes, log_taus) - origin)


def luckiness_ladder(
    family: Any,
    low: float,
    high: float,
    *,
    std_error: float,
    n_chains: int,
    n_jobs: int | None,
    seed: int,
    bar: Progress,
    max_draws: int,
) -> LuckinessLadder:
    """Sample tau from `high` to `low` until every ln C ratio to tau = lam is known.

    Parameters
    ----------
    family : the compiled family at its penalty
    low, high : the ends of the ladder in units of sigma; widened to hold tau = lam
    std_error : wanted for ln C(tau) - ln C(lam), in nats
    bar : told of `METER_UNITS` steps
    """
    kappa = float(family.lam)
    ends = math.log(min(low, kappa)), math.log(max(high, kappa))
    outline, meter = outline_of(family), Meter(bar)

    def guess(log_taus: Floats) -> Floats:
        return outline.mean_norm(kappa, np.exp(log_taus))

    def sampled(count: int) -> tuple[Floats, list[Rung], str]:
        nodes = chebyshev_nodes(*ends, count)
        points = [(kappa, float(tau)) for tau in np.exp(nodes)]
        rungs = ladder.make_rungs(
            family, points, seed=seed, n_chains=n_chains, probe=False, expected=guess(nodes)
        )
        stopped = ladder.sample_until(
            rungs,
            _functionals(nodes, nodes, math.log(kappa)),
            std_error,
            slope_in_tau,
            max_draws=max_draws,
            n_jobs=n_jobs,
            meter=meter,
        )
        return nodes, rungs, stopped

    count = smallest_rule(guess, *ends, 0.1 * std_error)
    nodes, rungs, stopped = sampled(count)
    while _unresolved(nodes, rungs) > std_error and count < NODE_COUNTS[-1]:
        if stopped == ladder.INTERRUPTED:
            break
        count = NODE_COUNTS[NODE_COUNTS.index(count) + 1]
        nodes, rungs, stopped = sampled(count)
    return _ladder(kappa, nodes, rungs, stopped)


def _unresolved(nodes: Floats, rungs: list[Rung]) -> float:
    means = np.array([rung.mean for rung in rungs])
    variances = np.array([rung.variance for rung in rungs])
    return unresolved_part(nodes, nodes, means, variances)


def _ladder(kappa: float, nodes: Floats, rungs: list[Rung], stopped: str) -> LuckinessLadder:
    """Assemble the ladder and what an expert would want to look at."""
    rhat, ess = ladder.convergence(rungs)
    worries = [stopped] if stopped else []
    worst = max((abs(z) for rung in rungs for z in rung.checks), default=0.0)
    if worst > ladder.ALARM:
        worries.append(worry.broken_identity(worst))
    if any(ladder.unsettled(rung) for rung in rungs):
        worries.append(worry.disagreeing_chains(rhat))
    return LuckinessLadder(
        kappa,
        nodes,
        np.array([rung.mean for rung in rungs]),
        np.array([rung.variance for rung in rungs]),
        tuple(_active_counts(rung) for rung in rungs),
        sum(rung.n_draws for rung in rungs),
        ess,
        rhat,
        sum(int(chain.failures[1:].sum()) for rung in rungs for chain in rung.chains),
        tuple(worries),
    )


def _active_counts(rung: Rung) -> Ints:
    counts = [chain.column(K).astype(np.int64) for chain in rung.chains]
    shortest = min(count.size for count in counts)  # an interrupted chain may be shorter
    return np.stack([count[:shortest] for count in counts])
