"""Times ln C along a penalty path beside scikit-learn's cross-validation of the same data.

Three cases: 30 penalties down to a mean k of about N/4 at N = 100, D = 2000 with standard error
0.1 beside `LassoCV(cv=5)`; the diabetes data (442 x 10); a million rows of 50 columns, whose cost
after one pass does not depend on them. Wall times of one thread, the least of several repetitions,
compilation apart; the machine may be shared, so that the ratios say more than the seconds.

Run with ``python benchmarks/path.py``; docs/samplers.md quotes its table.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV
from threadpoolctl import threadpool_limits

from shtarkov import Lasso, complexity_path

REPETITIONS = 3
N_LAMS = 30
SEED = 20240501


def least(call: Callable[[], Any], repetitions: int = REPETITIONS) -> tuple[float, Any]:
    best, result = np.inf, None
    for _ in range(repetitions):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return float(best), result


def path(problem: Lasso, lams: np.ndarray, std_error: float) -> Any:
    return complexity_path(problem, lams, std_error=std_error, seed=1, progress=False)


def tell(name: str, ours: float, found: Any, theirs: float) -> None:
    print(
        f"| {name} | {found.lams.size} | {found.mean_df.max():.1f} | {found.ln_c.max():.2f} "
        f"± {found.std_error.max():.2f} | {found.n_draws} | {ours:.3f} s | {theirs:.3f} s "
        f"| {ours / theirs:.2f} |",
        flush=True,
    )


def cross_validation(X: np.ndarray, y: np.ndarray) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may stop short of its tolerance
        return least(lambda: LassoCV(cv=5, fit_intercept=False).fit(X, y))[0]


def wide(rng: np.random.Generator) -> None:
    X = rng.standard_normal((100, 2000)) / 10.0
    y = X[:, :5].sum(axis=1) * 5.0 + rng.standard_normal(100)
    lams = np.geomspace(2.2, 4.5, N_LAMS)
    seconds, found = least(lambda: path(Lasso(X), lams, 0.1))
    tell("100 x 2000", seconds, found, cross_validation(X, y))


def diabetes() -> None:
    X, y = load_diabetes(return_X_y=True)
    problem = Lasso(X, fit_intercept=True)
    lams = np.geomspace(0.3, 4.0, N_LAMS)
    seconds, found = least(lambda: path(problem, lams, 0.1), 7)
    tell("diabetes, 442 x 10", seconds, found, cross_validation(X, y - y.mean()))


def tall(rng: np.random.Generator) -> None:
    X = rng.standard_normal((10**6, 50))
    y = X[:, 0] + rng.standard_normal(10**6)
    lams = np.geomspace(500.0, 4000.0, N_LAMS)
    reduction, problem = least(lambda: Lasso(X), 1)
    seconds, found = least(lambda: path(problem, lams, 0.1))
    tell("1,000,000 x 50, after its pass", seconds, found, cross_validation(X, y))
    print(f"\nthe pass over the million rows: {reduction:.2f} s")


def main() -> None:
    rng = np.random.default_rng(SEED)
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread")
        start = time.perf_counter()
        path(Lasso(np.eye(3)), np.array([1.0]), 0.3)
        print(f"first path of the process: {time.perf_counter() - start:.1f} s (compilation)\n")
        print("| design | penalties | largest mean k | ln C | draws | path | LassoCV | ratio |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|")
        wide(rng)
        diabetes()
        tall(rng)


if __name__ == "__main__":
    main()
