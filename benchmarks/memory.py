"""Peak memory of each sampler where neither a D by D nor an N by N array should be made.

Two designs: many columns (beyond 5000 no Gram matrix is held) and many rows. Each sampler runs in a
process of its own, which first samples a small design, so that compilation is not counted; the
figure is the growth of the process's largest resident size, the design and all copies of it
included. Compiled code takes memory that Python's own tracing does not see.

Run with ``python benchmarks/memory.py``; docs/samplers.md quotes its table.
"""

from __future__ import annotations

import multiprocessing
import platform
import resource
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov import Lasso, sample

SHAPES = ((500, 12_000), (20_000, 200))
N_NONZERO = 12
SEED = 20240501
MEGABYTE = 2.0**20
SAMPLERS = ("hmc", "ppmh", "coarea", "level_set", "tempering")
# ru_maxrss is in kilobytes, on macOS in bytes.
UNIT = 1.0 if platform.system() == "Darwin" else 1024.0


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def draw(sampler: str, n: int, n_features: int) -> None:
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, n_features))
    lam = 0.9 * np.sqrt(2.0 * n * np.log(n_features))
    options: dict[str, Any] = {}
    if sampler == "level_set":
        coef = np.zeros(n_features)
        coef[: min(N_NONZERO, n_features // 2)] = 1.0
        options["coef"] = coef
    if sampler == "tempering":
        options["lams"] = [lam, 1.1 * lam]
    sample(
        Lasso(X), lam, sampler=sampler, n_draws=5, n_warmup=5, n_chains=1, n_jobs=1, seed=SEED,
        progress=False, **options,
    )  # fmt: skip


def growth(sampler: str, n: int, n_features: int) -> float:
    """Give the bytes by which the large run raises this process's peak."""
    with threadpool_limits(limits=1):
        draw(sampler, 8, 6)
        before = peak()
        draw(sampler, n, n_features)
    return peak() - before


def main() -> None:
    print(f"{platform.machine()}, Python {platform.python_version()}")
    print("\n| N | D | design | N by N | D by D | sampler | growth of the peak | in designs |")
    print("|---:|---:|---:|---:|---:|---|---:|---:|")
    context = multiprocessing.get_context("spawn")
    for n, n_features in SHAPES:
        sizes = [8 * size / MEGABYTE for size in (n * n_features, n * n, n_features**2)]
        arrays = " | ".join(f"{size:,.0f} MB" for size in sizes)
        for sampler in SAMPLERS:
            with context.Pool(1) as pool:
                found = pool.apply(growth, (sampler, n, n_features)) / MEGABYTE
            print(
                f"| {n} | {n_features} | {arrays} | {sampler} | {found:,.0f} MB "
                f"| {found / sizes[0]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
