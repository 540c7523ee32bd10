"""ln C of labels at one penalty by bridges from eta = 0, where it is N ln 2.

At a fixed penalty the laws exp(-a F - b |w|_1), a = eta and b = eta tau, differ only in the weights
of two numbers that every draw carries: no labels need to be solved again to move between laws. A
ladder of laws from the flat one to the wanted one, each within reach of the last, is sampled by
replica exchange, and all draws are combined by MBAR; the same draws give ln C at every law near the
ladder. Slow twin: `complexity.label_enumeration`; independent check:
`complexity.label_path`.

With `n_positive` the sum is over labelings with that many positive labels only, and the flat law's
ln C is ln binom(N, n_positive).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov.complexity.label_base import log_counts
from shtarkov.complexity.label_law import Goal, Law, Moments, between, distance, longest_share
from shtarkov.complexity.label_rung import (
    LEAST_SIZE,
    MAX_GROWTH,
    MAX_ROUNDS,
    TOLERATED,
    LabelRung,
    convergence,
    draw,
    make_rung,
    memory,
    mixing_warnings,
)
from shtarkov.complexity.mbar import MultiState, block_labels, mbar
from shtarkov.complexity.threads import advance_chains
from shtarkov.families.label_family import LabelFamily
from shtarkov.progress import Meter, Progress
from shtarkov.sampling.label_tower import LabelTower
from shtarkov.seeds import rng_for
from shtarkov.types import Floats, Ints

# Standard deviation of the change of energy between neighbouring laws: Bennett's ratio is near its
# cheapest between one and two.
REACH = 1.5
# A law this close, in the same unit, is read off by reweighting.
CLOSE = 0.3
PILOT = 30
# Moves between two draws: few, since it is the trades that bring fresh labels up the ladder.
MOST_MOVES = 6
LARGEST_LADDER = 60
# Neighbours that trade less often than this get a law between them.
LEAST_TRADES = 0.15
MAX_INSERTIONS = 6
FIRST_DRAWS = 100
# Blocks of draws are this many memories long, and of this number a chain.
MEMORIES = 5.0
LEAST_BLOCKS, MOST_BLOCKS = 4, 25
TRADES_INDEX = 20_000


class LabelLadder:
    """Sampled laws at one penalty, the first of them flat.

    Parameters
    ----------
    family : the compiled family at its penalty
    seed, first_index : chains are addressed by (seed, first_index + rung, chain)
    n_chains : independent chains of every rung
    bar : told of draws; a meter, the bar of this ladder alone, is told how many are left as well
    n_positive : keep to labelings with this many positive labels
    """

    def __init__(
        self,
        family: LabelFamily,
        *,
        seed: int,
        n_chains: int,
        n_jobs: int | None,
        bar: Progress,
        n_positive: int | None = None,
        first_index: int = 0,
    ) -> None:
        self.family, self.seed, self.n_chains = family, seed, n_chains
        self.n_jobs, self.bar, self.n_positive = n_jobs, bar, n_positive
        self.next_index = first_index
        self.rungs: list[LabelRung] = []
        self.towers: list[LabelTower] = []
        n = family.Xt.shape[1]
        counted = n_positive is not None
        self.base = float(log_counts(n)[n_positive]) if counted else n * math.log(2.0)
        self._add(Law(0.0, 0.0), 0)

    @property
    def lam(self) -> float:
        """The penalty."""
        return float(self.family.lam)

    def _add(self, law: Law, place: int) -> None:
        """Put a law at a place of the ladder, from the labels of the one before; pilot draws."""
        start = self.rungs[place - 1] if place > 0 else None
        rung = make_rung(
            self.family,
            law.a,
            law.tau,
            seed=self.seed,
            index=self.next_index,
            n_chains=self.n_chains,
            start=start,
            n_positive=self.n_positive,
            most_moves=MOST_MOVES,
        )
        draw([rung], [PILOT], self.n_jobs, self.bar)
        self.next_index += 1
        self.rungs.insert(place, rung)
        self.towers = []

    def climb(self, goal: Goal) -> None:
        """Add laws, each within reach of the last, until the goal is close.

        Steps are also short beside eta and tau themselves: before labels order, or columns enter,
        which may happen at once, the spread says nothing of what follows.
        """
        for _ in range(LARGEST_LADDER):
            here = law_of(self.rungs[-1])
            moments = _moments(self.rungs[-1])
            wanted = goal(here, moments)
            spread = distance(here, wanted, moments)
            share = min(1.0 if spread <= REACH else REACH / spread, longest_share(here, wanted))
            if spread <= CLOSE and share == 1.0 and len(self.rungs) > 1:
                return
            self._add(between(here, wanted, share), len(self.rungs))

    def reaches(self, law: Law) -> bool:
        """Whether some rung is close enough to a law for its draws to speak of it."""
        return any(
            distance(law_of(rung), law, _moments(rung)) <= REACH
            and longest_share(law_of(rung), law) >= 1.0
            for rung in self.rungs
        )

    def settle(self) -> None:
        """Join the chains into towers, let them trade, and put laws where trades are rare."""
        for _ in range(MAX_INSERTIONS + 1):
            self._join()
            advance_chains([(tower, 0) for tower in self.towers], PILOT, 1, self.n_jobs, self.bar)
            rare = np.flatnonzero(self._acceptance() < LEAST_TRADES)
            if rare.size == 0 or len(self.rungs) + rare.size > LARGEST_LADDER:
                break
            for place in rare[::-1]:
                below, above = law_of(self.rungs[place]), law_of(self.rungs[place + 1])
                self._add(between(below, above, 0.5), int(place) + 1)
        if not self.towers:
            self._join()

    def _join(self) -> None:
        """Make towers of the rungs' chains; what they drew apart is thrown away."""
        for rung in self.rungs:
            for chain in rung.chains:
                chain.segments.clear()
        self.towers = [
            LabelTower(
                [rung.chains[chain] for rung in self.rungs],
                rng_for(self.seed, TRADES_INDEX + self.next_index, chain),
            )
            for chain in range(self.n_chains)
        ]

    def _acceptance(self) -> Floats:
        return np.asarray(np.mean([tower.acceptance for tower in self.towers], axis=0))

    def extend(self, n_draws: int) -> None:
        """Make draws of every law."""
        advance_chains([(tower, n_draws) for tower in self.towers], 0, 1, self.n_jobs, self.bar)

    @property
    def n_tower_draws(self) -> int:
        """Draws of every chain."""
        return self.rungs[0].n_draws

    def statistics(self) -> tuple[Floats, Floats]:
        """Give F and |w|_1 of all draws, ordered by rung."""
        fits = [rung.fit.ravel() for rung in self.rungs]
        norms = [rung.norm.ravel() for rung in self.rungs]
        return np.concatenate(fits), np.concatenate(norms)

    def groups(self) -> Ints:
        """Label draws by block of tower: draws of different blocks count as independent."""
        n_draws = self.n_tower_draws
        longest = max(memory(rung.fit + self.lam * rung.norm) for rung in self.rungs[1:])
        n_blocks = int(min(MOST_BLOCKS, max(LEAST_BLOCKS, n_draws // (MEMORIES * longest))))
        return block_labels(len(self.rungs), self.n_chains, n_draws, n_blocks)

    def solve(self, points: list[Law]) -> MultiState:
        """Combine all draws; the states are the rungs, then `points`, which need no draws."""
        fit, norm = self.statistics()
        laws = [law_of(rung) for rung in self.rungs] + points
        energies = np.array([law.a * fit + law.b * norm for law in laws])
        sizes = np.zeros(len(laws), dtype=np.int64)
        sizes[: len(self.rungs)] = self.n_chains * self.n_tower_draws
        return mbar(energies, sizes, self.groups())

    def ln_c(self, points: list[Law]) -> tuple[Floats, Floats]:
        """Give ln C and its covariance at laws near the ladder."""
        solution, first = self.solve(points), len(self.rungs)
        return self.base + solution.ln_ratio[first:], solution.covariance[first:, first:]

    def refine(self, points: list[Law], std_error: float, max_draws: int) -> tuple[Floats, Floats]:
        """Draw until ln C at all points has the wanted error, if `max_draws` allows.

        And until chains have forgotten their start: an error from fewer draws says little.
        """
        if self.n_tower_draws == 0:
            self.extend(FIRST_DRAWS)
        for _ in range(MAX_ROUNDS):
            ln_c, covariance = self.ln_c(points)
            error = math.sqrt(float(np.diag(covariance).max()))
            size, done = convergence(self.rungs)[1], self.n_tower_draws
            lacking = 1.0 if size is None else LEAST_SIZE / size
            if max(error / (TOLERATED * std_error), lacking) <= 1.0 or done >= max_draws:
                break
            wanted = 1.1 * max((error / std_error) ** 2, lacking) * done
            if isinstance(self.bar, Meter):
                self.bar.plan(int(wanted - done) * self.n_chains, std_error=error)
            self.extend(int(min(max_draws, math.ceil(min(MAX_GROWTH * done, wanted)))) - done)
        return ln_c, covariance

    @property
    def n_draws(self) -> int:
        """Draws over all rungs and chains."""
        return sum(chain.n_draws for rung in self.rungs for chain in rung.chains)

    @property
    def failures(self) -> int:
        """Moves that failed and were counted."""
        return sum(rung.failures for rung in self.rungs)

    def diagnostics(self) -> tuple[float | None, float | None, tuple[str, ...]]:
        """Give the largest rank R-hat, the smallest ESS and what to warn of."""
        rhat, ess = convergence(self.rungs)
        return rhat, ess, mixing_warnings(rhat, ess)


def law_of(rung: LabelRung) -> Law:
    """Give a rung's law."""
    return Law(rung.eta, rung.eta * rung.tau)


def _moments(rung: LabelRung) -> Moments:
    """Give the moments of a rung from its own draws."""
    pair = np.stack([rung.fit.ravel(), rung.norm.ravel()])
    return Moments(pair.mean(axis=1), np.cov(pair))
