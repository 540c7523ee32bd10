"""ln C along a whole penalty path from one sampled ladder: the derivative identity of THEORY 4.

-d ln C / d ln lam = E[df] = E[slope of the envelope] = n - E|r|^2 (sigma = 1), and ln C falls to
zero as lam grows. The ladder's mean df, integrated over ln lam, is ln C; Bennett ratios between
neighbouring rungs give the same numbers with no quadrature, and check them. Slow twin:
`complexity.enumeration`.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.blas import one_blas_thread
from shtarkov.complexity import ladder as rungs_of
from shtarkov.complexity import worries as worry
from shtarkov.complexity.bridge import bar_ladder
from shtarkov.complexity.exact_path import exact_path
from shtarkov.complexity.integrands import slope_in_lam
from shtarkov.complexity.label_path import label_penalty_path
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.complexity.quadrature import (
    NODE_COUNTS,
    chebyshev_nodes,
    integral_weights,
    interpolation_weights,
    rule_error,
    smallest_rule,
    unresolved_part,
)
from shtarkov.complexity.rung import Rung
from shtarkov.errors import NotConverged, SamplingWarning
from shtarkov.families.build import check_lams, check_sigma
from shtarkov.families.compiled import family_of
from shtarkov.families.label_problems import SparseLogistic, SparseSVM
from shtarkov.progress import METER_UNITS, Meter, Progress, resolve_progress, tracked
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.seeds import resolve_seed
from shtarkov.settings import check_run
from shtarkov.types import Floats

# Parts of the wanted error left to the two deterministic approximations.
START_SHARE = 0.05
QUADRATURE_SHARE = 0.2
MIN_OVERLAP = 0.03
# With so many probes a rung the bridge's own error is itself known to half: over 40 seeds of one
# group its z-scores had a root mean square of 1.7. The alarm then asks for twice as many of them.
FEW_PROBES = 32.0


def complexity_path(
    problem: Any,
    lams: ArrayLike,
    *,
    sigma: float = 1.0,
    std_error: float = 0.05,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 200_000,
) -> ComplexityPath:
    """Estimate the stochastic complexity at every penalty of a path.

    Parameters
    ----------
    problem : `Lasso`, `ElasticNet`, `GroupLasso`, ..., or for labels `SparseSVM`, `SparseLogistic`
    lams : penalties in any order, for half the squared residual plus lam times the norm
    sigma : noise standard deviation; only lam / sigma matters
    std_error : standard error wanted for every ln C, in nats
    n_chains : independent chains at each rung of the ladder
    n_jobs : threads; the numbers do not depend on it
    seed : repeats the result exactly; None draws one and records it
    progress : None shows a bar on a terminal, False never, or an object with start/advance/finish
    max_draws : draws per chain and rung after which the error reached is reported instead
    """
    grid = check_lams(lams)
    exact = exact_path(problem, grid.lams[grid.position], check_sigma(sigma))
    if exact is not None:
        return exact
    path: ComplexityPath = penalty_path(
        problem,
        lams,
        sigma=sigma,
        std_error=std_error,
        n_chains=n_chains,
        n_jobs=n_jobs,
        seed=seed,
        progress=progress,
        max_draws=max_draws,
    )
    for text in path.warnings:
        warnings.warn(text, SamplingWarning, stacklevel=2)
    return path


@functools.singledispatch
def penalty_path(
    problem: Any,
    lams: ArrayLike,
    *,
    sigma: float,
    std_error: float,
    n_chains: int,
    n_jobs: int | None,
    seed: int | np.random.SeedSequence | None,
    progress: bool | Progress | None,
    max_draws: int,
) -> ComplexityPath:
    """Do the work of `complexity_path` by problem, and leave its warnings to the caller."""
    check_run(std_error=std_error, max_draws=max_draws, n_chains=n_chains, n_jobs=n_jobs)
    grid = check_lams(lams)
    scale = check_sigma(sigma)
    run = _LadderRun(problem, grid.lams / scale, scale, std_error, resolve_seed(seed))
    with (
        InterruptWatch(),
        one_blas_thread(),
        tracked(resolve_progress(progress), METER_UNITS, "ln C") as bar,
    ):
        path = run.estimate(Meter(bar), n_chains=n_chains, n_jobs=n_jobs, max_draws=max_draws)
    return replace(
        path,
        lams=grid.lams[grid.position],
        ln_c=path.ln_c[grid.position],
        std_error=path.std_error[grid.position],
        mean_df=path.mean_df[grid.position],
        covariance=path.covariance[np.ix_(grid.position, grid.position)],
    )


penalty_path.register(SparseSVM, label_penalty_path)
penalty_path.register(SparseLogistic, label_penalty_path)


class _LadderRun:
    """One path: its ladder, the functionals wanted, and how they become the result."""

    def __init__(
        self, problem: Any, kappas: Floats, sigma: float, std_error: float, seed: int
    ) -> None:
        self.family = family_of(problem, 1.0, sigma)
        self.kappas, self.sigma, self.wanted, self.seed = kappas, sigma, std_error, seed
        self.outline = outline_of(self.family)
        self.targets = np.log(kappas)

    def estimate(self, meter: Meter, **options: Any) -> ComplexityPath:
        """Sample the ladder and integrate it; refine it while the integrand is not resolved."""
        if self.outline.is_empty:  # no column can enter
            return self._result([], np.zeros(0), np.zeros(self.kappas.size), ())
        start = self.outline.start(START_SHARE * self.wanted)
        low = float(self.targets.min())
        if low >= math.log(start):
            values = np.array([self.outline.first_order(kappa) for kappa in self.kappas])
            return self._result([], np.zeros(0), values, ())
        high, inside = math.log(start), np.minimum(self.targets, math.log(start))
        tail = np.array([self.outline.first_order(max(kappa, start)) for kappa in self.kappas])
        count = smallest_rule(self.outline.mean_df, low, high, QUADRATURE_SHARE * self.wanted)
        while True:
            nodes = chebyshev_nodes(low, high, count)
            rungs, stopped = self._sample(nodes, inside, meter, **options)
            means = np.array([rung.mean for rung in rungs])
            variances = np.array([rung.variance for rung in rungs])
            unresolved = unresolved_part(nodes, inside, means, variances)
            resolved = unresolved <= self.wanted or count == NODE_COUNTS[-1]
            if resolved or stopped == rungs_of.INTERRUPTED:
                break
            count = NODE_COUNTS[NODE_COUNTS.index(count) + 1]
        notes = (stopped,) if stopped else ()
        if unresolved > self.wanted:
            notes = (*notes, worry.coarse_rule(unresolved))
        return self._result(rungs, nodes, tail, notes)

    def _sample(
        self, nodes: Floats, inside: Floats, meter: Meter, n_chains: int, **limits: Any
    ) -> tuple[list[Rung], str]:
        points = [(float(lam), float(lam)) for lam in np.exp(nodes)]
        rungs = rungs_of.make_rungs(
            self.family,
            points,
            seed=self.seed,
            n_chains=n_chains,
            probe=True,
            expected=self.outline.mean_df(nodes),
        )
        stopped = rungs_of.sample_until(
            rungs,
            integral_weights(nodes, inside),
            self.wanted,
            slope_in_lam,
            meter=meter,
            **limits,
        )
        return rungs, stopped

    def _result(
        self,
        rungs: Sequence[Rung],
        nodes: Floats,
        tail: Floats,
        notes: tuple[str, ...],
    ) -> ComplexityPath:
        """Assemble ln C, its error and its checks."""
        means = np.array([rung.mean for rung in rungs])
        variances = np.array([rung.variance for rung in rungs])
        inside = np.minimum(self.targets, nodes[0]) if nodes.size else self.targets
        count = (self.targets.size, nodes.size)
        weights = integral_weights(nodes, inside) if nodes.size else np.zeros(count)
        slopes = interpolation_weights(nodes, inside) if nodes.size else np.zeros(count)
        covariance = (weights * variances) @ weights.T
        # The deterministic parts of the error: the tail beyond the start, and the quadrature.
        fixed = START_SHARE * self.wanted * np.ones(self.targets.size) if nodes.size else tail
        rule = rule_error(self.outline.mean_df, nodes, inside) if nodes.size else 0.0
        covariance[np.diag_indices_from(covariance)] += np.minimum(fixed, tail) ** 2 + rule**2
        node_ln_c = np.zeros(0)
        if nodes.size:
            node_ln_c = tail.min() + integral_weights(nodes, nodes) @ means
        bridge, bridge_error, worries = self._bridge(rungs, nodes, node_ln_c, variances)
        rhat, ess = rungs_of.convergence(rungs)
        if any(rungs_of.unsettled(rung) for rung in rungs):
            worries = (*worries, worry.disagreeing_chains(rhat))
        failures = sum(int(chain.failures[1:].sum()) for rung in rungs for chain in rung.chains)
        return ComplexityPath(
            lams=self.kappas * self.sigma,
            ln_c=tail + weights @ means,
            std_error=np.sqrt(np.diag(covariance)),
            mean_df=slopes @ means,
            covariance=covariance,
            sigma=self.sigma,
            method="path",
            node_lams=np.exp(nodes) * self.sigma,
            node_ln_c=node_ln_c,
            bridge_ln_c=bridge,
            bridge_std_error=bridge_error,
            n_draws=sum(rung.n_draws for rung in rungs),
            ess=ess,
            rank_rhat=rhat,
            failures=failures,
            seed=self.seed,
            warnings=(*notes, *worries),
        )

    def _bridge(
        self, rungs: Sequence[Rung], nodes: Floats, node_ln_c: Floats, variances: Floats
    ) -> tuple[Floats | None, Floats | None, tuple[str, ...]]:
        """Bridge the same ladder and say where it contradicts the path or the identities."""
        if not rungs:
            return None, None, ()
        worries = []
        worst = max((abs(z) for rung in rungs for z in rung.checks), default=0.0)
        if worst > rungs_of.ALARM:
            worries.append(worry.broken_identity(worst))
        try:
            steps = bar_ladder(*rungs_of.neighbour_work(rungs))
        except NotConverged:
            return None, None, (*worries, worry.unchecked_path())
        start = node_ln_c[0]
        path_error = np.sqrt(integral_weights(nodes, nodes) ** 2 @ variances)
        bridge, bridge_error = start + steps.ln_ratio, steps.std_error
        # The quadrature is resolved to its share of the error wanted, the bridge needs none.
        spread = np.hypot(np.hypot(path_error, bridge_error), QUADRATURE_SHARE * self.wanted)
        gap = np.abs(bridge - node_ln_c) / np.where(spread > 0.0, spread, np.inf)
        overlaps = min(step.overlap for step in steps.steps)
        fewest = min(rung.n_draws for rung in rungs) / rungs_of.PROBE_EVERY
        alarm = rungs_of.ALARM * (1.0 + FEW_PROBES / fewest)
        if gap.max() > alarm and overlaps > MIN_OVERLAP:
            worries.append(worry.disagreeing_routes(float(gap.max())))
        return bridge, bridge_error, tuple(worries)
