"""A ladder of penalties, sampled until a linear functional of the node means is known well enough.

Each rung has its own chains, addressed by (seed, rung, chain), so that any of them can be run again
alone. A rung estimates the mean of its integrand by the combination of equal-mean quantities with
the least variance (control variates with known mean zero, THEORY section 4).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np

from shtarkov.diagnostics.convergence import State, mean_error, summarise
from shtarkov.families.observables import ENVELOPE
from shtarkov.progress import Progress
from shtarkov.sampling.chain import Chain
from shtarkov.seeds import rng_for
from shtarkov.types import Floats

logger = logging.getLogger(__name__)

# Draws per chain before any error is looked at: autocorrelation times are two or three moves.
PILOT = 40
LONGEST_PILOT = 100
WARM_UP = 25
# Fewer events than this do not know their own error: the expected count is used instead.
FEW_EVENTS = 50
MAX_ROUNDS = 12
# A chain's draws grow by at most this factor a round: early error estimates are themselves noisy.
MAX_GROWTH = 6.0
# z-scores beyond which a zero-mean check, or path against bridge, is reported. Tens of checks are
# made per path: four and a half keeps false alarms below one path in a thousand.
ALARM = 4.5
# R-hat of independent short chains exceeds one by about the inverse of their effective size.
MAX_RHAT = 1.01
RHAT_NOISE = 12.0
# The control variates are regressed over this many blocks at least, of this length at most.
BLOCKS = 40
LONGEST_BLOCK = 20
# Every so many draws the envelope at the neighbouring rungs is solved, for the bridge.
PROBE_EVERY = 5

Integrand = Callable[[Chain], tuple[Floats, Floats]]


@dataclass(slots=True, eq=False)
class Rung:
    """One penalty of the ladder, its chains and what they say.

    `mean` and `variance` (its squared error) are those of the best combination; `expected` is a
    guess of the mean made beforehand, which serves where next to nothing was observed.
    """

    chains: list[Chain]
    expected: float
    mean: float = 0.0
    variance: float = np.inf
    series: Floats = field(default_factory=lambda: np.zeros((1, 0)))
    controls: Floats = field(default_factory=lambda: np.zeros((0, 1, 0)))

    @property
    def n_draws(self) -> int:
        """Draws over all chains."""
        return sum(chain.n_draws for chain in self.chains)

    @property
    def seconds_per_draw(self) -> float:
        """Measured cost, to spend draws where they are cheap."""
        return sum(chain.seconds for chain in self.chains) / max(self.n_draws, 1)

    def refresh(self, integrand: Integrand) -> None:
        """Recompute the estimate from all draws so far."""
        pairs = [integrand(chain) for chain in self.chains]
        target = np.stack([pair[0] for pair in pairs])
        self.controls = np.stack([pair[1] for pair in pairs], axis=1)  # (control, chain, draw)
        fitted = np.tensordot(_coefficients(target, self.controls), self.controls, axes=1)
        self.series = target - fitted
        self.mean = float(self.series.mean())
        # The regression on the controls has used up their degrees of freedom.
        n_blocks = self.series.size // _block_length(self.series)
        freedom = n_blocks / (n_blocks - self.controls.shape[0] - 1.0)
        self.variance = max(freedom * mean_error(self.series) ** 2, self._least_variance())

    def _least_variance(self) -> float:
        """Give the variance of a rare count: twice Poisson's, for the draws' autocorrelation."""
        n_draws = self.series.size
        if self.expected * n_draws > FEW_EVENTS:
            return 0.0
        return max(2.0 * self.expected / n_draws, 0.5 / n_draws**2)

    @property
    def checks(self) -> tuple[float, ...]:
        """The z-scores of the control variates, whose means are known to be zero."""
        return tuple(_z_score(control) for control in self.controls)


def _coefficients(target: Floats, controls: Floats) -> Floats:
    """Regress the target on the controls over block means.

    Single draws would weigh a fast and a slow part alike; over blocks longer than the memory the
    regression sees what the mean's error is made of (measured: up to half the error at small tau).
    """
    length = _block_length(target)
    blocks = _block_means(controls, length).reshape(controls.shape[0], -1)
    wanted = _block_means(target, length).ravel()
    centred = blocks - blocks.mean(axis=1, keepdims=True)
    return np.asarray(np.linalg.lstsq(centred.T, wanted - wanted.mean(), rcond=1e-10)[0])


def _block_length(series: Floats) -> int:
    return max(1, min(LONGEST_BLOCK, series.size // BLOCKS))


def _block_means(series: Floats, length: int) -> Floats:
    n_blocks = series.shape[-1] // length
    trimmed = series[..., : n_blocks * length]
    return np.asarray(trimmed.reshape(*series.shape[:-1], n_blocks, length).mean(axis=-1))


def _z_score(control: Floats) -> float:
    error = mean_error(control)
    return float(control.mean() / error) if 0.0 < error < np.inf else 0.0


def make_rungs(
    family: Any,
    points: Sequence[tuple[float, float]],
    *,
    seed: int,
    n_chains: int,
    probe: bool,
    expected: Floats,
) -> list[Rung]:
    """Start the chains of a ladder of (lam, weight) points, probed at neighbours for the bridge."""
    rungs = []
    for index, (lam, weight) in enumerate(points):
        neighbours = [points[j][0] for j in (index - 1, index + 1) if 0 <= j < len(points)]
        rungs.append(
            Rung(
                [
                    Chain(
                        family._replace(lam=lam),
                        weight,
                        rng_for(seed, index, chain),
                        probe_lams=np.array(neighbours) if probe else None,
                        probe_every=PROBE_EVERY,
                    )
                    for chain in range(n_chains)
                ],
                float(expected[index]),
            )
        )
    return rungs


def extend(rungs: Sequence[Rung], draws: Sequence[int], n_jobs: int | None, bar: Progress) -> None:
    """Make draws on every chain of every rung, in threads: the compiled loop holds no lock."""

    def work(chain: Chain, n_draws: int) -> None:
        if chain.n_draws == 0:
            chain.warm_up(WARM_UP)
        chain.extend(n_draws)

    tasks = [
        (chain, n_draws)
        for rung, n_draws in zip(rungs, draws, strict=True)
        if n_draws > 0
        for chain in rung.chains
    ]
    if n_jobs in (None, 1):
        for chain, n_draws in tasks:
            work(chain, n_draws)
            bar.advance(n_draws)
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator_unordered")
    for _ in parallel(joblib.delayed(work)(*task) for task in tasks):
        bar.advance(1)


def functional_error(rungs: Sequence[Rung], weights: Floats) -> Floats:
    """Give the standard error of weights @ means."""
    variances = np.array([rung.variance for rung in rungs])
    return np.asarray(np.sqrt(weights**2 @ variances))


def next_draws(rungs: Sequence[Rung], weights: Floats, wanted: float) -> list[int]:
    """Share out the draws that should bring the worst functional to the wanted error.

    Cost falls least for n_i proportional to |w_i| sqrt(v_i / c_i) (Neyman's allocation).
    """
    worst = weights[int(np.argmax(functional_error(rungs, weights)))]
    draws = np.array([rung.n_draws for rung in rungs], dtype=float)
    per_draw = np.array([rung.variance for rung in rungs]) * draws
    cost = np.array([rung.seconds_per_draw for rung in rungs])
    ideal = np.abs(worst) * np.sqrt(per_draw / np.maximum(cost, 1e-9))
    scale = float(np.sum(np.abs(worst) * np.sqrt(per_draw * np.maximum(cost, 1e-9))))
    total = 1.1 * ideal * scale / wanted**2
    total = np.minimum(total, MAX_GROWTH * draws)
    per_chain = (total - draws) / len(rungs[0].chains)
    steps = np.ceil(np.maximum(per_chain, 0.0) / PROBE_EVERY) * PROBE_EVERY
    return [int(step) for step in steps]


def _pilot(rungs: Sequence[Rung], weights: Floats, wanted: float) -> list[int]:
    """Guess the first draws from the expected counts, as if each rung bore an equal share."""
    worst = np.abs(weights).max(axis=0)
    expected = np.array([rung.expected for rung in rungs])
    total = worst * np.sqrt(2.0 * expected) * np.sum(worst * np.sqrt(2.0 * expected)) / wanted**2
    per_chain = np.clip(total / len(rungs[0].chains), PILOT, LONGEST_PILOT)
    return [int(n) for n in np.ceil(per_chain / PROBE_EVERY) * PROBE_EVERY]


def sample_until(
    rungs: Sequence[Rung],
    weights: Floats,
    wanted: float,
    integrand: Integrand,
    *,
    max_draws: int,
    n_jobs: int | None,
    bar: Progress,
) -> bool:
    """Draw until every functional is within the wanted error; say whether that was reached."""
    draws = _pilot(rungs, weights, wanted)
    for _ in range(MAX_ROUNDS):
        extend(rungs, draws, n_jobs, bar)
        for rung, n_new in zip(rungs, draws, strict=True):
            if n_new > 0:
                rung.refresh(integrand)
        error = float(functional_error(rungs, weights).max())
        logger.debug("error %.4f after %d draws", error, sum(rung.n_draws for rung in rungs))
        if error <= wanted:
            return True
        draws = next_draws(rungs, weights, wanted)
        left = [max_draws - rung.chains[0].n_draws for rung in rungs]
        draws = [max(0, min(step, room)) for step, room in zip(draws, left, strict=True)]
        if not any(draws):
            return False
    return False


def neighbour_work(rungs: Sequence[Rung]) -> tuple[list[Floats], list[Floats]]:
    """Give Bennett's work along the ladder: forward from each rung but the last, then reverse."""
    forward, reverse = [], []
    for index, rung in enumerate(rungs):
        probes = _equal_length([chain.gathered("probes") for chain in rung.chains])
        own = _equal_length(
            [chain.column(ENVELOPE)[PROBE_EVERY - 1 :: PROBE_EVERY] for chain in rung.chains]
        )
        difference = probes - own[:, :, None]
        if index > 0:
            reverse.append(difference[:, :, 0])
        if index < len(rungs) - 1:
            forward.append(difference[:, :, -1])
    return forward, reverse


def _equal_length(arrays: list[Any]) -> Any:
    shortest = min(array.shape[0] for array in arrays)
    return np.stack([array[:shortest] for array in arrays])


def convergence(rungs: Sequence[Rung]) -> tuple[float | None, float | None]:
    """Give the largest rank R-hat and the smallest bulk ESS over the rungs that moved."""
    summaries = [summarise(rung.series) for rung in rungs if rung.series.size]
    moved = [item for item in summaries if item.state is State.OK]
    rhats = [item.rank_rhat for item in moved if item.rank_rhat is not None]
    sizes = [item.ess_bulk for item in moved if item.ess_bulk is not None]
    return (max(rhats) if rhats else None, min(sizes) if sizes else None)


def unconverged(rhat: float | None, ess: float | None) -> bool:
    """Say whether R-hat is larger than short but converged chains explain."""
    return rhat is not None and ess is not None and rhat > MAX_RHAT + RHAT_NOISE / ess
