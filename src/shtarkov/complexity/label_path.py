"""ln C of labels along the penalty, by the derivative identity from lam = infinity.

-d ln C / d lam = eta E|w|_1 at fixed eta (THEORY section 5), and for a large penalty w = 0:
C = sum over y of exp(-eta E_inf(y)), which is 2^N exp(-eta N loss(0)), or with an intercept a
binomial sum. The ladder's means of eta lam |w|_1, at Chebyshev nodes in ln lam, are integrated;
Bennett ratios between neighbouring nodes give the same numbers without quadrature and check them.
Slow twin: `complexity.label_enumeration`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from shtarkov.complexity.bridge import Ladder, bar_ladder
from shtarkov.complexity.label_base import base_labels, ln_c_without_columns
from shtarkov.complexity.label_rung import (
    MAX_ROUNDS,
    TOLERATED,
    LabelRung,
    convergence,
    draw,
    make_rung,
    mixing_warnings,
    neyman_counts,
    squared_error,
)
from shtarkov.complexity.quadrature import chebyshev_nodes, integral_weights, unresolved_part
from shtarkov.errors import NotConverged, raise_for_status
from shtarkov.families.build import check_lams
from shtarkov.families.label_family import LabelFamily, new_label_work
from shtarkov.families.label_problems import LabelProblem, stated_eta
from shtarkov.families.sparse_svm import label_family, label_lam_max, largest_lam_max
from shtarkov.progress import Progress, resolve_progress, tracked
from shtarkov.sampling.label_loop import ENVELOPE, N_POSITIVE, evaluate_labels
from shtarkov.seeds import resolve_seed, rng_for
from shtarkov.types import Floats

NODE_COUNTS = (9, 17, 33)
PILOT = 60
# Labels drawn at lam = infinity, to find where columns begin to enter.
BASE_DRAWS = 2000
# The path starts at this multiple of the largest entry among them.
ABOVE_LARGEST = 1.05
ALARM = 4.5
# Labels solved at the neighbouring nodes, for the bridge: at most this many of each chain.
PROBES = 200
BASE_INDEX = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class LabelPath:
    """ln C of labels at a list of penalties and one eta, in the order the penalties were given.

    Attributes
    ----------
    lams, eta : the penalties and the weight of the objective
    ln_c, std_error : ln C and its standard error, in nats
    covariance : (L, L) of the errors
    node_lams, node_slopes : the sampled ladder and its means of eta lam |w|_1
    bridge_ln_c, bridge_std_error : ln C at the nodes from Bennett ratios; None without a ladder
    n_draws, ess, rank_rhat, failures, seed, warnings : as in `ComplexityResult`
    """

    lams: Floats
    eta: float
    ln_c: Floats
    std_error: Floats
    covariance: Floats
    node_lams: Floats
    node_slopes: Floats
    bridge_ln_c: Floats | None
    bridge_std_error: Floats | None
    n_draws: int
    ess: float | None
    rank_rhat: float | None
    failures: int
    seed: int
    warnings: tuple[str, ...]


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
) -> LabelPath:
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
    with threadpool_limits(1), tracked(resolve_progress(progress), 1, "ln C of labels") as bar:
        path = run.estimate(n_jobs, bar)
    where = grid.position
    return replace(
        path,
        lams=grid.lams[where],
        ln_c=path.ln_c[where],
        std_error=path.std_error[where],
        covariance=path.covariance[np.ix_(where, where)],
    )


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

    def estimate(self, n_jobs: int | None, bar: Progress) -> LabelPath:
        """Sample the ladder and integrate it; refine it while the integrand is not resolved."""
        start = self._start()
        low = float(np.log(self.lams.min()))
        if start <= 0.0 or low >= math.log(start):
            nothing = np.zeros(self.lams.size)
            return self._result([], np.zeros(0), np.zeros((self.lams.size, 0)), nothing, ())
        inside = np.minimum(np.log(self.lams), math.log(start))
        notes: tuple[str, ...] = ()
        for count in NODE_COUNTS:
            nodes = chebyshev_nodes(low, math.log(start), count)
            weights = integral_weights(nodes, inside)
            rungs = self._sample(nodes, weights, n_jobs, bar)
            means, variances = _slopes(rungs)
            unresolved = unresolved_part(nodes, inside, means, variances)
            if unresolved <= 0.3 * self.wanted:
                break
        else:
            notes = (f"the quadrature may be off by {unresolved:.2g} nats",)
        return self._result(rungs, nodes, weights, np.full(self.lams.size, unresolved), notes)

    def _start(self) -> float:
        """Find a penalty above which next to no labels let a column enter."""
        rng = rng_for(self.seed, BASE_INDEX, 0)
        labels = base_labels(self.problem, self.eta, BASE_DRAWS, rng)
        entries = [label_lam_max(self.problem, signs) for signs in labels]
        return min(ABOVE_LARGEST * max(entries), largest_lam_max(self.problem))

    def _sample(
        self, nodes: Floats, weights: Floats, n_jobs: int | None, bar: Progress
    ) -> list[LabelRung]:
        """Draw on the ladder until every ln C is within the wanted error."""
        rungs: list[LabelRung] = []
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
            if errors[worst] <= TOLERATED * self.wanted:
                break
            parts = weights[worst] ** 2 * variances
            counts = neyman_counts(rungs, parts, self.wanted, self.max_draws)
            if not any(counts):
                break
            draw(rungs, counts, n_jobs, bar)
        return rungs

    def _result(
        self,
        rungs: list[LabelRung],
        nodes: Floats,
        weights: Floats,
        unresolved: Floats,
        notes: tuple[str, ...],
    ) -> LabelPath:
        """Assemble ln C, its error and its checks."""
        means, variances = _slopes(rungs)
        covariance = (weights * variances) @ weights.T
        covariance[np.diag_indices_from(covariance)] += unresolved**2
        rhat, ess = convergence(rungs)
        worries = (*notes, *mixing_warnings(rhat, ess), *symmetry_warnings(rungs))
        bridge = self._bridge(rungs) if rungs else None
        if bridge is not None:
            worries = (*worries, *_disagreement(nodes, means, variances, bridge))
        error = np.sqrt(np.diag(covariance))
        if error.size and error.max() > 1.3 * self.wanted:
            worries = (*worries, "the error asked for was not reached: raise max_draws")
        return LabelPath(
            lams=self.lams,
            eta=self.eta,
            ln_c=self.base + weights @ means,
            std_error=error,
            covariance=covariance,
            node_lams=np.exp(nodes),
            node_slopes=means,
            bridge_ln_c=None if bridge is None else self.base + bridge.ln_ratio,
            bridge_std_error=None if bridge is None else bridge.std_error,
            n_draws=sum(chain.n_draws for rung in rungs for chain in rung.chains),
            ess=ess,
            rank_rhat=rhat,
            failures=sum(rung.failures for rung in rungs),
            seed=self.seed,
            warnings=worries,
        )

    def _bridge(self, rungs: list[LabelRung]) -> Ladder | None:
        """Bridge the same ladder: the recorded labels are solved at the neighbouring penalties."""
        families = [label_family(self.problem, rung.lam) for rung in rungs]
        forward = [
            self.eta * _work(rung, family)
            for rung, family in zip(rungs, families[1:], strict=False)
        ]
        reverse = [
            self.eta * _work(rung, family)
            for rung, family in zip(rungs[1:], families, strict=False)
        ]
        try:
            return bar_ladder(forward, reverse)
        except NotConverged:
            return None


def _slopes(rungs: list[LabelRung]) -> tuple[Floats, Floats]:
    """Give the mean of eta lam |w|_1 at every rung and its squared error."""
    series = [rung.eta * rung.lam * rung.norm for rung in rungs]
    means = np.array([float(item.mean()) for item in series])
    return means, np.array([squared_error(item) for item in series])


def symmetry_warnings(rungs: list[LabelRung]) -> tuple[str, ...]:
    """Say so if the labels are not balanced: y and -y have the same weight."""
    worst = 0.0
    for rung in rungs:
        excess = rung.column(N_POSITIVE) - 0.5 * rung.chains[0].state.y.size
        error = math.sqrt(squared_error(excess))
        if 0.0 < error < np.inf:
            worst = max(worst, abs(float(excess.mean())) / error)
    if worst > ALARM:
        return (f"labels are {worst:.1f} standard errors from balance: run longer chains",)
    return ()


def _work(rung: LabelRung, family: LabelFamily) -> Floats:
    """Give the change of the objective from the rung's penalty to the family's, (chain, draw)."""
    stride = max(1, math.ceil(rung.n_draws / PROBES))
    changes = []
    for chain in rung.chains:
        labels = np.concatenate([segment.labels for segment in chain.segments])[: rung.n_draws]
        kept = np.ascontiguousarray(labels[::stride])
        values = np.zeros(kept.shape[0])
        work = new_label_work(family, chain.state.work.active.size)
        raise_for_status(evaluate_labels(family, kept, work, values), "bridging penalties")
        changes.append(values - chain.column(ENVELOPE)[: rung.n_draws : stride])
    return np.stack(changes)


def _disagreement(
    nodes: Floats, means: Floats, variances: Floats, bridge: Ladder
) -> tuple[str, ...]:
    """Say so if path and bridge differ by more than their errors."""
    weights = integral_weights(nodes, nodes)
    gap = np.abs(weights @ means - bridge.ln_ratio)[1:]
    spread = np.sqrt(weights**2 @ variances + bridge.std_error**2)[1:]
    worst = float(np.max(gap / np.where(spread > 0.0, spread, np.inf), initial=0.0))
    return (f"path and bridge differ by {worst:.1f} standard errors",) if worst > ALARM else ()
