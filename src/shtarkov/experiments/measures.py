"""What is measured of a cell's chains: the columns of the paper's tables, and two more.

Times are kept under names that end in TIMED, apart from everything that the seed determines.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shtarkov.diagnostics.active_sets import jaccard_between_chains, selection_distance
from shtarkov.diagnostics.convergence import State, effective_size, rank_rhat, state_of
from shtarkov.experiments.label_fits import label_fits
from shtarkov.sampling.chains import Chains
from shtarkov.sampling.label_chains import LabelChains
from shtarkov.types import Floats

TIMED = ("_ms", "_ms_sd", "_per_second")
SCORE_DECIMALS = 9
# Active sets are compared at no more than this many draws of each chain.
MOST_SUPPORTS = 1000


def is_timed(name: str) -> bool:
    """Whether a column holds a time, which no seed repeats."""
    return name.endswith(TIMED)


def classic_rhat(draws: Floats) -> float:
    """Give the paper's R-hat (section 6.4): between over within, infinite if no chain moves.

    1 for a constant, where there is nothing to disagree about.
    """
    n_draws = draws.shape[1]
    within = float(draws.var(axis=1, ddof=1).mean())
    between = n_draws * float(draws.mean(axis=1).var(ddof=1)) if draws.shape[0] > 1 else 0.0
    if np.ptp(draws) == 0.0:
        return 1.0
    if state_of(draws) is State.STUCK or within == 0.0:
        return math.inf
    return math.sqrt((n_draws - 1) / n_draws + between / (n_draws * within))


def ranked_rhat(draws: Floats) -> float:
    """Give the rank-normalised R-hat; infinite for stuck chains, 1 for a constant."""
    value = rank_rhat(draws)
    if value is not None:
        return value
    return 1.0 if np.ptp(draws) == 0.0 else math.inf


def size_per_chain(draws: Floats) -> float:
    """Give the effective sample size of one chain; a chain that never moved is worth one draw."""
    size = effective_size(draws)
    return 1.0 if size is None else size / draws.shape[0]


def size_within_chains(draws: Floats) -> float:
    """Give the mean effective sample size of chains that need not agree with each other."""
    return float(np.mean([size_per_chain(chain[None, :]) for chain in draws]))


def disagreement(active: np.ndarray) -> dict[str, float]:
    """Compare the chains' active sets: Jaccard distance and total variation."""
    stride = max(active.shape[1] // MOST_SUPPORTS, 1)
    shown = np.asarray(active, dtype=bool)[:, ::stride]
    distance, variation = jaccard_between_chains(shown), selection_distance(shown)
    n_chains = shown.shape[0]
    apart = ~np.eye(n_chains, dtype=bool)
    alone = n_chains == 1
    return {
        "jaccard_between": 0.0 if alone else float(distance[apart].mean()),
        "jaccard_within": float(np.diag(distance).mean()),
        "total_variation": 0.0 if alone else float(variation[apart].max()),
    }


def settled(draws: Floats) -> Floats:
    """Round the rounding away, and put the largest finite value where a draw is infinite.

    -ln J of one active set differs in its last digits with the order of updates, which would count
    as movement; at dependent active columns it is infinite.
    """
    return np.asarray(np.minimum(draws, draws[np.isfinite(draws)].max()).round(SCORE_DECIMALS))


def clock(step_seconds: Floats, cpu_share: float) -> tuple[dict[str, Any], float]:
    """Give the columns of step time, and the processor seconds of one chain.

    `cpu_share` is processor time over wall time of the run: what a step takes on a machine with
    nothing else to do.
    """
    step_ms = 1e3 * cpu_share * step_seconds
    columns = {"step_ms": float(step_ms.mean()), "step_ms_sd": float(step_ms.std())}
    return columns, 1e-3 * float(step_ms.sum(axis=1).mean())


def measure_labels(
    chains: LabelChains, problem: Any, truth: Floats, cpu_share: float
) -> dict[str, Any]:
    """Give the row of a cell of labels: k counts rows on the margin, the score is -eta E."""
    score, mean_k = -chains.eta * chains.envelope, float(chains.n_margin.mean())
    times, seconds = clock(chains.step_seconds, cpu_share)
    ess = size_per_chain(score)
    mse, active = label_fits(problem, chains, truth, MOST_SUPPORTS)
    return {
        **times,
        "accept_percent": 100.0 * float(chains.accepted.mean()),
        "mean_k": mean_k,
        "active_ratio": mean_k / problem.design.n_samples,
        "mse": float(mse.mean()),
        "score": float(score.mean()),
        "rhat_score": classic_rhat(score),
        "rank_rhat_score": ranked_rhat(score),
        "rhat_mse": classic_rhat(mse),
        "ess": ess,
        "ess_per_second": ess / seconds,
        "n_stuck": int((np.ptp(chains.n_positive, axis=1) == 0).sum()),
        "worst_kkt_residual": float(chains.kkt_residual.max()),
        "n_failures": int(sum(chains.failures.values())),
        **disagreement(active),
    }


def measure(chains: Chains, n_samples: int, cpu_share: float) -> dict[str, Any]:
    """Give a cell's row, of draws with "active" and "mse"."""
    score, mse = settled(chains.log_volume), chains.extras["mse"]
    mean_k = float(chains.k.mean())
    times, seconds = clock(chains.step_seconds, cpu_share)
    ess = size_per_chain(score)
    ess_residual = size_within_chains(chains.residual_sq)
    return {
        **times,
        "accept_percent": 100.0 * float(chains.accepted.mean()),
        "mean_k": mean_k,
        "active_ratio": mean_k / n_samples,
        "mse": float(mse.mean()),
        "score": float(score.mean()),
        "rhat_score": classic_rhat(score),
        "rank_rhat_score": ranked_rhat(score),
        "rhat_mse": classic_rhat(mse),
        "ess": ess,
        "ess_per_second": ess / seconds,
        "ess_residual": ess_residual,
        "ess_residual_per_second": ess_residual / seconds,
        "rank_rhat_residual": ranked_rhat(chains.residual_sq),
        "n_stuck": int((np.ptp(chains.k, axis=1) == 0).sum()),
        "worst_kkt_residual": float(chains.kkt_residual.max()),
        "n_failures": int(sum(chains.failures.values())),
        "n_infinite_scores": int(np.isinf(chains.log_volume).sum()),
        **disagreement(chains.extras["active"]),
    }
