"""What an unknown noise scale costs: ln I(kappa) of THEORY section 6, by sampling.

With sigma unknown and kappa = lam / sigma held fixed, the maximised density
max_sigma sigma^-N q_1(y / sigma) integrates over {sigma_hat in [a, b]} to ln(b / a) I(kappa).

What is computed. Write the ray through y as t y and h(t) = t^N q_1(t y) proportional to
exp(N ln t - E_kappa(t y)). Its maximum is at t = 1 / sigma_hat(y). In polar coordinates the
maximised density is max_t h, the law of y under q_1 puts integral of h d ln t on the direction of
y, and d ln sigma_hat = -d ln t along a ray; dividing the one by the other,

    I(kappa) = E_{q_1}[ max_t h(t) / integral of h(t) d ln t ].

That is THEORY's E[1 / w]: z = y / sigma_hat is one point of the ray, and any other gives the same
ratio. This "height" depends on the direction of y alone. The slope of E_kappa(t y) in ln t grows at
least like t and at most like t^2, so the height lies between (N/e)^N / Gamma(N) and the empty
model's, a factor below sqrt(2): few draws are needed. N is `design.n_dim`: directions outside the
reduced space enter E as half a chi-square, one draw a sample. lam2 stays along a ray (for
``l2_ratio`` see `complexity.scale_profile`).

As kappa grows, ln I rises smoothly to the empty model's, (N/2) ln(N/2e) + ln 2 - ln Gamma(N/2): a
polynomial through a few nodes gives it. Slow twin: quadrature (tests/oracle/test_noise_scale.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.blas import one_blas_thread
from shtarkov.complexity import ladder
from shtarkov.complexity import worries as worry
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.quadrature import chebyshev_nodes, interpolation_weights
from shtarkov.complexity.ray_chain import RayChain, empty_model_ln_i, relative_height
from shtarkov.complexity.result import ComplexityResult
from shtarkov.complexity.rung import FEW_EVENTS, Rung
from shtarkov.families.build import check_lams
from shtarkov.families.compiled import family_of
from shtarkov.progress import Progress, resolve_progress, tracked
from shtarkov.seeds import resolve_seed, rng_for
from shtarkov.settings import check_run
from shtarkov.types import Floats

# Nested rules, addressed on the finest: a refined rule keeps the nodes it has and their draws.
RULES = (1, 3, 5, 9, 17)
# A range of ln kappa this long or longer starts with five nodes, a shorter one with three.
LONG_RANGE = 1.0
# The empty model's value serves where ln C, hence about E[k], is below this share of the error.
START_SHARE = 1.0
# Draws per chain before any error is looked at.
PILOT = 10


@dataclass(frozen=True, slots=True, eq=False)
class ScalePath:
    """ln I at a list of kappas, with errors, in the order the kappas were given.

    Attributes
    ----------
    kappas, ln_i, std_error : lam / sigma; ln I in nats, and its standard error
    covariance : (L, L) of the errors: neighbouring kappas share draws
    node_kappas, node_ln_i, node_std_error : the sampled nodes
    n_dim : N, the dimension of the data after projection
    n_draws, ess, rank_rhat, failures, seed, warnings : as in `ComplexityResult`
    """

    kappas: Floats
    ln_i: Floats
    std_error: Floats
    covariance: Floats
    node_kappas: Floats
    node_ln_i: Floats
    node_std_error: Floats
    n_dim: int
    n_draws: int
    ess: float | None
    rank_rhat: float | None
    failures: int
    seed: int | None
    warnings: tuple[str, ...]


def scale_complexity(
    problem: Any,
    kappa: float,
    *,
    std_error: float = 0.02,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 200_000,
) -> ComplexityResult:
    """Estimate ln I(kappa), the cost of not knowing the noise scale, in nats.

    Parameters
    ----------
    problem : `Lasso`, `ElasticNet` (whose l2_ratio is then in units of the noise),
        `GroupLasso`, ...
    kappa : lam / sigma
    std_error : standard error wanted
    n_chains, n_jobs, seed, progress, max_draws : as for `complexity_path`
    """
    path = scale_complexity_path(
        problem,
        [kappa],
        std_error=std_error,
        n_chains=n_chains,
        n_jobs=n_jobs,
        seed=seed,
        progress=progress,
        max_draws=max_draws,
    )
    return ComplexityResult(
        ln_c=float(path.ln_i[0]),
        std_error=float(path.std_error[0]),
        method="noise_scale",
        n_draws=path.n_draws,
        ess=path.ess,
        rank_rhat=path.rank_rhat,
        failures=path.failures,
        seed=path.seed,
        warnings=path.warnings,
    )


def scale_complexity_path(
    problem: Any,
    kappas: ArrayLike,
    *,
    std_error: float = 0.03,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 200_000,
) -> ScalePath:
    """Estimate ln I at every kappa from a few sampled nodes.

    Parameters
    ----------
    problem, n_chains, n_jobs, seed, progress, max_draws : as for `scale_complexity`
    kappas : lam / sigma, in any order
    std_error : standard error wanted for every ln I, in nats
    """
    check_run(std_error=std_error, max_draws=max_draws, n_chains=n_chains, n_jobs=n_jobs)
    grid = check_lams(kappas)
    run = _ScaleRun(problem, grid.lams, std_error, resolve_seed(seed), n_chains, max_draws)
    with one_blas_thread(), tracked(resolve_progress(progress), 1, "ln I") as bar:
        return run.estimate(n_jobs, bar, grid.position)


class _ScaleRun:
    """One path: its nodes, their rungs by address, and how they become the result."""

    def __init__(
        self,
        problem: Any,
        kappas: Floats,
        std_error: float,
        seed: int,
        n_chains: int,
        max_draws: int,
    ) -> None:
        self.family, self.n_dim = family_of(problem, 1.0), int(problem.design.n_dim)
        self.kappas, self.wanted, self.seed = kappas, std_error, seed
        self.n_chains, self.max_draws = n_chains, max_draws
        self.rungs: dict[int, Rung] = {}
        self.outline = outline_of(self.family)

    def estimate(self, n_jobs: int | None, bar: Progress, position: Any) -> ScalePath:
        """Sample the nodes, refining the rule until the polynomial stops changing."""
        is_empty = self.outline.is_empty
        start = 0.0 if is_empty else self.outline.start(START_SHARE * self.wanted)
        inside = self.kappas < start
        targets = np.log(self.kappas[inside])
        if not targets.size:
            return self._result(np.zeros(0), np.zeros((0, 0)), inside, position, ())
        low, high = float(targets.min()), float(targets.max())
        rule = 0 if low == high else (1 if high - low < LONG_RANGE else 2)
        while True:
            nodes = chebyshev_nodes(low, high, RULES[rule]) if rule else targets[:1]
            weights = interpolation_weights(nodes, targets) if rule else np.ones((1, 1))
            self._sample(nodes, weights, n_jobs, bar)
            change = self._unresolved(nodes, targets)
            if change <= self.wanted or rule == len(RULES) - 1:
                break
            rule += 1
        notes = () if change <= self.wanted else (worry.coarse_rule(change, "interpolation"),)
        return self._result(nodes, weights, inside, position, notes)

    def _sample(self, nodes: Floats, weights: Floats, n_jobs: int | None, bar: Progress) -> None:
        """Draw until every interpolated ln I is within the wanted error."""
        rungs = self._rungs(nodes)
        draws = [0 if rung.n_draws else PILOT for rung in rungs]
        for _ in range(ladder.MAX_ROUNDS):
            ladder.extend(rungs, draws, n_jobs, bar)
            for rung, n_new in zip(rungs, draws, strict=True):
                if n_new:
                    self._refresh(rung)
            scaled = weights / np.array([rung.mean for rung in rungs])  # error of ln = error / mean
            if ladder.functional_error(rungs, scaled).max() <= self.wanted:
                return
            draws = ladder.next_draws(rungs, scaled, self.wanted)
            left = [self.max_draws - rung.chains[0].n_draws for rung in rungs]
            draws = [max(0, min(step, room)) for step, room in zip(draws, left, strict=True)]
            if not any(draws):
                return

    def _rungs(self, nodes: Floats) -> list[Rung]:
        """Give the rungs at the nodes; a node's chains start the first time it is asked for."""
        spacing = (RULES[-1] - 1) // max(nodes.size - 1, 1)
        expected = self.outline.mean_df(nodes) if nodes.size else nodes
        for index, (kappa, count) in enumerate(zip(np.exp(nodes), expected, strict=True)):
            address = index * spacing
            if address in self.rungs:
                continue
            family = self.family._replace(lam=float(kappa))
            chains: list[Any] = [
                RayChain(family, rng_for(self.seed, address, chain), self.n_dim)
                for chain in range(self.n_chains)
            ]
            self.rungs[address] = Rung(chains, float(count))
        return [self.rungs[index * spacing] for index in range(nodes.size)]

    def _refresh(self, rung: Rung) -> None:
        """Estimate the mean height; where little was seen, with the error a rare event leaves.

        An active column lowers a height by about 1 / 4N of it (its |beta_j| kappa / sigma is
        exponential with mean one), so an unseen share of E[k] / draws is known to that precision.
        """
        expected = rung.expected
        rung.expected = np.inf  # the ladder's own floor is for counts
        rung.refresh(relative_height)  # type: ignore[arg-type]
        rung.expected = expected
        if expected * rung.n_draws < FEW_EVENTS:
            floor = 2.0 * expected / rung.n_draws / (4.0 * self.n_dim) ** 2
            rung.variance = max(rung.variance, floor)

    def _estimates(self, nodes: Floats) -> tuple[Floats, Floats]:
        """Give ln I and its variance at the nodes."""
        rungs = self._rungs(nodes)
        means = np.array([rung.mean for rung in rungs])
        variances = np.array([rung.variance for rung in rungs]) / means**2
        return empty_model_ln_i(self.n_dim) + np.log(means), variances

    def _unresolved(self, nodes: Floats, targets: Floats) -> float:
        """Give the change between this rule and the nested one, less what noise explains.

        Like `quadrature.unresolved_part`: the finer rule's error is far below the change itself.
        """
        if nodes.size < RULES[1]:
            return 0.0
        values, variances = self._estimates(nodes)
        change = interpolation_weights(nodes, targets)
        change[:, ::2] -= interpolation_weights(nodes[::2], targets)
        excess = np.abs(change @ values) - 3.0 * np.sqrt(change**2 @ variances)
        return 0.3 * float(np.max(np.maximum(excess, 0.0)))

    def _result(
        self, nodes: Floats, weights: Floats, inside: Any, position: Any, notes: tuple[str, ...]
    ) -> ScalePath:
        """Put sampled and exact values together, in the caller's order."""
        values, variances = self._estimates(nodes)
        ln_i = np.full(self.kappas.size, empty_model_ln_i(self.n_dim))
        covariance = np.zeros((ln_i.size, ln_i.size))
        if nodes.size:
            ln_i[inside] = weights @ values
            covariance[np.ix_(inside, inside)] = (weights * variances) @ weights.T
        # Beyond the start at most this share of draws has an active column (see _refresh).
        at_start = START_SHARE * self.wanted / (4.0 * self.n_dim)
        covariance[np.diag_indices_from(covariance)] += at_start**2
        rungs = self._rungs(nodes)
        rhat, ess = ladder.convergence(rungs)
        error = np.sqrt(np.diag(covariance))
        # Heights forget so fast that a few draws count as many: R-hat goes by their number.
        shortest = min((c.n_draws for rung in rungs for c in rung.chains), default=0)
        if ladder.unconverged(rhat, None if ess is None else min(ess, shortest)):
            notes = (*notes, worry.disagreeing_chains(rhat, "node"))
        if error.max() > 1.05 * self.wanted:
            notes = (*notes, "the error asked for was not reached: raise max_draws")
        return ScalePath(
            kappas=self.kappas[position],
            ln_i=ln_i[position],
            std_error=error[position],
            covariance=covariance[np.ix_(position, position)],
            node_kappas=np.exp(nodes),
            node_ln_i=values,
            node_std_error=np.sqrt(variances),
            n_dim=self.n_dim,
            n_draws=sum(rung.n_draws for rung in rungs),
            ess=ess,
            rank_rhat=rhat,
            failures=sum(int(c.failures[1:].sum()) for rung in rungs for c in rung.chains),
            seed=self.seed if nodes.size else None,
            warnings=notes,
        )
