"""Times the sampler of the nuclear norm, and holds its ln C to the exact one.

Denoising a matrix (identity design) and regressions with several targets on correlated columns,
N = 100 rows. Two chains after warm-up; rank R-hat and ESS (bulk) are the worst over rank, df, norm,
envelope and |r|^2. Then ln C of matrices by sampling beside the exact value. Times are those of the
thread's own processor clock, warm-up and compilation excluded. One thread, BLAS included.

Run with ``python benchmarks/nuclear_norm.py``; docs/nuclear_norm.md quotes its tables.
"""

from __future__ import annotations

import platform
import time

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import NuclearNorm, complexity
from shtarkov.diagnostics.convergence import summarise
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import DF, ENVELOPE, KKT_RESIDUAL, NORM, RESIDUAL_SQ, K
from shtarkov.sampling.chain import Chain
from shtarkov.seeds import rng_for

N_ROWS = 100
# rows or columns of X, targets, penalty as a share of the scale at which noise enters
MATRICES = ((5, 8, 0.6), (15, 20, 0.6), (30, 40, 0.6))
DESIGNS = ((10, 5, 0.5), (20, 10, 0.5), (40, 10, 0.5))
EXACT = ((3, 4, 2.0), (5, 8, 3.0), (10, 20, 5.0), (20, 20, 6.0))
N_CHAINS, N_DRAWS, N_WARMUP, SEED = 2, 1000, 200, 20240501


def correlated_design(n_features: int) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    shared = rng.standard_normal((N_ROWS, 1))
    return (rng.standard_normal((N_ROWS, n_features)) + 0.7 * shared) / np.sqrt(N_ROWS)


def report(label: str, problem: NuclearNorm, lam: float) -> str:
    chains, seconds = [], 0.0
    for index in range(N_CHAINS):
        chain = Chain(family_of(problem, lam), lam, rng_for(SEED, 0, index))
        chain.warm_up(N_WARMUP)
        begun = time.thread_time()
        chain.extend(N_DRAWS)
        seconds += time.thread_time() - begun
        chains.append(chain)
    looked_at = (K, DF, NORM, ENVELOPE, RESIDUAL_SQ)
    found = [summarise(np.stack([c.column(i) for c in chains])) for i in looked_at]
    rhat = max(item.rank_rhat or np.inf for item in found)
    ess = min(item.ess_bulk or 0.0 for item in found)
    means = [np.mean([c.column(i).mean() for c in chains]) for i in (K, DF)]
    gap = max(c.column(KKT_RESIDUAL).max() for c in chains)
    failed = sum(int(c.failures[1:].sum()) for c in chains)
    draws = N_CHAINS * N_DRAWS
    return (
        f"| {label} | {lam:.2f} | {means[0]:.1f} | {means[1]:.1f} | {seconds / draws * 1e3:.2f} ms "
        f"| {ess / draws:.2f} | {rhat:.4f} | {ess / seconds:,.0f} | {gap:.0e} | {failed} |"
    )


def mixing() -> None:
    print("| problem | lam | rank | df | draw | ESS a draw | rank R-hat | ESS/s | gap | failed |")
    print("|---|" + 9 * "---:|")
    for m, n, share in MATRICES:
        lam = share * (np.sqrt(m) + np.sqrt(n))
        print(report(f"{m} x {n} matrix", NuclearNorm(shape=(m, n)), lam), flush=True)
    for n_features, q, share in DESIGNS:
        problem = NuclearNorm(correlated_design(n_features), n_targets=q)
        lam = share * (np.sqrt(n_features) + np.sqrt(q))
        label = f"{n_features} columns, {q} targets"
        print(report(label, problem, lam), flush=True)


def against_exact() -> None:
    print("\n| matrix | lam | exact ln C | seconds | sampled | error stated | z | seconds |")
    print("|---|" + 7 * "---:|")
    for m, n, lam in EXACT:
        problem = NuclearNorm(shape=(m, n))
        begun = time.process_time()
        exact = complexity(problem, lam).ln_c
        between = time.process_time()
        sampled = complexity(problem, lam, method="path", seed=1, n_jobs=1)
        ended = time.process_time()
        z = (sampled.ln_c - exact) / sampled.std_error
        print(
            f"| {m} x {n} | {lam:g} | {exact:.4f} | {between - begun:.2f} | {sampled.ln_c:.4f} "
            f"| {sampled.std_error:.4f} | {z:+.1f} | {ended - between:.1f} |",
            flush=True,
        )


def main() -> None:
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread\n")
        complexity(NuclearNorm(shape=(2, 2)), 1.0, method="path", std_error=0.5, seed=1)
        mixing()
        against_exact()


if __name__ == "__main__":
    main()
