"""ln C of labels at one penalty by bridges from eta = 0, where it is N ln 2.

At a fixed penalty the laws exp(-eta (F + tau |w|_1)) differ only in the weights of two numbers, F
and |w|_1, that every draw carries: no labels need to be solved again to move between laws. A ladder
of laws from eta = 0 to the wanted one, each within reach of the last, is sampled, and all draws are
combined by MBAR; the same draws give ln C and means at every (eta, tau) near the ladder. Slow twin:
`complexity.label_enumeration`; independent check: `complexity.label_path`.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from shtarkov.complexity.label_rung import (
    MAX_ROUNDS,
    TOLERATED,
    LabelRung,
    convergence,
    draw,
    make_rung,
    memory,
    mixing_warnings,
    neyman_counts,
)
from shtarkov.complexity.mbar import MultiState, mbar
from shtarkov.families.label_family import LabelFamily
from shtarkov.progress import Progress
from shtarkov.types import Floats, Ints

# Standard deviation of the change of energy between neighbouring laws: Bennett's ratio is near its
# cheapest between one and two.
REACH = 1.5
PILOT = 60
LARGEST_LADDER = 60
# Blocks of draws are this many memories long, and at most this many a chain.
MEMORIES = 5.0
BLOCKS = 25


class LabelLadder:
    """Sampled laws at one penalty, the first of them eta = 0.

    Parameters
    ----------
    family : the compiled family at its penalty
    seed, first_index : chains are addressed by (seed, first_index + rung, chain)
    n_chains : independent chains of every rung
    """

    def __init__(
        self,
        family: LabelFamily,
        *,
        seed: int,
        n_chains: int,
        n_jobs: int | None,
        bar: Progress,
        first_index: int = 0,
    ) -> None:
        self.family, self.seed, self.n_chains = family, seed, n_chains
        self.n_jobs, self.bar, self.first_index = n_jobs, bar, first_index
        self.rungs: list[LabelRung] = []
        self.add(0.0, 0.0)

    @property
    def lam(self) -> float:
        """The penalty."""
        return float(self.family.lam)

    def add(self, eta: float, tau: float, start: LabelRung | None = None) -> LabelRung:
        """Add a law, its chains starting from those of the last rung, and make pilot draws."""
        before = start or (self.rungs[-1] if self.rungs else None)
        rung = make_rung(
            self.family,
            eta,
            tau,
            seed=self.seed,
            index=self.first_index + len(self.rungs),
            n_chains=self.n_chains,
            start=before,
        )
        draw([rung], [PILOT], self.n_jobs, self.bar)
        self.rungs.append(rung)
        return rung

    def climb_to(self, eta: float, tau: float, start: LabelRung | None = None) -> LabelRung:
        """Add laws on the straight line to (eta, tau), each within reach of the last; reach it."""
        here = start or self.rungs[-1]
        for _ in range(LARGEST_LADDER):
            slope_fit = eta - here.eta
            slope_norm = eta * tau - here.eta * here.tau
            if slope_fit == 0.0 and slope_norm == 0.0:
                return here
            spread = float(np.std(slope_fit * here.fit + slope_norm * here.norm))
            share = 1.0 if spread <= REACH else REACH / spread
            if share > 0.7:
                share = 1.0
            weight = here.eta * here.tau + share * slope_norm
            next_eta = eta if share == 1.0 else here.eta + share * slope_fit
            next_tau = tau if share == 1.0 else weight / next_eta
            here = self.add(next_eta, next_tau, here)
        return here

    def statistics(self) -> tuple[Floats, Floats, Ints]:
        """Give F and |w|_1 of all draws, ordered by rung, and the draws of each rung."""
        fits = [rung.fit.ravel() for rung in self.rungs]
        norms = [rung.norm.ravel() for rung in self.rungs]
        counts = np.array([fit.size for fit in fits], dtype=np.int64)
        return np.concatenate(fits), np.concatenate(norms), counts

    def groups(self) -> Ints:
        """Label draws by block of chain: draws of different blocks count as independent."""
        labels, first = [], 0
        for rung in self.rungs:
            series = rung.fit + self.lam * rung.norm
            n_chains, n_draws = series.shape
            n_blocks = int(max(1, min(BLOCKS, n_draws // (MEMORIES * memory(series)))))
            block = np.arange(n_draws) * n_blocks // n_draws
            chain = np.arange(n_chains)[:, None] * n_blocks
            labels.append(first + (chain + block).ravel())
            first += n_chains * n_blocks
        return np.concatenate(labels)

    def solve(self, points: list[tuple[float, float]]) -> MultiState:
        """Combine all draws; the states are the rungs, then `points`, which need no draws."""
        fit, norm, counts = self.statistics()
        laws = [(rung.eta, rung.tau) for rung in self.rungs] + points
        energies = np.array([eta * (fit + tau * norm) for eta, tau in laws])
        sizes = np.concatenate([counts, np.zeros(len(points), dtype=np.int64)])
        return mbar(energies, sizes, self.groups())

    def ln_c(self, points: list[tuple[float, float]]) -> tuple[Floats, Floats]:
        """Give ln C and its covariance at laws near the ladder."""
        solution, first = self.solve(points), len(self.rungs)
        base = self.family.Xt.shape[1] * math.log(2.0)
        return base + solution.ln_ratio[first:], solution.covariance[first:, first:]

    def refine(
        self, points: list[tuple[float, float]], std_error: float, max_draws: int
    ) -> tuple[Floats, Floats]:
        """Draw until ln C at all points has the wanted error, if `max_draws` allows."""
        for _ in range(MAX_ROUNDS):
            solution, first = self.solve(points), len(self.rungs)
            errors = np.sqrt(np.diag(solution.covariance)[first:])
            worst = first + int(np.argmax(errors))
            if errors.max() <= TOLERATED * std_error:
                break
            parts = self._parts(solution.influence[worst])
            counts = neyman_counts(self.rungs, parts, std_error, max_draws)
            if not any(counts):
                break
            draw(self.rungs, counts, self.n_jobs, self.bar)
        return self.ln_c(points)

    def _parts(self, influence: Floats) -> Floats:
        """Give every rung's part of the squared error."""
        groups = self.groups()
        sums = np.bincount(groups, weights=influence)
        home = np.repeat(np.arange(len(self.rungs)), [rung.fit.size for rung in self.rungs])
        owner = np.zeros(sums.size, dtype=np.int64)
        owner[groups] = home
        return np.asarray(np.bincount(owner, weights=sums**2, minlength=len(self.rungs)))

    def means(self, eta: float, tau: float) -> tuple[Floats, Floats]:
        """Give means and covariance of (F, |w|_1) at a law near the ladder, by reweighting."""
        fit, norm, counts = self.statistics()
        solution = self.solve([])
        laws = np.array([[rung.eta, rung.eta * rung.tau] for rung in self.rungs])
        energies = laws[:, :1] * fit + laws[:, 1:] * norm
        log_mixture = logsumexp((np.log(counts) - solution.ln_ratio)[:, None] - energies, axis=0)
        log_weight = -eta * (fit + tau * norm) - log_mixture
        weight = np.exp(log_weight - logsumexp(log_weight))
        pair = np.stack([fit, norm])
        mean = pair @ weight
        centred = pair - mean[:, None]
        return mean, (centred * weight) @ centred.T

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
