"""ln C of labels along the penalty, by the derivative identity from lam = infinity.

-d ln C / d lam = eta E|w|_1 at fixed eta (THEORY section 5), and for a large penalty w = 0:
C = sum over y of exp(-eta E_inf(y)), which is 2^N exp(-eta N loss(0)), or with an intercept a
binomial sum. The ladder's means of eta lam |w|_1, at Chebyshev nodes in ln lam, are integrated;
Bennett ratios between neighbouring nodes give the same numbers without quadrature and check them.
Slow twin: `complexity.label_enumeration`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.blas import one_blas_thread
from shtarkov.complexity import worries as worry
from shtarkov.complexity.label_base import base_labels, ln_c_without_columns
from shtarkov.complexity.label_bridge import bridge_rungs, disagreement, symmetry_warnings
from shtarkov.complexity.label_rung import (
    MAX_ROUNDS,
    TOLERATED,
    LabelRung,
    convergence,
    draw,
    make_rung,
    missing_draws,
    mixing_warnings,
    neyman_counts,
    squared_error,
)
from shtarkov.complexity.ladder import INTERRUPTED, UNREACHED
from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.complexity.quadrature import (
    chebyshev_nodes,
    integral_weights,
    interpolation_weights,
    unresolved_part,
)
from shtarkov.families.build import check_lams
from shtarkov.families.label_problems import LabelProblem, refuse_sigma, stated_eta
from shtarkov.families.sparse_svm import label_family, label_lam_max, largest_lam_max
from shtarkov.progress import METER_UNITS, Meter, Progress, resolve_progress, tracked
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.seeds import resolve_seed, rng_for
from shtarkov.types import Floats

NODE_COUNTS = (9, 17, 33)
PILOT = 60
# Labels drawn at lam = infinity, to find where columns begin to enter.
BASE_DRAWS = 2000
# The path starts at this multiple of the largest entry among them.
ABOVE_LARGEST = 1.05
BASE_INDEX = 10_000


def label_path(
    problem: LabelProblem,
    lams: ArrayLike,
    *,
    eta: float | None = None,
    std_error: float = 0.05,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 50_000,
) -> ComplexityPath:
    """Estimate ln C at every penalty of a path, with tau = lam.

    Parameters
    ----------
    problem : `SparseSVM` or `SparseLogistic`
    lams : penalties in any order
    eta : weight of the objective; the problem's own unless given
    std_error : standard error wanted for every ln C, in nats
    n_chains, n_jobs, seed, progress, max_draws : as for `complexity_path`
    """
    grid = check_lams(lams)
    weight = stated_eta(problem, eta)
    run = _PathRun(problem, grid.lams, weight, std_error, resolve_seed(seed), n_chains, max_draws)
    with (
        InterruptWatch(),
        one_blas_thread(),
        tracked(resolve_progress(progress), METER_UNITS, "ln C of labels") as bar,
    ):
        path = run.estimate(n_jobs, Meter(bar))
    where = grid.position
    return replace(
        path,
        lams=grid.lams[where],
        ln_c=path.ln_c[where],
        std_error=path.std_error[where],
        mean_df=path.mean_df[where],
        covariance=path.covariance[np.ix_(where, where)],
    )


def label_penalty_path(
    problem: LabelProblem, lams: ArrayLike, *, sigma: float, **options: Any
) -> ComplexityPath:
    """Do the work of `complexity_path` for labels."""
    refuse_sigma(sigma)
    return label_path(problem, lams, **options)


class _PathRun:
    """One path: its ladder, the functionals wanted, and how they become the result."""

    def __init__(
        self,
        problem: LabelProblem,
        lams: Floats,
        eta: float,
        std_error: float,
        seed: int,
        n_chains: int,
        max_draws: int,
    ) -> None:
        self.problem, self.lams, self.eta = problem, lams, eta
        self.wanted, self.seed = std_error, seed
        self.n_chains, self.max_draws = n_chains, max_draws
        self.base = ln_c_without_columns(problem, eta)

    def estimate(self, n_jobs: int | None, bar: Meter) -> ComplexityPath:
        """Sample the ladder and integrate it; refine it while the integrand is not resolved."""
        start = self._start()
        low = float(np.log(self.lams.min()))
        if start <= 0.0 or low >= math.log(start):  # no labels let a column enter
            nothing = np.zeros(self.lams.size)
            return self._result([], np.zeros(0), np.zeros((self.lams.size, 0)), nothing, ())
        inside = np.minimum(np.log(self.lams), math.log(start))
        notes: tuple[str, ...] = ()
        for count in NODE_COUNTS:
            nodes = chebyshev_nodes(low, math.log(start), count)
            weights = integral_weights(nodes, inside)
            rungs, stopped = self._sample(nodes, weights, n_jobs, bar)
            means, variances = _slopes(rungs)
            unresolved = unresolved_part(nodes, inside, means, variances)
            if stopped:
                notes = (stopped,)
                break
            if unresolved <= 0.3 * self.wanted:
                break
        else:
            notes = (worry.coarse_rule(unresolved),)
        return self._result(rungs, nodes, weights, np.full(self.lams.size, unresolved), notes)

    def _start(self) -> float:
        """Find a penalty above which next to no labels let a column enter."""
        rng = rng_for(self.seed, BASE_INDEX, 0)
        labels = base_labels(self.problem, self.eta, BASE_DRAWS, rng)
        entries = [label_lam_max(self.problem, signs) for signs in labels]
        return min(ABOVE_LARGEST * max(entries), largest_lam_max(self.problem))

    def _sample(
        self, nodes: Floats, weights: Floats, n_jobs: int | None, bar: Meter
    ) -> tuple[list[LabelRung], str]:
        """Draw on the ladder until every ln C is within the wanted error, or Ctrl-C says to stop.

        Gives what stopped it as well. Ctrl-C before every rung has its pilot draws is raised.
        """
        rungs: list[LabelRung] = []
        bar.plan(2 * PILOT * nodes.size * self.n_chains)
        for index, lam in enumerate(np.exp(nodes)):
            rung = make_rung(
                label_family(self.problem, float(lam)),
                self.eta,
                float(lam),
                seed=self.seed,
                index=index,
                n_chains=self.n_chains,
                start=rungs[-1] if rungs else None,
                keep_labels=True,
            )
            draw([rung], [PILOT], n_jobs, bar)
            rungs.append(rung)
        for _ in range(MAX_ROUNDS):
            _, variances = _slopes(rungs)
            errors = np.sqrt(weights**2 @ variances)
            worst = int(np.argmax(errors))
            counts = [missing_draws(rung, self.max_draws) for rung in rungs]
            if errors[worst] > TOLERATED * self.wanted:
                parts = weights[worst] ** 2 * variances
                shares = neyman_counts(rungs, parts, self.wanted, self.max_draws)
                counts = [max(pair) for pair in zip(counts, shares, strict=True)]
            if not any(counts):
                break
            bar.plan(sum(counts) * self.n_chains, std_error=float(errors[worst]))
            try:
                draw(rungs, counts, n_jobs, bar)
            except KeyboardInterrupt:
                return rungs, INTERRUPTED
        return rungs, ""

    def _result(
        self,
        rungs: list[LabelRung],
        nodes: Floats,
        weights: Floats,
        unresolved: Floats,
        notes: tuple[str, ...],
    ) -> ComplexityPath:
        """Assemble ln C, its error and its checks."""
        means, variances = _slopes(rungs)
        covariance = (weights * variances) @ weights.T
        covariance[np.diag_indices_from(covariance)] += unresolved**2
        rhat, ess = convergence(rungs)
        worries = (*notes, *mixing_warnings(rhat, ess), *symmetry_warnings(rungs))
        bridge = bridge_rungs(self.problem, rungs)
        if bridge is not None:
            worries = (*worries, *disagreement(nodes, means, variances, bridge))
        elif rungs:
            worries = (*worries, worry.unchecked_path())
        error = np.sqrt(np.diag(covariance))
        if error.size and error.max() > 1.3 * self.wanted:
            worries = (*worries, UNREACHED)
        return ComplexityPath(
            lams=self.lams,
            ln_c=self.base + weights @ means,
            std_error=error,
            mean_df=self._slopes_at_lams(nodes, means),
            covariance=covariance,
            sigma=1.0,
            method="path",
            node_lams=np.exp(nodes),
            node_ln_c=self.base + (integral_weights(nodes, nodes) @ means if rungs else means),
            bridge_ln_c=None if bridge is None else self.base + bridge.ln_ratio,
            bridge_std_error=None if bridge is None else bridge.std_error,
            n_draws=sum(chain.n_draws for rung in rungs for chain in rung.chains),
            ess=ess,
            rank_rhat=rhat,
            failures=sum(rung.failures for rung in rungs),
            seed=self.seed,
            warnings=worries,
        )

    def _slopes_at_lams(self, nodes: Floats, means: Floats) -> Floats:
        """Give eta lam E|w|_1 at the penalties asked for; zero where no column enters."""
        if nodes.size == 0:
            return np.zeros(self.lams.size)
        logs = np.log(self.lams)
        inside = interpolation_weights(nodes, np.minimum(logs, nodes[0])) @ means
        return np.where(logs <= nodes[0], inside, 0.0)


def _slopes(rungs: list[LabelRung]) -> tuple[Floats, Floats]:
    """Give the mean of eta lam |w|_1 at every rung and its squared error."""
    series = [rung.eta * rung.lam * rung.norm for rung in rungs]
    means = np.array([float(item.mean()) for item in series])
    return means, np.array([squared_error(item) for item in series])
