"""`python -m shtarkov`: on the diabetes data, the fast geometry against the dense one.

The level sets of the Lasso (objective 1/2 |y - X b|^2 + lam |b|_1, no 1/n) at the observed response
and at a nearby one with another active set. Every quantity is computed by the dense route, which
inverts the whole KKT matrix, and by the reduced one, which factors the k by k Gram matrix.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso
from threadpoolctl import threadpool_limits

from shtarkov.compile_notice import compile_notice
from shtarkov.geometry import dense, schur
from shtarkov.geometry.active_factor import make_active_factor
from shtarkov.geometry.pair_volume import log_pair_volume_step
from shtarkov.types import Floats, Ints

# Timing a function takes this long, however quick the function is.
TIMING_SECONDS = 0.3
# Share of the smallest penalty that empties the model: 7 of the 10 columns stay.
LAM_SHARE = 0.05


class Row(NamedTuple):
    """One quantity by both routes; `difference` is relative to the dense value's size."""

    name: str
    difference: float
    dense_seconds: float
    reduced_seconds: float


def diabetes() -> tuple[Floats, Floats, list[str]]:
    """Give the design and the response, centred and scaled, and the columns' names."""
    data = load_diabetes()
    X, y = data.data, data.target
    X = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))
    return X, (y - y.mean()) / y.std(), list(data.feature_names)


def active_set(X: Floats, y: Floats, lam: float) -> Ints:
    """List the columns the Lasso keeps."""
    fit = Lasso(alpha=lam / y.size, fit_intercept=False, tol=1e-8, max_iter=100_000).fit(X, y)
    return np.flatnonzero(fit.coef_)


def nearby_active_set(X: Floats, y: Floats, lam: float, current: Ints) -> Ints:
    """Find another active set of the same size, at a response near y, as a sampler would."""
    rng = np.random.default_rng(0)
    while True:
        proposed = active_set(X, y + rng.normal(scale=0.3, size=y.size), lam)
        if proposed.size == current.size and not np.array_equal(proposed, current):
            return proposed


def seconds_per_call(call: Callable[[], Any]) -> float:
    """Time a call after the first, which may compile."""
    call()
    n_calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < TIMING_SECONDS:
        call()
        n_calls += 1
    return (time.perf_counter() - start) / n_calls


def compare(name: str, dense_call: Callable[[], Any], reduced_call: Callable[[], Any]) -> Row:
    """Compute a quantity by both routes and time both."""
    expected, found = np.asarray(dense_call()), np.asarray(reduced_call())
    difference = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    return Row(name, difference, seconds_per_call(dense_call), seconds_per_call(reduced_call))


def measure(X: Floats, y: Floats, current: Ints, proposed: Ints) -> list[Row]:
    """Compare the routes on a projection, a volume and a pair volume."""
    here = make_active_factor(X[:, current])
    there = make_active_factor(X[:, proposed])
    gram = X.T @ X
    k = current.size
    chol_out, cross = np.empty((k, k)), np.empty((k, k))

    def gram_only() -> float:
        value, _ = log_pair_volume_step(
            gram, current, k, here.chol_gram, proposed, k, chol_out, cross
        )
        return float(value)

    return [
        compare(
            "tangent projection of y",
            lambda: dense.tangent_project(here, y),
            lambda: schur.tangent_project(here, y),
        ),
        compare("log volume", lambda: dense.log_volume(here), lambda: schur.log_volume(here)),
        compare("log pair volume", lambda: dense.log_pair_volume(here, there), gram_only),
    ]


def readable(seconds: float) -> str:
    """Write a time with two digits and a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds * 1e9:.2g} ns"


def main() -> None:
    """Run the comparison and print it."""
    logging.basicConfig(level=logging.INFO, format="shtarkov: %(message)s")
    console = Console(highlight=False)
    X, y, names = diabetes()
    lam = LAM_SHARE * float(np.abs(X.T @ y).max())
    current = active_set(X, y, lam)
    proposed = nearby_active_set(X, y, lam, current)
    leaves, enters = np.setdiff1d(current, proposed), np.setdiff1d(proposed, current)
    console.print(
        f"Diabetes data: {X.shape[0]} patients (N), {X.shape[1]} measurements (D).\n"
        f"At lam = {lam:.3g} the Lasso keeps {', '.join(names[j] for j in current)};\n"
        f"at a nearby response {', '.join(names[j] for j in leaves)} makes way for "
        f"{', '.join(names[j] for j in enters)}."
    )
    with threadpool_limits(limits=1), compile_notice():
        rows = measure(X, y, current, proposed)
    table = Table("quantity", title="Geometry of a level set by two routes")
    for heading in ("difference", "dense", "reduced", "faster by"):
        table.add_column(heading, justify="right")
    for row in rows:
        ratio = row.dense_seconds / row.reduced_seconds
        times = readable(row.dense_seconds), readable(row.reduced_seconds)
        table.add_row(row.name, f"{row.difference:.0e}", *times, f"{float(f'{ratio:.2g}'):,.0f} x")
    console.print(table)
    console.print(
        "Dense inverts the paper's (N + k) by (N + k) matrix, reduced factors the k by k one.\n"
        "Time per call from Python, one thread, compile time excluded.",
        soft_wrap=True,
    )


if __name__ == "__main__":
    main()
