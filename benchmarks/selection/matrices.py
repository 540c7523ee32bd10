"""What the shortest code chooses for matrices: denoising, and regressions with several targets.

Denoising: an m by n matrix of rank r, its singular values between `weakest` and twice `weakest`
times sqrt(m) + sqrt(n), in noise of scale one. Rivals: the penalty of least unbiased risk estimate,
which must be told the scale of the noise (Candes, Sing-Long and Trzasko 2013), and the best penalty
there is, which must be told the truth. Regression: N rows, D columns correlated 0.35 between
neighbours, q targets that share r combinations of them; rivals: 5-fold cross-validation over 60
penalties by our own solver, and the best penalty. Risk is the mean squared error of the fit, over
the entries of the matrix or over new rows; standard errors over data sets are in brackets.

Run with ``python -m benchmarks.selection.matrices``; docs/nuclear_norm.md quotes its table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from shtarkov import NuclearNorm, select
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.families.observables import DF, RESIDUAL_SQ
from shtarkov.families.solved_path import WarmSolver

# rows, columns, rank, weakest singular value
MATRICES = ((20, 30, 2, 0.8), (20, 30, 2, 1.5), (20, 30, 6, 1.0), (20, 30, 0, 0.0))
# rows, columns, targets, rank, signal-to-noise ratio of a target
DESIGNS = ((100, 15, 6, 1, 0.5), (100, 15, 6, 2, 2.0), (40, 20, 8, 2, 1.0), (100, 15, 6, 0, 0.0))
CORRELATION = 0.35
N_SETS, N_FOLDS, N_LAMS, SEED, STD_ERROR = 20, 5, 60, 7, 0.3


class Data(NamedTuple):
    """One data set, its truth, and the covariance risk is measured in (None: the entries)."""

    problem: NuclearNorm
    X: Any
    Y: np.ndarray
    truth: np.ndarray
    covariance: Any


def draw_matrix(setting: tuple[int, int, int, float], index: int) -> Data:
    m, n, rank, weakest = setting
    rng = np.random.default_rng([SEED, m, n, rank, index])
    left = np.linalg.qr(rng.standard_normal((m, max(rank, 1))))[0][:, :rank]
    right = np.linalg.qr(rng.standard_normal((n, max(rank, 1))))[0][:, :rank]
    values = weakest * (np.sqrt(m) + np.sqrt(n)) * (1.0 + rng.random(rank))
    truth = (left * values) @ right.T
    return Data(
        NuclearNorm(shape=(m, n)), None, truth + rng.standard_normal((m, n)), truth, np.eye(m)
    )


def draw_design(setting: tuple[int, int, int, int, float], index: int) -> Data:
    n, n_features, q, rank, snr = setting
    rng = np.random.default_rng([SEED, n, n_features, q, rank, index])
    apart = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    covariance = CORRELATION**apart
    X = rng.standard_normal((n, n_features)) @ np.linalg.cholesky(covariance).T
    truth = rng.standard_normal((n_features, rank)) @ rng.standard_normal((rank, q))
    if rank:
        truth *= np.sqrt(snr * q / np.trace(truth.T @ covariance @ truth))
    Y = X @ truth + rng.standard_normal((n, q))
    return Data(NuclearNorm(X, n_targets=q, fit_intercept=True), X, Y, truth, covariance)


def shortest(sigma: Any) -> Callable[[Data], np.ndarray]:
    def choose(data: Data) -> np.ndarray:
        report = select(data.problem, data.Y, sigma=sigma, std_error=STD_ERROR, seed=1, n_jobs=1)
        return np.asarray(report.coef).reshape(data.truth.shape)

    return choose


def solved(problem: NuclearNorm, Y: np.ndarray) -> tuple[Any, WarmSolver, np.ndarray]:
    """Give the reduced data, their solver, and penalties from the largest useful one down."""
    response, family = problem.design.reduce_response(Y), family_of(problem, 1.0)
    top = float(protocol.lam_max(family, response.y))
    return response, WarmSolver(family, response.y), top * np.geomspace(0.999, 1e-2, N_LAMS)


def path_of(data: Data) -> list[np.ndarray]:
    _, solver, lams = solved(data.problem, data.Y)
    return [solver.fit(float(lam)).coef.reshape(data.truth.shape) for lam in lams]


def least_risk_estimate(data: Data) -> np.ndarray:
    _, solver, lams = solved(data.problem, data.Y)
    rows = [solver.row(float(lam)) for lam in lams]
    best = int(np.argmin([row[RESIDUAL_SQ] + 2.0 * row[DF] for row in rows]))
    return path_of(data)[best]


def best_there_is(data: Data) -> np.ndarray:
    return min(path_of(data), key=lambda coef: risk_of(data, coef))


def cross_validated(data: Data) -> np.ndarray:
    errors = np.zeros(N_LAMS)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(data.X):
        problem = NuclearNorm(data.X[train], n_targets=data.Y.shape[1], fit_intercept=True)
        response, solver, lams = solved(problem, data.Y[train])
        for i, lam in enumerate(lams):
            coef = solver.fit(float(lam)).coef
            intercept = problem.design.unpenalised_coef(response, coef)[0]
            predicted = data.X[test] @ coef.reshape(data.truth.shape) + intercept
            errors[i] += np.sum((data.Y[test] - predicted) ** 2)
    return path_of(data)[int(np.argmin(errors))]


DENOISING = {
    "shortest code": shortest("unknown"),
    "shortest code, told the noise": shortest(1.0),
    "unbiased risk estimate, told the noise": least_risk_estimate,
    "best penalty": best_there_is,
}
REGRESSION = {
    "shortest code": shortest("unknown"),
    "5-fold CV": cross_validated,
    "best penalty": best_there_is,
}


def risk_of(data: Data, coef: np.ndarray) -> float:
    gap = coef - data.truth
    size = data.truth.size if data.X is None else data.truth.shape[1]
    return float(np.trace(gap.T @ data.covariance @ gap)) / size


def with_error(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({np.std(values, ddof=1) / np.sqrt(len(values)):.3f})"


def report(setting: Any, draw: Any, methods: dict[str, Callable[[Data], np.ndarray]]) -> None:
    label = ", ".join(f"{item:g}" for item in setting)
    data_sets = [draw(setting, index) for index in range(N_SETS)]
    for name, method in methods.items():
        begun = time.process_time()
        found = [method(data) for data in data_sets]
        seconds = (time.process_time() - begun) / N_SETS
        risks = [risk_of(data, coef) for data, coef in zip(data_sets, found, strict=True)]
        ranks = [int(np.linalg.matrix_rank(coef, tol=1e-6)) for coef in found]
        print(
            f"| {label} | {name} | {with_error(risks)} | {np.mean(ranks):.1f} "
            f"| {np.mean(np.array(ranks) == 0):.0%} | {seconds:.2f} |",
            flush=True,
        )


def main() -> None:
    with threadpool_limits(limits=1):
        for methods, draw, first in (
            (DENOISING, draw_matrix, MATRICES[0]), (REGRESSION, draw_design, DESIGNS[0]),
        ):  # fmt: skip
            for method in methods.values():  # compilation is not timed
                method(draw(first, N_SETS))
        print("| m, n, rank, weakest | method | risk | rank | empty | seconds |")
        print("|---|---|---:|---:|---:|---:|")
        for setting in MATRICES:
            report(setting, draw_matrix, DENOISING)
        print("\n| N, D, targets, rank, SNR | method | risk | rank | empty | seconds |")
        print("|---|---|---:|---:|---:|---:|")
        for setting in DESIGNS:
            report(setting, draw_design, REGRESSION)


if __name__ == "__main__":
    main()
