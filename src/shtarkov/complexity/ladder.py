"""A ladder of penalties, sampled until a linear functional of the node means is known well enough.

Each rung has its own chains, addressed by (seed, rung, chain), so that any of them can be run again
alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from shtarkov.complexity.rung import Integrand, Rung, stack_draws
from shtarkov.complexity.threads import advance_chains
from shtarkov.diagnostics.convergence import State, effective_size
from shtarkov.families.observables import ENVELOPE
from shtarkov.progress import Meter, Progress
from shtarkov.sampling.chain import Chain
from shtarkov.seeds import rng_for
from shtarkov.types import Floats

logger = logging.getLogger(__name__)

# Draws per chain before any error is looked at: autocorrelation times are two or three moves.
PILOT = 40
# Without a fibre move the norm is slow at other weights than the penalty. Draws that end when they
# look precise then end on small norms: more of them are made before anything is judged.
SLOW_PILOT = 160
# Who asks for an error above this, in nats, wants to know roughly where things are.
ROUGH_ERROR = 0.5
ROUGH_PILOT = 20
MAX_ROUNDS = 12
# An error this much over the wanted one is not worth another round, nor a warning.
TOLERATED = 1.05
UNREACHED = "the error asked for was not reached: raise max_draws"
INTERRUPTED = "interrupted: the error reached so far is reported"
# A chain's draws grow by at most this factor a round: early error estimates are themselves noisy.
MAX_GROWTH = 6.0
# Moves that tune a chain; its first five draws then have the mean of later ones.
WARM_UP = 15
# z-scores beyond which a zero-mean check, or path against bridge, is reported. Tens of checks are
# made per path: four and a half keeps false alarms below one path in a thousand.
ALARM = 4.5
# Of fewer draws a chain an alarm is not believed but asks for more: z-scores of short chains have
# long tails (measured: one path in twenty raised one), and only a real fault outlives more draws.
BELIEVED_DRAWS = 640
# A line through three points, read at the first.
END_OF_LINE = np.array([5.0, 2.0, -1.0]) / 6.0
# R-hat of independent short chains exceeds one by about the inverse of their effective size.
MAX_RHAT = 1.01
RHAT_NOISE = 12.0
# Every so many draws the envelope at the neighbouring rungs is solved, for the bridge.
PROBE_EVERY = 5


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
    """Make draws on every chain of every rung."""
    tasks = [
        (chain, n_draws)
        for rung, n_draws in zip(rungs, draws, strict=True)
        if n_draws > 0
        for chain in rung.chains
    ]
    advance_chains(tasks, WARM_UP, PROBE_EVERY, n_jobs, bar)


def steady_variances(rungs: Sequence[Rung]) -> None:
    """Let no rung claim less variance a draw than its neighbours make likely.

    The few draws of one rung may miss a rare excursion. Then its mean is small and looks precise,
    and sampling would stop just there: estimates came out too small by half an error. Along the
    ladder the logarithm of the variance bends little, so a line through three rungs is believed.
    """
    if len(rungs) < 3:
        return
    draws = np.array([rung.n_draws for rung in rungs])
    own = np.array([rung.own_variance for rung in rungs]) * draws
    if not np.all((own > 0.0) & np.isfinite(own)):
        return
    logs = np.log(own)
    steady = np.convolve(logs, np.full(3, 1.0 / 3.0), mode="same")
    steady[0] = END_OF_LINE @ logs[:3]
    steady[-1] = END_OF_LINE @ logs[:-4:-1]
    for rung, variance in zip(rungs, np.exp(steady) / draws, strict=True):
        rung.variance = max(rung.own_variance, float(variance))


def functional_error(rungs: Sequence[Rung], weights: Floats) -> Floats:
    """Give the standard error of weights @ means."""
    variances = np.array([rung.variance for rung in rungs])
    return np.asarray(np.sqrt(weights**2 @ variances))


def ideal_draws(rungs: Sequence[Rung], weights: Floats, wanted: float) -> Floats:
    """Give each rung's draws that should bring the worst functional to the wanted error.

    Cost falls least for n_i proportional to |w_i| sqrt(v_i / c_i) (Neyman's allocation).
    """
    worst = weights[int(np.argmax(functional_error(rungs, weights)))]
    draws = np.array([rung.n_draws for rung in rungs], dtype=float)
    per_draw = np.array([rung.variance for rung in rungs]) * draws
    cost = np.array([rung.work_per_draw for rung in rungs])
    ideal = np.abs(worst) * np.sqrt(per_draw / cost)
    return np.asarray(1.1 * ideal * np.sum(np.abs(worst) * np.sqrt(per_draw * cost)) / wanted**2)


def next_draws(rungs: Sequence[Rung], weights: Floats, wanted: float) -> list[int]:
    """Share out the next round's draws per chain: no rung may grow by more than MAX_GROWTH."""
    draws = np.array([rung.n_draws for rung in rungs], dtype=float)
    total = np.minimum(ideal_draws(rungs, weights, wanted), MAX_GROWTH * draws)
    per_chain = (total - draws) / len(rungs[0].chains)
    steps = np.ceil(np.maximum(per_chain, 0.0) / PROBE_EVERY) * PROBE_EVERY
    return [int(step) for step in steps]


def _expected_draws(rungs: Sequence[Rung], weights: Floats, wanted: float) -> Floats:
    """Guess each rung's draws from its expected count, as if each bore an equal share."""
    worst = np.abs(weights).max(axis=0)
    spread = worst * np.sqrt(2.0 * np.array([rung.expected for rung in rungs]))
    return np.asarray(spread * np.sum(spread) / wanted**2)


def sample_until(
    rungs: Sequence[Rung],
    weights: Floats,
    wanted: float,
    integrand: Integrand,
    *,
    max_draws: int,
    n_jobs: int | None,
    meter: Meter,
) -> str:
    """Draw until every functional is within the wanted error and the chains of each rung agree.

    Gives what stopped it before that, or an empty string.
    Ctrl-C ends the sampling early once every rung has its pilot draws, and is raised before that.
    """
    guess = _expected_draws(rungs, weights, wanted)
    draws = pilots = [_pilot(rung.chains[0], wanted) for rung in rungs]
    meter.plan(int(np.maximum(guess, len(rungs[0].chains) * np.array(pilots)).sum()))
    for _ in range(MAX_ROUNDS):
        try:
            extend(rungs, draws, n_jobs, meter)
            for rung, n_new in zip(rungs, draws, strict=True):
                if n_new > 0:
                    rung.refresh(integrand)
            steady_variances(rungs)
        except KeyboardInterrupt:
            if not all(_has(rung, pilot) for rung, pilot in zip(rungs, pilots, strict=True)):
                raise
            for rung in rungs:
                rung.refresh(integrand)
            steady_variances(rungs)
            return INTERRUPTED
        error = float(functional_error(rungs, weights).max())
        logger.debug("error %.4f after %d draws", error, sum(rung.n_draws for rung in rungs))
        if error <= wanted:  # where chains disagree the error is not to be believed yet
            draws = [
                rung.chains[0].n_draws if unsettled(rung) or doubtful(rung) else 0 for rung in rungs
            ]
            if not any(draws):
                return ""
            meter.plan(len(rungs[0].chains) * sum(draws), std_error=error)
        else:
            n_left = ideal_draws(rungs, weights, wanted) - [rung.n_draws for rung in rungs]
            meter.plan(int(np.maximum(n_left, 0.0).sum()), std_error=error)
            draws = next_draws(rungs, weights, wanted)
        left = [max_draws - rung.chains[0].n_draws for rung in rungs]
        draws = [max(0, min(step, room)) for step, room in zip(draws, left, strict=True)]
        if not any(draws):
            break
    return "" if error <= TOLERATED * wanted else UNREACHED


def _pilot(chain: Any, wanted: float) -> int:
    """Give the draws per chain before any error is looked at."""
    if wanted >= ROUGH_ERROR:
        return ROUGH_PILOT
    has_fibre_move = chain.facts.norm_counts_active
    return PILOT if has_fibre_move or chain.weight == chain.family.lam else SLOW_PILOT


def _has(rung: Rung, n_draws: int) -> bool:
    """Say whether every chain of a rung has so many draws."""
    return min(chain.n_draws for chain in rung.chains) >= n_draws


def neighbour_work(rungs: Sequence[Rung]) -> tuple[list[Floats], list[Floats]]:
    """Give Bennett's work along the ladder: forward from each rung but the last, then reverse."""
    forward, reverse = [], []
    for index, rung in enumerate(rungs):
        probes = stack_draws([chain.gathered("probes").T for chain in rung.chains])
        own = stack_draws(
            [chain.column(ENVELOPE)[PROBE_EVERY - 1 :: PROBE_EVERY] for chain in rung.chains]
        )
        difference = probes - own[:, None, :]
        if index > 0:
            reverse.append(difference[:, 0])
        if index < len(rungs) - 1:
            forward.append(difference[:, -1])
    return forward, reverse


def convergence(rungs: Sequence[Rung]) -> tuple[float | None, float | None]:
    """Give the largest rank R-hat and the smallest bulk ESS over the rungs that moved."""
    summaries = [rung.summary for rung in rungs if rung.series.size]
    moved = [item for item in summaries if item.state is State.OK]
    rhats = [item.rank_rhat for item in moved if item.rank_rhat is not None]
    sizes = [item.ess_bulk for item in moved if item.ess_bulk is not None]
    return (max(rhats) if rhats else None, min(sizes) if sizes else None)


def unsettled(rung: Rung) -> bool:
    """Say whether the rung's chains tell different things, beyond what their lengths explain."""
    summary = rung.summary
    if summary.state is State.STUCK:
        return True
    if summary.rank_rhat is None or summary.rank_rhat <= MAX_RHAT:
        return False
    # Each chain's own size: that of all together already suffers from their disagreement.
    size = sum(effective_size(chain) or 0.0 for chain in rung.series)
    return unconverged(summary.rank_rhat, max(size, 1.0))


def doubtful(rung: Rung) -> bool:
    """Say whether a mean known to be zero does not look it, in chains too short to be sure."""
    n_draws = min(chain.n_draws for chain in rung.chains)
    return n_draws < BELIEVED_DRAWS and any(abs(z) > ALARM for z in rung.checks)


def unconverged(rhat: float | None, ess: float | None) -> bool:
    """Say whether R-hat is larger than short but converged chains explain."""
    return rhat is not None and ess is not None and rhat > MAX_RHAT + RHAT_NOISE / ess
