"""Group recovery and prediction of the shortest code beside a cross-validated Group Lasso.

N rows are N(0, S), S_ij = 0.35^|i-j|; D columns in groups of five; the coefficients of the first
`active` groups are normal, scaled to the signal-to-noise ratio at sigma = 1. The rival is skglm's
GroupLasso with lam chosen by 5-fold cross-validation over 100 penalties; the same folds by our own
solver must come to the same, and the Lasso's matched code says what the groups are worth. "Best on
the path" knows the truth: the least risk of any penalty. Risk is that of the fit at new rows,
(b - beta)'S(b - beta); F1 is over groups. Standard errors over data sets are in brackets; "against
CV" is the mean difference of risk from skglm's on the same data.

Run with ``python -m benchmarks.selection.groups`` after ``pip install skglm`` (it fits beside the
library); docs/group_lasso.md quotes its table.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import skglm
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
# Accuracy wanted of the codelengths, in nats: a fraction of what separates models.
STD_ERROR = 0.3
RIVAL = "skglm, 5-fold CV"

Path = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


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
    problem = GroupLasso(data.X, data.group_of, fit_intercept=True)
    return select(problem, data.y, std_error=STD_ERROR, seed=1, n_jobs=1).coef


def column_code(data: Data) -> np.ndarray:
    problem = Lasso(data.X, fit_intercept=True)
    options = {"criterion": "prediction", "std_error": STD_ERROR, "seed": 1, "n_jobs": 1}
    return select(problem, data.y, **options).coef


def shares_of(data: Data) -> np.ndarray:
    """Penalties as shares of the largest useful one, as in glmnet."""
    ratio = 1e-3 if data.X.shape[0] > data.X.shape[1] else 1e-2
    return np.geomspace(0.999, ratio, N_LAMS)


def own_path(X: np.ndarray, y: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Coefficients and, last, the intercept at shares of the largest penalty."""
    problem = GroupLasso(X, np.arange(X.shape[1]) // SIZE, fit_intercept=True)
    response, family = problem.design.reduce_response(y), family_of(problem, 1.0)
    solver, rows = WarmSolver(family, response.y), []
    for lam in shares * float(protocol.lam_max(family, response.y)):
        coef = solver.fit(float(lam)).coef
        rows.append([*coef, problem.design.unpenalised_coef(response, coef)[0]])
    return np.array(rows)


def skglm_path(X: np.ndarray, y: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Do the same with skglm, warm from one penalty to the next."""
    n, n_groups = X.shape[0], X.shape[1] // SIZE
    pull = (X - X.mean(axis=0)).T @ (y - y.mean())
    largest = np.linalg.norm(pull.reshape(n_groups, SIZE), axis=1).max() / np.sqrt(SIZE) / n
    weights = np.full(n_groups, np.sqrt(SIZE))
    model = skglm.GroupLasso(SIZE, weights=weights, tol=1e-6, warm_start=True)
    rows = []
    for alpha in shares * largest:
        model.set_params(alpha=float(alpha)).fit(X, y)
        rows.append([*model.coef_, model.intercept_])
    return np.array(rows)


def cross_validated(path: Path) -> Callable[[Data], np.ndarray]:
    """Choose the penalty by the mean squared error of five folds."""

    def choose(data: Data) -> np.ndarray:
        shares, errors = shares_of(data), np.zeros(N_LAMS)
        for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(data.X):
            rows = path(data.X[train], data.y[train], shares)
            predicted = rows[:, :-1] @ data.X[test].T + rows[:, -1:]
            errors += np.sum((predicted - data.y[test]) ** 2, axis=1)
        whole = path(data.X, data.y, shares)
        return np.asarray(whole[int(np.argmin(errors)), :-1])

    return choose


def best_on_the_path(data: Data) -> np.ndarray:
    rows = own_path(data.X, data.y, shares_of(data))[:, :-1]
    return np.asarray(min(rows, key=lambda coef: measure(data, coef)[0]))


METHODS: dict[str, Callable[[Data], np.ndarray]] = {
    "shortest group code": grouped_code,
    RIVAL: cross_validated(skglm_path),
    "own solver, 5-fold CV": cross_validated(own_path),
    "Lasso, matched code": column_code,
    "best on the path": best_on_the_path,
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


def report(setting: tuple[int, int, int, float]) -> None:
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for index in range(N_SETS):
        data = draw(setting, index)
        for name, method in METHODS.items():
            begun = time.process_time()
            coef = method(data)
            seconds[name] += time.process_time() - begun
            rows[name].append(measure(data, coef))
    label = ", ".join(f"{item:g}" for item in setting)
    for name in METHODS:
        risk, f1, empty = (list(column) for column in zip(*rows[name], strict=True))
        beside = [mine - other[0] for mine, other in zip(risk, rows[RIVAL], strict=True)]
        print(
            f"| {label} | {name} | {with_error(risk)} | {with_error(beside)} | {with_error(f1)} "
            f"| {np.mean(empty):.0%} | {seconds[name] / N_SETS:.2f} |",
            flush=True,
        )


def main() -> None:
    print("| N, D, active groups, SNR | method | risk | against CV | group F1 | empty | seconds |")
    print("|---|---|---:|---:|---:|---:|---:|")
    with threadpool_limits(limits=1):
        for method in METHODS.values():  # compilation is not timed
            method(draw(SETTINGS[0], N_SETS))
        for setting in (*SETTINGS, PURE_NOISE):
            report(setting)


if __name__ == "__main__":
    main()
