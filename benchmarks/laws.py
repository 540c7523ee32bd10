"""The law of k under every sampler beside enumeration, and under one broken on purpose.

The designs are the `lasso_enumeration` cases of tests/data/oracles.json (6 rows, 4 columns), whose
stratum weights a_k were computed without this library. Under the target the share of k is
proportional to a_k lam^-k, and k, the penalty and n - |r|^2 have the same mean. `worst |z|` is over
the shares of k and these three means, each in units of the standard error of the draws themselves.

Run with ``python benchmarks/laws.py [sampler ...]``; docs/samplers.md quotes its table. "broken" is
PPMH without the determinants of its proposals.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import Lasso, sample
from shtarkov.diagnostics.convergence import mean_error
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import PENALTY, RESIDUAL_SQ, K
from shtarkov.sampling.ppmh_run import PpmhOptions, PpmhRun, make_proposal
from shtarkov.sampling.runs import Request
from shtarkov.seeds import rng_for

ORACLES = Path(__file__).resolve().parents[1] / "tests" / "data" / "oracles.json"
SEED, N_CHAINS = 20240501, 4
EPSILONS = (1.0, 0.3, 0.05)
# Draws over all chains. A draw of the last two holds several moves.
N_DRAWS = {"hmc": 600_000, "ppmh": 600_000, "coarea": 200_000, "tempering": 100_000}
WITH_EPSILON, BROKEN = ("ppmh", "coarea"), "broken"
# Shares smaller than this are too few draws for a normal error.
SMALLEST_SHARE = 1e-3


def row(name: str, law: Any, k: Any, penalty: Any, missing: Any) -> None:
    """Print one sampler's line; the arrays are (chain, draw)."""
    mean_k = float(law @ np.arange(law.size))
    checks = [(k == i, share) for i, share in enumerate(law) if share > SMALLEST_SHARE]
    checks += [(series, mean_k) for series in (k, penalty, missing)]
    worst = max(abs(float(np.mean(s)) - wanted) / mean_error(s) for s, wanted in checks)
    shares = " | ".join(f"{np.mean(k == i):.4f}" for i in range(law.size))
    means = " | ".join(f"{np.mean(series):.4f}" for series in (k, penalty, missing))
    print(f"| {name} | {k.size:,} | {shares} | {means} | {worst:.1f} |", flush=True)


def sampled(name: str, X: Any, lam: float, law: Any, sampler: str, **options: Any) -> None:
    chains = sample(
        Lasso(X), lam, sampler=sampler, n_draws=N_DRAWS[sampler] // N_CHAINS, n_chains=N_CHAINS,
        seed=SEED, n_jobs=1, progress=False, **options,
    )  # fmt: skip
    row(name, law, chains.k, chains.penalty, chains.n_dim - chains.residual_sq)


def without_determinant(X: Any, lam: float, law: Any) -> None:
    """PPMH whose ratio leaves out the determinants of the proposals' covariances."""
    family = family_of(Lasso(X), lam)
    request = Request(
        family=family, weight=lam, solver="schur", active=False, data=False, sigma=1.0, options={}
    )
    proposal = make_proposal(family, "schur", PpmhOptions(epsilon=0.3, step=3.0))
    traces = []
    for chain in range(N_CHAINS):
        rng = rng_for(SEED, 0, chain)
        start = rng.standard_normal(family.Xt.shape[1])
        run = PpmhRun(request, proposal._replace(log_epsilon=0.0), rng, start, adapt=False)
        traces.append(run.advance(N_DRAWS["ppmh"] // N_CHAINS).trace)
    trace = np.stack(traces)
    missing = family.Xt.shape[1] - trace[:, :, RESIDUAL_SQ]
    row("ppmh, 0.3, no determinant", law, trace[:, :, K], trace[:, :, PENALTY], missing)


def case(oracle: dict[str, Any], wanted: list[str]) -> None:
    X, lam = np.array(oracle["X"]), float(oracle["lam"])
    law = np.array(oracle["a"]) * lam ** -np.arange(len(oracle["a"]), dtype=float)
    law /= law.sum()
    shares = " | ".join(f"share of {k}" for k in range(law.size))
    print(f"\nlam = {lam:g}\n")
    print(f"| sampler | draws | {shares} | mean k | penalty | n - r^2 | worst abs(z) |")
    print("|---|" + (law.size + 5) * "---:|")
    exact = " | ".join(f"{share:.4f}" for share in law)
    print(f"| enumeration | | {exact} | {3 * f'{law @ np.arange(law.size):.4f} | '}|")
    for name in wanted:
        if name == BROKEN:
            without_determinant(X, lam, law)
        elif name in WITH_EPSILON:
            for epsilon in EPSILONS:
                sampled(f"{name}, {epsilon:g}", X, lam, law, name, epsilon=epsilon)
        else:
            sampled(name, X, lam, law, name)


def main() -> None:
    wanted = sys.argv[1:] or [*N_DRAWS, BROKEN]
    oracles = json.loads(ORACLES.read_text())
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread")
        for oracle in oracles:
            if oracle["name"] == "lasso_enumeration":
                case(oracle, wanted)


if __name__ == "__main__":
    main()
