"""Times the choice of a penalty beside scikit-learn's cross-validation of the same data.

`select` with the noise scale unknown and its defaults (standard error 0.1 nats), one thread,
compilation apart, beside `LassoCV(cv=5)`; both fit an intercept. Times are those of the process's
own processor clock (one thread, so wall time on a free core: the machine may be shared), the least
of several repetitions with other seeds.

Run with ``python benchmarks/selection_time.py``; docs/selection.md quotes its table.
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

import shtarkov

SEED = 20240501
CRITERIA = ("prediction", "structure", "auto")
# rows, columns, repetitions: five strong columns of equal size, signal to noise ratio 2.
CASES = ((100, 2000, 3), (100, 500, 3), (100, 50, 5), (1000, 50, 3))


def least(call: Callable[[int], Any], repetitions: int) -> tuple[float, Any]:
    """Give the least time, and the last result."""
    seconds, result = [], None
    for repetition in range(repetitions):
        start = time.process_time()
        result = call(repetition)
        seconds.append(time.process_time() - start)
    return min(seconds), result


def draw(n: int, n_features: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, n_features))
    signal = X[:, :5].sum(axis=1)
    return X, signal + np.sqrt(2.5) * rng.standard_normal(n)


def cross_validate(X: np.ndarray, y: np.ndarray) -> LassoCV:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may stop short of its tolerance
        return LassoCV(cv=5).fit(X, y)


def compare(name: str, X: np.ndarray, y: np.ndarray, repetitions: int) -> None:
    """Print one row per criterion."""

    def choose(criterion: str, seed: int) -> Any:
        problem = shtarkov.Lasso(X, fit_intercept=True)
        return shtarkov.select(problem, y, criterion=criterion, seed=seed, progress=False)

    theirs, _ = least(lambda _: cross_validate(X, y), repetitions)
    for criterion in CRITERIA:
        ours, report = least(lambda seed, of=criterion: choose(of, seed), repetitions)
        print(
            f"| {name} | {criterion} | {report.winner}, {report.support.size} columns "
            f"| {report.std_error:.2f} | {report.n_draws} | {ours:.3f} s | {theirs:.3f} s "
            f"| {ours / theirs:.2f} |",
            flush=True,
        )


def main() -> None:
    rng = np.random.default_rng(SEED)
    with threadpool_limits(limits=1):
        print(f"{platform.machine()}, Python {platform.python_version()}, one thread\n")
        for shape in ((40, 8), (20, 40)):  # compiles everything
            X, y = draw(*shape, rng)
            shtarkov.select(shtarkov.Lasso(X, fit_intercept=True), y, seed=0, progress=False)
        print("| data | criterion | choice | error, nats | draws | select | LassoCV | ratio |")
        print("|---|---|---|---:|---:|---:|---:|---:|")
        compare("diabetes, 442 x 10", *load_diabetes(return_X_y=True), repetitions=7)
        for n, n_features, repetitions in CASES:
            compare(f"{n} x {n_features}", *draw(n, n_features, rng), repetitions)


if __name__ == "__main__":
    main()
