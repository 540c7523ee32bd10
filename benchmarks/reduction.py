"""Times the one pass over the rows, and shows that nothing after it depends on their number.

D = 50 columns and an intercept, one BLAS thread, least of three runs. "Reduce X" is the pass that
makes the design, "reduce y" what each data vector costs, "X.T @ X" the bare product of the same
shape for scale, "peak" the most memory `reduce X` held beside X itself (measured in a run of its
own). "Solve" is an exact Lasso at a data vector drawn in the reduced space, warm start, compiled
beforehand: what a sampler repeats. The second table has other containers at the largest N; a Dask
array's chunks are made by its scheduler inside the clock. The third shows the cost of block sizes.

Run with ``python benchmarks/reduction.py``.
"""

from __future__ import annotations

import platform
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import dask
import dask.array
import numpy as np
import pandas as pd
import scipy.sparse
from threadpoolctl import threadpool_limits

from shtarkov import Lasso
from shtarkov.families.compiled import family_of
from shtarkov.families.protocol import new_work, solve
from shtarkov.families.reduce import reduce_design

N_FEATURES = 50
SIZES = (1_000, 10_000, 100_000, 1_000_000)
BLOCK_SIZES = (256, 1024, 2048, 8192, 65_536)
N_SOLVES = 500
SEED = 20240501


def least_seconds(task: Callable[[], Any], repeats: int = 3) -> float:
    """Least wall time of a few runs."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def peak_megabytes(task: Callable[[], Any]) -> float:
    """Most memory a task held at once, beside what was there before."""
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def solve_microseconds(problem: Lasso, rng: np.random.Generator) -> float:
    """Mean time of an exact solve at data vectors of the reduced space."""
    n, scale = problem.design.X.shape[0], np.linalg.norm(problem.design.X, axis=0).max()
    vectors = rng.standard_normal((N_SOLVES, n))
    family = family_of(problem, scale)
    work = new_work(family, n)
    solve(family, vectors[0], work)  # compiles

    def run() -> None:
        for vector in vectors:
            solve(family, vector, work)

    return 1e6 * least_seconds(run, 20) / N_SOLVES


def size_row(n_samples: int, rng: np.random.Generator) -> str:
    X = rng.standard_normal((n_samples, N_FEATURES))
    y = rng.standard_normal(n_samples)
    problem = Lasso(X, fit_intercept=True)
    cells = (
        f"{least_seconds(lambda: Lasso(X, fit_intercept=True)):.4f}",
        f"{least_seconds(lambda: problem.design.reduce_response(y)):.4f}",
        f"{least_seconds(lambda: X.T @ X):.4f}",
        f"{peak_megabytes(lambda: Lasso(X, fit_intercept=True)):.1f}",
        f"{X.nbytes / 1e6:.1f}",
        " x ".join(str(size) for size in problem.design.X.shape),
        f"{solve_microseconds(problem, rng):.1f}",
    )
    return f"| {n_samples} | " + " | ".join(cells) + " |"


def containers(rng: np.random.Generator) -> dict[str, Any]:
    """Hold the largest design in every other way that is accepted."""
    X = rng.standard_normal((SIZES[-1], N_FEATURES))
    sparse = scipy.sparse.random_array(X.shape, density=0.05, format="csr", rng=rng)
    return {
        "Fortran order": np.asfortranarray(X),
        "float32": X.astype(np.float32),
        "pandas": pd.DataFrame(X),
        "sparse, 5% filled": sparse,
        "Dask, 20 chunks, from memory": dask.array.from_array(X, chunks=(50_000, N_FEATURES)),
        "Dask, 20 chunks, drawn": dask.array.random.default_rng(SEED).standard_normal(
            X.shape, chunks=(50_000, N_FEATURES)
        ),
    }


def main() -> None:
    rng = np.random.default_rng(SEED)
    with threadpool_limits(limits=1), dask.config.set(scheduler="synchronous"):
        print(f"{platform.machine()}, Python {platform.python_version()}, one BLAS thread\n")
        print(
            "| N | reduce X, s | reduce y, s | X.T @ X, s | peak, MB | X, MB | design | solve, us |"
        )
        print("|---:|---:|---:|---:|---:|---:|---:|---:|")
        for n_samples in SIZES:
            print(size_row(n_samples, rng), flush=True)
        y = rng.standard_normal(SIZES[-1])
        print(f"\n| X at N = {SIZES[-1]} | reduce X, s | reduce y, s |\n|---|---:|---:|")
        for name, X in containers(rng).items():
            design = reduce_design(X, fit_intercept=True)
            first = least_seconds(lambda X=X: reduce_design(X, fit_intercept=True), 2)
            second = least_seconds(lambda design=design: design.reduce_response(y), 2)
            print(f"| {name} | {first:.2f} | {second:.2f} |", flush=True)
        X = rng.standard_normal((SIZES[-2], N_FEATURES))
        print(f"\n| rows per block at N = {SIZES[-2]} | reduce X, s |\n|---:|---:|")
        for rows in BLOCK_SIZES:
            seconds = least_seconds(lambda rows=rows: reduce_design(X, block_rows=rows))
            print(f"| {rows} | {seconds:.4f} |", flush=True)


if __name__ == "__main__":
    main()
