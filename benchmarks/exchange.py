"""The samplers beside each other, and what replica exchange buys where single chains are trapped.

Two targets on one small design whose law of k is enumerated: the matched one (tau = lam), which is
log-concave, and a luckiness weight a thousand times smaller, where a coefficient of length 1 / tau
hardly ever meets zero. Then one larger matched target. Four chains each; replica exchange gets as
many Hamiltonian moves, over all its rungs, as the single chains. Seconds are of processor time,
compilation outside; ESS and R-hat are arviz's, of k.

Run with ``python benchmarks/exchange.py``; docs/samplers.md quotes its tables.
"""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import Lasso, ladder_complexity, sample
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.sampling.chains import Chains

SEED, N_DRAWS = 20240501, 2000
SMALL, LAM, TAUS = (6, 4), 2.0, (2.0, 0.2, 0.02, 0.002)
LARGE, LARGE_LAM = (100, 500), 2.32
# Draws relative to those of "hmc": a PPMH step is a small one.
SAMPLERS = {"hmc": 1, "coarea": 1, "ppmh": 8}


def timed(
    problem: Any, lam: float, n_draws: int = N_DRAWS, **settings: Any
) -> tuple[Chains, float]:
    """Draw, and give the processor time; a few draws before that compile."""
    common = {"n_jobs": 1, "progress": False, "seed": SEED, **settings}
    sample(problem, lam, n_draws=5, n_warmup=5, **common)
    began = time.process_time()
    chains = sample(problem, lam, n_draws=n_draws, **common)
    return chains, time.process_time() - began


def row(target: str, name: str, chains: Chains, seconds: float, exact: str) -> None:
    k = chains.summary()["k"]
    means = " ".join(f"{mean:.2f}" for mean in chains.k.mean(axis=1))
    ess = "-" if k.ess_bulk is None else f"{k.ess_bulk:,.0f} | {k.ess_bulk / seconds:,.0f}"
    rhat = "-" if k.rank_rhat is None else f"{k.rank_rhat:.3f}"
    print(
        f"| {target} | {name} | {chains.n_draws} | {exact} | {means} | {rhat} | {ess} |",
        flush=True,
    )


def swaps(chains: Chains) -> str:
    found = chains.exchange
    return (
        f"{chains.ladder.shape[0]} rungs, swap rates {found.swap_rates.min():.2f} to "
        f"{found.swap_rates.max():.2f}, a round trip in {found.draws_per_round_trip:.0f} draws"
    )


def small() -> list[str]:
    X = np.random.default_rng(SEED).standard_normal(SMALL)
    problem, table, notes = Lasso(X), enumerate_strata(X, LAM), []
    for tau in TAUS:
        exact, target = f"{table.mean_k(tau)[0]:.2f}", f"tau = {tau:g}"
        together, seconds = timed(problem, LAM, tau=tau, sampler="tempering")
        row(target, "tempering", together, seconds, exact)
        moves = N_DRAWS * together.ladder.shape[0]
        for sampler, longer in SAMPLERS.items():
            alone, seconds = timed(problem, LAM, longer * moves, tau=tau, sampler=sampler)
            row(target, sampler, alone, seconds, exact)
        notes.append(f"{target}: {swaps(together)}")
        if tau != LAM:
            found, wanted = ladder_complexity(together), table.ln_c(tau)[0] - table.ln_c(LAM)[0]
            notes[-1] += (
                f"; ln C(tau) - ln C(lam) = {found.ln_ratio[0]:.3f}, error "
                f"{found.std_error[0]:.3f}, by enumeration {wanted:.3f}"
            )
    return notes


def large() -> str:
    X = np.random.default_rng(SEED).standard_normal(LARGE) / np.sqrt(LARGE[0])
    problem, target = Lasso(X), "100 x 500, matched"
    together, seconds = timed(problem, LARGE_LAM, sampler="tempering", n_draws=N_DRAWS // 4)
    row(target, "tempering", together, seconds, "")
    for sampler, longer in SAMPLERS.items():
        alone, seconds = timed(problem, LARGE_LAM, longer * N_DRAWS, sampler=sampler)
        row(target, sampler, alone, seconds, "")
    return f"{target}: {swaps(together)}"


def main() -> None:
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread\n")
        print("| target | sampler | draws | exact k | k of each chain | R-hat | ESS | ESS/s |")
        print("|---|---|" + 6 * "---:|")
        notes = small()
        notes.append(large())
        print("\n" + "\n".join(f"* {note}" for note in notes))


if __name__ == "__main__":
    main()
