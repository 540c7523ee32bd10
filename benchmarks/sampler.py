"""Times the Hamiltonian sampler beside a bare product X'v of the same shape, in one run.

A leapfrog step contains the exact solve. Its time is the slope between trajectories of different
lengths, so that what a move does once (momentum, copies, observables) is apart. Times are those of
the thread's own processor clock, the least of several repetitions: the machine may be shared. ESS
is arviz's, the least over k, |beta|_1 and |r|^2. One thread, BLAS included.

Run with ``python benchmarks/sampler.py``; docs/samplers.md quotes its tables.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import Lasso
from shtarkov.diagnostics.convergence import effective_size
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import KKT_RESIDUAL, NORM, RESIDUAL_SQ, K
from shtarkov.sampling.chain import Chain
from shtarkov.seeds import rng_for

# (N, D, lam): lam sets the mean k, which is printed.
CASES = ((100, 100, 1.675), (100, 500, 2.157), (100, 2000, 2.516), (1000, 2000, 2.3))
NO_GRAM = ((100, 6000, 2.8), (1000, 6000, 2.8))
PAPER = {100: 0.84, 500: 1.16, 2000: 0.43}
REPETITIONS = 7
SEED = 20240501


def cpu_seconds(call: Callable[[], object]) -> float:
    best = np.inf
    for _ in range(REPETITIONS):
        start = time.thread_time()
        call()
        best = min(best, time.thread_time() - start)
    return float(best)


def started(n: int, n_features: int, lam: float) -> tuple[Any, Chain]:
    X = np.random.default_rng(SEED).standard_normal((n, n_features)) / np.sqrt(n)
    chain = Chain(family_of(Lasso(X), lam), lam, rng_for(SEED, 0, 0))
    chain.warm_up(200)
    return X, chain


def seconds_per_draw(chain: Chain, n_leaps: int, n_draws: int) -> float:
    kept = chain.tuning
    chain.tuning = kept._replace(n_leaps=n_leaps)

    def draw() -> None:
        chain.segments.clear()
        chain.extend(n_draws)

    seconds = cpu_seconds(draw) / n_draws
    chain.tuning = kept
    return seconds


def report(n: int, n_features: int, lam: float) -> str:
    X, chain = started(n, n_features, lam)
    size = n * n_features if chain.family.gram.size == 0 else 40 * (n_features + n)
    n_draws = int(np.clip(4e8 / (20 * size), 20, 4000))
    v = np.random.default_rng(1).standard_normal(n)
    n_products = max(1, int(2e7 / X.size))
    product = cpu_seconds(lambda: [X.T @ v for _ in range(n_products)]) / n_products
    own = chain.tuning.n_leaps
    draw = seconds_per_draw(chain, own, n_draws)
    leap = (seconds_per_draw(chain, own + 6, n_draws) - draw) / 6
    chain.segments.clear()
    chain.extend(max(8 * n_draws, 500))
    trace = chain.segments[0].trace
    ess = min(effective_size(trace[:, i]) or 0.0 for i in (K, NORM, RESIDUAL_SQ)) / len(trace)
    paper = f"{PAPER[n_features]}" if n == 100 and n_features in PAPER else ""
    return (
        f"| {n} | {n_features} | {trace[:, K].mean():.1f} | {product * 1e6:.1f} µs "
        f"| {leap * 1e6:.1f} µs | {leap / product:.2f} | {own} | {draw * 1e6:.1f} µs | {ess:.2f} "
        f"| {ess / draw:,.0f} | {paper} | {trace[:, KKT_RESIDUAL].max():.0e} |"
    )


def main() -> None:
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread")
        wall, cpu = time.perf_counter(), time.process_time()
        started(5, 5, 1.0)[1].extend(5)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"first chain of the process: {wall:.1f} s, {cpu:.1f} s of processor time")
        print("(compilation, or loading it from the cache on disk; the rest excludes it)\n")
        head = "| N | D | mean k | X'v | leapfrog step | ratio | steps a draw | draw | ESS a draw "
        print(head + "| ESS/s | paper's ESS/s | KKT residual |")
        print("|" + 12 * "---:|")
        for case in CASES:
            print(report(*case), flush=True)
        print("\nwithout a Gram matrix (D > 5000):\n")
        for case in NO_GRAM:
            print(report(*case), flush=True)


if __name__ == "__main__":
    main()
