"""Shows how long a move should be when the weight of the norm is above the penalty.

At weight tau the walls between strata are tau / lam times steeper than those of the matched target,
so the steps must be shorter. Printed: effective draws of k a second of processor time for moves
whose length falls with the steepness to several powers, on an orthonormal and a wide design.

Run with ``python benchmarks/steep_walls.py``.
"""

from __future__ import annotations

import time

import numpy as np

from shtarkov import Lasso
from shtarkov.blas import one_blas_thread
from shtarkov.diagnostics.convergence import effective_size
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import K
from shtarkov.sampling import chain as chains
from shtarkov.seeds import rng_for

SEED = 20240502
STEEPNESS = (3.0, 9.0, 27.0)
POWERS = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)
N_DRAWS = 2000


def effective_draws_a_second(problem: Lasso, lam: float, steepness: float, power: float) -> float:
    kept = chains.STEEP_POWER, chains.MAX_LEAPS
    chains.STEEP_POWER, chains.MAX_LEAPS = power, 150
    try:
        chain = chains.Chain(family_of(problem, lam), lam * steepness, rng_for(SEED, 0, 0))
    finally:
        chains.STEEP_POWER = kept[0]
    chain.warm_up(100)
    start = time.thread_time()
    chain.extend(N_DRAWS)
    seconds = time.thread_time() - start
    chains.MAX_LEAPS = kept[1]
    return float(effective_size(chain.column(K)[None]) or 0.0) / seconds


def main() -> None:
    rng = np.random.default_rng(SEED)
    wide = rng.standard_normal((60, 200)) / np.sqrt(60)
    print("design            steepness   " + "  ".join(f"power {p:4.2f}" for p in POWERS))
    with one_blas_thread():
        for name, X, lam in (("orthonormal", np.eye(200), 0.7), ("60 x 200", wide, 1.0)):
            for steepness in STEEPNESS:
                rates = [effective_draws_a_second(Lasso(X), lam, steepness, p) for p in POWERS]
                shown = "  ".join(f"{rate:10,.0f}" for rate in rates)
                print(f"{name:16s}  {steepness:9.0f}   {shown}", flush=True)


if __name__ == "__main__":
    main()
