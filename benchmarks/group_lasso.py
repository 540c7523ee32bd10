"""Times the Hamiltonian sampler of the Group Lasso where the paper's chains did not move.

N = 100, groups of five columns, lam found for the paper's mean number of active columns. Four
chains after warm-up; rank R-hat and ESS (bulk) are the worst over k, df, the norm, the envelope and
|r|^2. Times are those of the thread's own processor clock, warm-up excluded: the machine may be
shared. One thread, BLAS included.

Run with ``python benchmarks/group_lasso.py``; docs/group_lasso.md quotes its table.
"""

from __future__ import annotations

import platform
import time

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import GroupLasso
from shtarkov.diagnostics.convergence import summarise
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import DF, ENVELOPE, KKT_RESIDUAL, NORM, RESIDUAL_SQ, K
from shtarkov.sampling.chain import Chain
from shtarkov.seeds import rng_for

N, GROUP_SIZE = 100, 5
# (D, the paper's mean k, its ESS/s)
CASES = ((100, 23.0, "0.0107"), (500, 42.0, "0"), (2000, 58.0, "0"))
N_CHAINS, N_DRAWS, N_WARMUP = 4, 2000, 200
SEARCH_DRAWS, SEARCH_STEPS = 1600, 9
SEED = 20240501


def started(problem: GroupLasso, lam: float, chain: int) -> Chain:
    made = Chain(family_of(problem, lam), lam, rng_for(SEED, 0, chain))
    made.warm_up(N_WARMUP)
    return made


def penalty_for(problem: GroupLasso, wanted: float) -> float:
    """Bisect ln lam for a mean k, by short runs."""
    low, high = np.log(0.5), np.log(3.0)
    for _ in range(SEARCH_STEPS):
        middle = 0.5 * (low + high)
        chain = started(problem, float(np.exp(middle)), N_CHAINS)
        chain.extend(SEARCH_DRAWS)
        low, high = (middle, high) if chain.column(K).mean() > wanted else (low, middle)
    return float(np.exp(0.5 * (low + high)))


def report(n_features: int, wanted: float, paper: str) -> str:
    X = np.random.default_rng(SEED).standard_normal((N, n_features)) / np.sqrt(N)
    problem = GroupLasso(X, np.arange(n_features) // GROUP_SIZE)
    lam = penalty_for(problem, wanted)
    chains, seconds = [started(problem, lam, i) for i in range(N_CHAINS)], 0.0
    for chain in chains:
        begun = time.thread_time()
        chain.extend(N_DRAWS)
        seconds += time.thread_time() - begun
    looked_at = (K, DF, NORM, ENVELOPE, RESIDUAL_SQ)
    found = [summarise(np.stack([c.column(i) for c in chains])) for i in looked_at]
    rhat = max(item.rank_rhat or np.inf for item in found)
    ess = min(item.ess_bulk or 0.0 for item in found)
    mean_k = np.mean([c.column(K).mean() for c in chains])
    mean_df = np.mean([c.column(DF).mean() for c in chains])
    kkt = max(c.column(KKT_RESIDUAL).max() for c in chains)
    failures = sum(int(c.failures[1:].sum()) for c in chains)
    draws = N_CHAINS * N_DRAWS
    each = seconds / draws * 1e3
    return (
        f"| {n_features} | {lam:.3f} | {mean_k:.1f} | {mean_df:.1f} | {each:.2f} ms "
        f"| {ess / draws:.2f} | {rhat:.4f} | {ess / seconds:,.0f} | inf, {paper} "
        f"| {kkt:.0e} | {failures} |"
    )


def main() -> None:
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread, N = {N}\n")
        print(
            "| D | lam | mean k | mean df | draw | ESS a draw | rank R-hat | ESS/s "
            "| paper's R-hat, ESS/s | violation | failed |"
        )
        print("|" + 11 * "---:|")
        for case in CASES:
            print(report(*case), flush=True)


if __name__ == "__main__":
    main()
