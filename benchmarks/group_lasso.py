"""Times the Hamiltonian sampler of the Group Lasso where the paper's chains did not move.

N = 100, groups of five columns, lam found for the paper's mean number of active columns. Four
chains after warm-up; rank R-hat and ESS (bulk) are the worst over k, df, the norm, the envelope and
|r|^2. Times are those of the thread's own processor clock, warm-up excluded: the machine may be
shared. One thread, BLAS included. A second table holds the fibre move, which draws the groups'
lengths, against trajectories long enough to cross them.

Run with ``python benchmarks/group_lasso.py``; docs/group_lasso.md quotes its table.
"""

from __future__ import annotations

import platform
import time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import GroupLasso
from shtarkov.diagnostics.convergence import summarise
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import DF, ENVELOPE, KKT_RESIDUAL, NORM, RESIDUAL_SQ, K
from shtarkov.sampling.chain import Chain, flow_time_for
from shtarkov.seeds import rng_for

N, GROUP_SIZE = 100, 5
# (D, the paper's mean k, its ESS/s)
CASES = ((100, 23.0, "0.0107"), (500, 42.0, "0"), (2000, 58.0, "0"))
N_CHAINS, N_DRAWS, N_WARMUP = 4, 2000, 200
SEARCH_DRAWS, SEARCH_STEPS = 400, 8
# D and lam at which the fibre move is held against longer trajectories.
MOVES, MOVE_DRAWS = ((100, 0.2), (100, 0.5), (100, 1.2), (500, 1.35)), 600
SEED = 20240501


def started(problem: GroupLasso, lam: float, chain: int) -> Chain:
    made = Chain(family_of(problem, lam), lam, rng_for(SEED, 0, chain))
    made.warm_up(N_WARMUP)
    return made


class Measured(NamedTuple):
    """What chains of one problem gave."""

    draw_ms: float
    ess_share: float
    rank_rhat: float
    ess_per_s: float
    means: dict[int, float]
    violation: float
    failures: int


def measure(chains: list[Chain], n_draws: int) -> Measured:
    seconds = 0.0
    for chain in chains:
        begun = time.thread_time()
        chain.extend(n_draws)
        seconds += time.thread_time() - begun
    looked_at = (K, DF, NORM, ENVELOPE, RESIDUAL_SQ)
    found = [summarise(np.stack([c.column(i) for c in chains])) for i in looked_at]
    ess, draws = min(item.ess_bulk or 0.0 for item in found), len(chains) * n_draws
    return Measured(
        seconds / draws * 1e3,
        ess / draws,
        max(item.rank_rhat or np.inf for item in found),
        ess / seconds,
        {i: float(np.mean([c.column(i).mean() for c in chains])) for i in (K, DF)},
        max(float(c.column(KKT_RESIDUAL).max()) for c in chains),
        sum(int(c.failures[1:].sum()) for c in chains),
    )


def design(n_features: int) -> GroupLasso:
    X = np.random.default_rng(SEED).standard_normal((N, n_features)) / np.sqrt(N)
    return GroupLasso(X, np.arange(n_features) // GROUP_SIZE)


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
    problem = design(n_features)
    lam = penalty_for(problem, wanted)
    found = measure([started(problem, lam, i) for i in range(N_CHAINS)], N_DRAWS)
    return (
        f"| {n_features} | {lam:.3f} | {found.means[K]:.1f} | {found.means[DF]:.1f} "
        f"| {found.draw_ms:.2f} ms | {found.ess_share:.2f} | {found.rank_rhat:.4f} "
        f"| {found.ess_per_s:,.0f} | inf, {paper} | {found.violation:.0e} | {found.failures} |"
    )


def moves(n_features: int, lam: float) -> str:
    """Compare chains that draw the lengths with chains whose flow is long enough to cross them."""
    family, rates = family_of(design(n_features), lam), []
    for reach in (0.0, np.inf):
        chains = []
        for i in range(2):
            chain = Chain(family._replace(reach=reach), lam, rng_for(SEED, 0, i))
            if reach == 0.0:
                chain.flow_time = flow_time_for(family.reach / lam)
            chain.warm_up(N_WARMUP)
            chains.append(chain)
        found = measure(chains, MOVE_DRAWS)
        rates.append(f"{found.draw_ms:.2f} ms | {found.ess_share:.2f} | {found.ess_per_s:,.0f}")
    used = "yes" if family.reach > lam else "no"
    return f"| {n_features} | {lam:g} | {family.reach / lam:.2f} | {' | '.join(rates)} | {used} |"


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
        print("\n| D | lam | width | flow alone | ESS a draw | ESS/s ", end="")
        print("| lengths drawn | ESS a draw | ESS/s | used |")
        print("|" + 10 * "---:|")
        for move in MOVES:
            print(moves(*move), flush=True)


if __name__ == "__main__":
    main()
