"""Group recovery and prediction of the shortest code beside a cross-validated Group Lasso.

N rows are N(0, S), S_ij = 0.35^|i-j|; D columns in groups of five; the coefficients of the first
`active` groups are normal, scaled to the signal-to-noise ratio at sigma = 1. The rival is the Group
Lasso by the same solver, with lam chosen by 5-fold cross-validation over 100 penalties, and the
Lasso's matched code says what the groups are worth. Risk is that of the fit at new rows,
(b - beta)'S(b - beta); F1 is over groups. Standard errors over data sets are in brackets.

Run with ``python -m benchmarks.selection.groups``; docs/group_lasso.md quotes its table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from shtarkov import GroupLasso, Lasso, select
from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.families.solved_path import WarmSolver

SIZE, CORRELATION = 5, 0.35
# rows, columns, active groups, signal-to-noise ratio
SETTINGS = ((100, 50, 2, 0.5), (100, 50, 2, 3.0), (100, 200, 2, 1.0), (100, 200, 6, 2.0))
PURE_NOISE = (100, 200, 0, 0.0)
N_SETS, N_FOLDS, N_LAMS, SEED = 20, 5, 100, 7


class Data(NamedTuple):
    """One data set and its truth."""

    X: np.ndarray
    y: np.ndarray
    group_of: np.ndarray
    beta: np.ndarray
    covariance: np.ndarray


def draw(setting: tuple[int, int, int, float], index: int) -> Data:
    n, n_features, active, snr = setting
    rng = np.random.default_rng([SEED, n, n_features, active, index])
    apart = np.abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
    covariance = CORRELATION**apart
    X = rng.standard_normal((n, n_features)) @ np.linalg.cholesky(covariance).T
    beta = np.zeros(n_features)
    beta[: SIZE * active] = rng.standard_normal(SIZE * active)
    if active:
        beta *= np.sqrt(snr / (beta @ covariance @ beta))
    y = X @ beta + rng.standard_normal(n)
    return Data(X, y, np.arange(n_features) // SIZE, beta, covariance)


def grouped_code(data: Data) -> np.ndarray:
    return select(GroupLasso(data.X, data.group_of, fit_intercept=True), data.y, seed=1).coef


def column_code(data: Data) -> np.ndarray:
    problem = Lasso(data.X, fit_intercept=True)
    return select(problem, data.y, criterion="prediction", seed=1).coef


def path_of(X: np.ndarray, y: np.ndarray, group_of: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Coefficients and, last, the intercept at shares of the largest penalty."""
    problem = GroupLasso(X, group_of, fit_intercept=True)
    response, family = problem.design.reduce_response(y), family_of(problem, 1.0)
    solver, rows = WarmSolver(family, response.y), []
    for lam in shares * float(protocol.lam_max(family, response.y)):
        coef = solver.fit(float(lam)).coef
        rows.append([*coef, problem.design.unpenalised_coef(response, coef)[0]])
    return np.array(rows)


def cross_validated(data: Data) -> np.ndarray:
    ratio = 1e-3 if data.X.shape[0] > data.X.shape[1] else 1e-2
    shares = np.geomspace(0.999, ratio, N_LAMS)
    errors = np.zeros(N_LAMS)
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(data.X):
        rows = path_of(data.X[train], data.y[train], data.group_of, shares)
        predicted = rows[:, :-1] @ data.X[test].T + rows[:, -1:]
        errors += np.sum((predicted - data.y[test]) ** 2, axis=1)
    whole = path_of(data.X, data.y, data.group_of, shares)
    return np.asarray(whole[int(np.argmin(errors)), :-1])


METHODS: dict[str, Callable[[Data], np.ndarray]] = {
    "shortest group code": grouped_code,
    "group lasso, 5-fold CV": cross_validated,
    "Lasso, matched code": column_code,
}


def measure(data: Data, coef: np.ndarray) -> tuple[float, float, float]:
    """Give risk, F1 over groups, and whether the model is empty."""
    gap = coef - data.beta
    found = {int(g) for g in data.group_of[coef != 0.0]}
    true = {int(g) for g in data.group_of[data.beta != 0.0]}
    total = len(found) + len(true)
    f1 = 2.0 * len(found & true) / total if total else 1.0
    return float(gap @ data.covariance @ gap), f1, float(not found)


def with_error(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ({np.std(values, ddof=1) / np.sqrt(len(values)):.3f})"


def main() -> None:
    print("| N, D, active groups, SNR | method | risk | group F1 | empty | seconds |")
    print("|---|---|---:|---:|---:|---:|")
    with threadpool_limits(limits=1):
        for method in METHODS.values():  # compilation is not timed
            method(draw(SETTINGS[0], N_SETS))
        for setting in (*SETTINGS, PURE_NOISE):
            for name, method in METHODS.items():
                rows, begun = [], time.process_time()
                for index in range(N_SETS):
                    data = draw(setting, index)
                    rows.append(measure(data, method(data)))
                seconds = (time.process_time() - begun) / N_SETS
                risk, f1, empty = (list(column) for column in zip(*rows, strict=True))
                label = ", ".join(f"{item:g}" for item in setting)
                print(
                    f"| {label} | {name} | {with_error(risk)} | {with_error(f1)} "
                    f"| {np.mean(empty):.0%} | {seconds:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
