"""Times one step of the geometry by three routes, in one run, with compilation outside the clock.

A step is: at a proposed active set, what the pair volume with the current one needs. All three
answer the same question, agreement is checked before any timing, and BLAS runs on one thread.

* dense: tangent basis B at the current point, inverse of the (N + k) KKT matrix at the proposed
  one, determinant of size N - k (the paper's baseline), LAPACK throughout;
* Schur: k x k factor of the proposed Gram matrix and Sylvester's identity with B (the paper's);
* Gram-only: gather inner products, factor the proposed set, one k x k determinant (no N).

Run with ``python benchmarks/geometry.py``; docs/geometry.md quotes its table.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from shtarkov._jit import kernel
from shtarkov.geometry import dense, measure_rates, schur
from shtarkov.geometry.active_factor import factor_active
from shtarkov.geometry.pair_volume import log_pair_volume_step
from shtarkov.linalg.cholesky import cholesky

SIZES = (100, 200, 500, 1000, 2000)
ACTIVE_SIZES = (12, 60)
N_PROPOSALS = 16
SEED = 20240501


@kernel
def run_gram_only(gram, current, chol_current, proposals, n_steps, chol_proposed, cross):
    """Loop over steps inside compiled code: a call from Python costs more than the step."""
    k = current.shape[0]
    total = 0.0
    for step in range(n_steps):
        proposed = proposals[step % proposals.shape[0]]
        value, _ = log_pair_volume_step(
            gram, current, k, chol_current, proposed, k, chol_proposed, cross
        )
        total += value
    return total


@kernel
def dense_step(factor_current, X_proposed, curvature):
    return dense.log_pair_volume(factor_current, factor_active(X_proposed, curvature))


@kernel
def schur_step(factor_current, X_proposed, curvature):
    return schur.log_pair_volume(factor_current, factor_active(X_proposed, curvature))


def seconds_per_call(call: Callable[[], object], budget: float) -> float:
    """Repeat until the budget is used, at least twice, and give the fastest: CPUs are shared."""
    best = np.inf
    spent = 0.0
    n_calls = 0
    while n_calls < 2 or (spent < budget and n_calls < 200):
        start = time.perf_counter()
        call()
        elapsed = time.perf_counter() - start
        best = min(best, elapsed)
        spent += elapsed
        n_calls += 1
    return float(best)


class Problem:
    """A design with 2k columns: the first k are active now, proposals are other sets of k."""

    def __init__(self, n_samples: int, k: int, rng: np.random.Generator) -> None:
        X = rng.standard_normal((n_samples, 2 * k))
        self.k = k
        self.current = np.arange(k)
        self.proposals = np.stack([rng.permutation(2 * k)[:k] for _ in range(N_PROPOSALS)])
        self.gram = X.T @ X
        self.chol_current = np.zeros((k, k))
        cholesky(self.gram, k, self.chol_current)
        self.curvature = np.zeros((k, k))
        self.factor = factor_active(np.ascontiguousarray(X[:, :k]), self.curvature)
        self.X_proposed = np.ascontiguousarray(X[:, self.proposals[0]])
        self.work = np.zeros((k, k)), np.zeros((k, k))

    def dense(self) -> float:
        return dense_step(self.factor, self.X_proposed, self.curvature)

    def schur(self) -> float:
        return schur_step(self.factor, self.X_proposed, self.curvature)

    def gram_only(self, n_steps: int) -> float:
        return run_gram_only(
            self.gram, self.current, self.chol_current, self.proposals, n_steps, *self.work
        )


def check_agreement(problem: Problem) -> None:
    values = problem.dense(), problem.schur(), problem.gram_only(1)
    np.testing.assert_allclose(values, values[0], rtol=1e-9, atol=1e-9)


def report_compile_times(rng: np.random.Generator) -> None:
    problem = Problem(20, 3, rng)
    print("first call of each route (compilation, or loading it from the cache on disk):")
    for name, call in (
        ("dense", problem.dense),
        ("Schur", problem.schur),
        ("Gram-only", lambda: problem.gram_only(1)),
    ):
        start = time.perf_counter()
        call()
        print(f"  {name:<10} {time.perf_counter() - start:6.2f} s")


def time_row(n_samples: int, k: int, rng: np.random.Generator) -> str:
    problem = Problem(n_samples, k, rng)
    check_agreement(problem)
    n_steps = 200_000 // k
    gram_only = seconds_per_call(lambda: problem.gram_only(n_steps), 0.5) / n_steps
    schur_seconds = seconds_per_call(problem.schur, 0.5)
    dense_seconds = seconds_per_call(problem.dense, 1.0)
    return (
        f"| {n_samples} | {k} | {dense_seconds * 1e3:.3f} ms | {schur_seconds * 1e6:.0f} µs "
        f"| {gram_only * 1e6:.2f} µs | {dense_seconds / schur_seconds:,.0f} "
        f"| {dense_seconds / gram_only:,.0f} |"
    )


def main() -> None:
    rng = np.random.default_rng(SEED)
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one BLAS thread")
        report_compile_times(rng)
        print()
        print("| N | k | dense | Schur with B | Gram-only | dense / Schur | dense / Gram-only |")
        print("|---:|---:|---:|---:|---:|---:|---:|")
        for k in ACTIVE_SIZES:
            for n_samples in SIZES:
                print(time_row(n_samples, k, rng), flush=True)
        rates = measure_rates(rng)
        print()
        print("rates (multiplications per second):", *(f"{r:.1e}" for r in rates))


if __name__ == "__main__":
    main()
