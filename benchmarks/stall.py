"""Does a chain on a level set stall with ill-conditioned active columns, and with which projector?

The paper's experiment reduced to what could make it stall: N = 100, D = 2000, twelve active columns
in pairs so close that cond(X_A) is what the table says, coefficients fixed. Proposals are tangent
steps r + step P z, P by the explicit inverse of the KKT matrix (unguarded, as the paper has it), by
the Schur form, or from an orthonormal basis. They are accepted by Metropolis' rule if the inactive
correlations stay within lam and, in the second of two runs, if the active equations X_A'r = lam s
hold to TOLERANCE. Nothing is ever projected back, so that what rounding does adds up.

Run with ``python benchmarks/stall.py [cond ...]``; docs/samplers.md quotes its table. The whole
chain, which also changes its active set, is in ``python benchmarks/ppmh.py conditioning``.
"""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov.errors import SingularGram
from shtarkov.geometry import dense, make_active_factor, schur
from shtarkov.geometry.qr import basis_of

N, D, K, LAM = 100, 2000, 12, 2.62
CONDITIONS = (1e1, 1e2, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
N_STEPS, STEP, TOLERANCE = 10_000, 0.05, 1e-9
SEED = 20240501


def design(condition: float) -> Any:
    """Columns of length one, the first twelve in pairs of nearly equal ones."""
    X = np.random.default_rng(SEED).standard_normal((N, D))
    X /= np.linalg.norm(X, axis=0)
    X[:, 1:K:2] = X[:, 0:K:2] + 2.0 / condition * X[:, 1:K:2]
    return X / np.linalg.norm(X, axis=0)


def projectors(columns: Any) -> dict[str, Callable[[Any], Any] | None]:
    """Give the tangent projection by each route; None where it is refused."""
    block = dense.top_left_block(columns, 1.0, 0.0)
    basis, _, _ = basis_of(columns)
    by_route: dict[str, Callable[[Any], Any] | None] = {"dense": lambda z: block @ z}
    try:
        factor = make_active_factor(columns)
        by_route["schur"] = lambda z: schur.tangent_project(factor, z)
    except SingularGram:
        by_route["schur"] = None
    by_route["qr"] = lambda z: z - basis.T @ (basis @ z)
    return by_route


def walk(X: Any, project: Callable[[Any], Any], tolerance: float) -> tuple[float, float, float]:
    """Give the share accepted, that of the last tenth, and the worst residual met."""
    rng, active, signs = np.random.default_rng(SEED), X[:, :K], np.ones(K)
    others = np.ascontiguousarray(X[:, K:].T)
    triangle = np.linalg.qr(active)
    residual = triangle.Q @ np.linalg.solve(triangle.R.T, LAM * signs)
    accepted, worst = np.zeros(N_STEPS, bool), 0.0
    for t in range(N_STEPS):
        proposed = residual + STEP * project(rng.standard_normal(N))
        gain = 0.5 * (residual @ residual - proposed @ proposed)
        gap = float(np.abs(proposed @ active - LAM * signs).max())
        inside = gap <= tolerance and np.abs(others @ proposed).max() <= LAM
        if math.log(1.0 - rng.random()) < gain and inside:
            residual, accepted[t], worst = proposed, True, max(worst, gap)
    return float(accepted.mean()), float(accepted[-N_STEPS // 10 :].mean()), worst


def main() -> None:
    conditions = [float(given) for given in sys.argv[1:]] or CONDITIONS
    print(f"{platform.machine()}, Python {platform.python_version()}, one thread\n")
    print(
        "| cond(X_A) | route | accepted | worst X_A'r - lam s | accepted, equations to "
        f"{TOLERANCE:.0e} | of the last tenth |"
    )
    print("|---:|---|" + 4 * "---:|")
    with threadpool_limits(limits=1):
        for condition in conditions:
            X = design(condition)
            met = float(np.linalg.cond(X[:, :K]))
            for route, project in projectors(X[:, :K]).items():
                start = f"| {met:.0e} | {route} "
                if project is None:
                    print(f"{start}| refused | | | |", flush=True)
                    continue
                free, _, worst = walk(X, project, math.inf)
                held, late, _ = walk(X, project, TOLERANCE)
                print(f"{start}| {free:.3f} | {worst:.0e} | {held:.3f} | {late:.3f} |", flush=True)


if __name__ == "__main__":
    main()
