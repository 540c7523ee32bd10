"""Chains of labels at one law of a ladder, and ladders drawn on until an error is small enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shtarkov.complexity import worries as worry
from shtarkov.complexity.threads import advance_chains
from shtarkov.diagnostics.convergence import State, effective_size, mean_error, summarise
from shtarkov.families.label_family import LabelFamily
from shtarkov.progress import Progress
from shtarkov.sampling.label_chain import LabelChain
from shtarkov.sampling.label_loop import ENVELOPE, NORM_COLUMN
from shtarkov.seeds import rng_for
from shtarkov.types import Floats

# Moves thrown away at the start of a chain; those that take over a neighbour's labels need fewer.
WARM_UP = 300
ANNEALED_WARM_UP = 150
# Draws grow by at most this factor a round: early error estimates are themselves noisy.
MAX_GROWTH = 5.0
MAX_ROUNDS = 10
# R-hat of independent short chains exceeds one by about the inverse of their effective size.
MAX_RHAT = 1.01
RHAT_NOISE = 12.0
# Effective draws below which no error can be trusted.
LEAST_SIZE = 25.0
TOLERATED = 1.05


@dataclass(frozen=True, slots=True, eq=False)
class LabelRung:
    """One law exp(-eta (F + tau |w|_1)) at penalty lam, F the loss with its ridge.

    Attributes
    ----------
    lam, eta, tau : the law
    chains : independent chains
    """

    lam: float
    eta: float
    tau: float
    chains: tuple[LabelChain, ...]

    @property
    def n_draws(self) -> int:
        """Draws of each chain."""
        return min(chain.n_draws for chain in self.chains)

    @property
    def seconds_per_draw(self) -> float:
        """Measured cost of one draw of every chain."""
        return sum(chain.seconds for chain in self.chains) / max(self.n_draws, 1)

    def column(self, index: int) -> Floats:
        """Give (chain, draw) of one observable."""
        n_draws = self.n_draws
        return np.stack([chain.column(index)[:n_draws] for chain in self.chains])

    @property
    def norm(self) -> Floats:
        """(chain, draw) of |w|_1."""
        return self.column(NORM_COLUMN)

    @property
    def fit(self) -> Floats:
        """(chain, draw) of the loss with its ridge: the objective without the norm's part."""
        return self.column(ENVELOPE) - self.lam * self.norm

    @property
    def energy(self) -> Floats:
        """(chain, draw) of the law's own energy."""
        return self.eta * (self.fit + self.tau * self.norm)

    @property
    def failures(self) -> int:
        """Moves that failed and were counted."""
        return sum(int(chain.failures[1:].sum()) for chain in self.chains)


def make_rung(
    family: LabelFamily,
    eta: float,
    tau: float,
    *,
    seed: int,
    index: int,
    n_chains: int,
    start: LabelRung | None = None,
    keep_labels: bool = False,
    n_positive: int | None = None,
    most_moves: int | None = None,
) -> LabelRung:
    """Start the chains of one rung, from a neighbour's labels if it is given.

    With `n_positive` they keep to labelings with as many positive labels; `most_moves` bounds the
    moves between draws.
    """
    chains = tuple(
        LabelChain(
            family,
            eta,
            tau,
            rng_for(seed, index, chain),
            scan="blocks" if n_positive is None else "pairs",
            keep_labels=keep_labels,
            n_positive=n_positive,
            most_moves=most_moves,
            start=None if start is None else start.chains[chain],
            thin=1 if eta == 0.0 else None,
        )
        for chain in range(n_chains)
    )
    return LabelRung(float(family.lam), eta, tau, chains)


def draw(
    rungs: Sequence[LabelRung], counts: Sequence[int], n_jobs: int | None, bar: Progress
) -> None:
    """Make `counts` draws on every chain of the rungs."""
    tasks = [
        (chain, count)
        for rung, count in zip(rungs, counts, strict=True)
        if count > 0
        for chain in rung.chains
    ]
    warm_up = WARM_UP if len(rungs) > 1 else ANNEALED_WARM_UP
    advance_chains(tasks, warm_up, 1, n_jobs, bar)


def neyman_counts(
    rungs: Sequence[LabelRung], variances: Floats, wanted: float, max_draws: int
) -> list[int]:
    """Share out draws that should bring sqrt(sum of `variances`) to `wanted`.

    `variances` are the rungs' parts of the squared error, each falling as one over its draws.
    """
    draws = np.array([rung.n_draws for rung in rungs], dtype=float)
    per_draw = np.maximum(variances, 0.0) * draws
    cost = np.maximum([rung.seconds_per_draw for rung in rungs], 1e-9)
    scale = float(np.sum(np.sqrt(per_draw * cost)))
    total = 1.1 * np.sqrt(per_draw / cost) * scale / wanted**2
    total = np.minimum(np.minimum(total, MAX_GROWTH * draws), max_draws)
    return [int(step) for step in np.ceil(np.maximum(total - draws, 0.0))]


def missing_draws(rung: LabelRung, max_draws: int) -> int:
    """Give how many more draws of each chain its rung needs before its errors can be trusted."""
    size = convergence([rung])[1]
    if size is None or size >= LEAST_SIZE:
        return 0
    wanted = math.ceil(min(1.2 * LEAST_SIZE / size, MAX_GROWTH) * rung.n_draws)
    return max(0, min(wanted, max_draws) - rung.n_draws)


def squared_error(series: Floats) -> float:
    """Give the squared Monte Carlo error of the mean of (chain, draw)."""
    return mean_error(series) ** 2


def memory(series: Floats) -> float:
    """Give the integrated autocorrelation time of (chain, draw), in draws; at least one."""
    size = effective_size(series)
    return 1.0 if size is None else max(1.0, series.size / size)


def convergence(rungs: Sequence[LabelRung]) -> tuple[float | None, float | None]:
    """Give the largest rank R-hat and the smallest bulk ESS of the objective over the rungs."""
    summaries = [summarise(rung.column(ENVELOPE)) for rung in rungs]
    moved = [item for item in summaries if item.state is State.OK]
    rhats = [item.rank_rhat for item in moved if item.rank_rhat is not None]
    sizes = [item.ess_bulk for item in moved if item.ess_bulk is not None]
    return max(rhats, default=None), min(sizes, default=None)


def mixing_warnings(rhat: float | None, ess: float | None) -> tuple[str, ...]:
    """Say so if chains are too short, or disagree by more than their lengths explain."""
    if ess is not None and ess < LEAST_SIZE:
        return (worry.few_draws(ess),)
    if rhat is not None and ess is not None and rhat > MAX_RHAT + RHAT_NOISE / ess:
        return (worry.disagreeing_chains(rhat),)
    return ()
