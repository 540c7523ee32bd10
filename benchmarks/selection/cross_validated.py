"""Opponents that split the data: LassoCV, its one-standard-error rule, the relaxed Lasso.

The three share one LassoCV run and its folds; `seconds` is what each would take alone.
"""

import time

import numpy as np
from benchmarks.selection.choice import Choice, least_squares
from benchmarks.selection.simulated import DataSet
from sklearn.linear_model import LassoCV, lasso_path
from sklearn.model_selection import KFold

N_FOLDS = 5
N_RELAXED_ALPHAS = 50
RELAXED_GAMMAS = np.linspace(0.0, 1.0, 10)


def cross_validated(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
    """Run LassoCV and derive the one-standard-error rule; run the relaxed Lasso on its folds."""
    folds = KFold(N_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    start = time.perf_counter()
    fitted = LassoCV(cv=folds).fit(data.X, data.y)
    seconds = time.perf_counter() - start
    n = data.y.size
    least = Choice(fitted.coef_, float(fitted.intercept_), seconds, float(fitted.alpha_) * n)
    return {
        "lasso_cv": least,
        "lasso_cv_1se": _one_standard_error(data, fitted, seconds),
        "relaxed_cv": relaxed_cv(data, folds),
    }


def _one_standard_error(data: DataSet, fitted: LassoCV, seconds: float) -> Choice:
    """Take the largest penalty whose mean error is within one standard error of the least."""
    mean = fitted.mse_path_.mean(axis=1)
    error = fitted.mse_path_.std(axis=1, ddof=1) / np.sqrt(N_FOLDS)
    best = int(np.argmin(mean))
    alpha = float(np.max(fitted.alphas_[mean <= mean[best] + error[best]]))
    centre = data.X.mean(axis=0)
    _, coefs, _ = lasso_path(data.X - centre, data.y - data.y.mean(), alphas=[alpha])
    coef = coefs[:, 0]
    intercept = float(data.y.mean() - centre @ coef)
    return Choice(coef, intercept, seconds, alpha * data.y.size)


def _relaxed_paths(
    X: np.ndarray, y: np.ndarray, alphas: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lasso coefficients, and least squares on their supports, for every penalty; centred data."""
    _, lasso, _ = lasso_path(X, y, alphas=alphas)
    free = np.zeros_like(lasso)
    last: np.ndarray = np.zeros(0, dtype=int)
    for i in range(alphas.size):
        support = np.flatnonzero(lasso[:, i])
        if i > 0 and np.array_equal(support, last):
            free[:, i] = free[:, i - 1]
        else:
            free[:, i] = least_squares(X, y, support)
        last = support
    return lasso, free


def relaxed_cv(data: DataSet, folds: KFold) -> Choice:
    """Choose alpha and gamma: gamma * Lasso + (1 - gamma) * least squares on its support."""
    start = time.perf_counter()
    X, y = data.X, data.y
    centre, mean = X.mean(axis=0), float(y.mean())
    largest = float(np.max(np.abs((X - centre).T @ (y - mean)))) / y.size
    alphas = largest * np.logspace(0.0, -3.0, N_RELAXED_ALPHAS)
    squared = np.zeros((N_RELAXED_ALPHAS, RELAXED_GAMMAS.size))
    for train, test in folds.split(X):
        offset, level = X[train].mean(axis=0), float(y[train].mean())
        lasso, free = _relaxed_paths(X[train] - offset, y[train] - level, alphas)
        shifted, target = X[test] - offset, (y[test] - level)[:, None]
        by_lasso, by_free = shifted @ lasso, shifted @ free
        for g, gamma in enumerate(RELAXED_GAMMAS):
            mixed = gamma * by_lasso + (1.0 - gamma) * by_free
            squared[:, g] += np.sum((target - mixed) ** 2, axis=0)
    a, g = (int(i) for i in np.unravel_index(np.argmin(squared), squared.shape))
    lasso, free = _relaxed_paths(X - centre, y - mean, alphas[: a + 1])
    gamma = float(RELAXED_GAMMAS[g])
    coef = gamma * lasso[:, a] + (1.0 - gamma) * free[:, a]
    seconds = time.perf_counter() - start
    intercept = mean - float(centre @ coef)
    return Choice(coef, intercept, seconds, float(alphas[a]) * y.size, {"gamma": gamma})
