"""Opponents that score the Lasso path once: AIC, BIC, EBIC, and the oracle.

LassoLarsIC estimates the noise by least squares on all columns, which needs more rows than columns;
elsewhere it is told the true noise scale where there is one, an advantage. `*_known` are told it
always. The extended criteria refit least squares on each support of the path; BIC keeps the Lasso's
coefficients, counting the non-zero ones.
"""

import time

import numpy as np
from benchmarks.selection.choice import Choice, least_squares
from benchmarks.selection.measures import risk
from benchmarks.selection.simulated import DataSet
from scipy.special import gammaln
from sklearn.linear_model import LassoLarsIC, lasso_path


def criteria(data: DataSet, rng: np.random.Generator) -> dict[str, Choice]:
    """Run every criterion that the data allow; nothing here is random."""
    del rng
    answers = _lars(data)
    start = time.perf_counter()
    centre, mean = data.X.mean(axis=0), float(data.y.mean())
    X, y = data.X - centre, data.y - mean
    alphas, coefs, _ = lasso_path(X, y)
    path_seconds = time.perf_counter() - start

    def choice(coef: np.ndarray, i: int, seconds: float) -> Choice:
        intercept = mean - float(centre @ coef)
        return Choice(coef, intercept, path_seconds + seconds, float(alphas[i]) * y.size)

    sizes = np.count_nonzero(coefs, axis=0)
    start = time.perf_counter()
    refitted = np.stack([least_squares(X, y, np.flatnonzero(c)) for c in coefs.T], axis=1)
    left = np.sum((y[:, None] - X @ refitted) ** 2, axis=0)
    n, n_features = X.shape
    log_count = _log_choose(n_features, sizes)
    price = sizes * np.log(n) + 2.0 * log_count
    score = n * np.log(np.maximum(left, 1e-300)) + price
    best = int(np.argmin(np.where(sizes <= n // 2, score, np.inf)))
    answers["ebic"] = choice(refitted[:, best], best, time.perf_counter() - start)
    if data.sigma is None:
        return answers
    best = int(np.argmin(left / data.sigma**2 + price))
    answers["ebic_known"] = choice(refitted[:, best], best, time.perf_counter() - start)
    start = time.perf_counter()
    residual_sq = np.sum((y[:, None] - X @ coefs) ** 2, axis=0)
    best = int(np.argmin(residual_sq / data.sigma**2 + sizes * np.log(n)))
    answers["bic_known"] = choice(coefs[:, best], best, time.perf_counter() - start)
    options = [choice(coefs[:, i], i, 0.0) for i in range(alphas.size)]
    answers["oracle"] = min(options, key=lambda option: risk(data, option))
    return answers


def _lars(data: DataSet) -> dict[str, Choice]:
    n, n_features = data.X.shape
    can_estimate = n > n_features + 1
    if not can_estimate and data.sigma is None:
        return {}
    variance = None if can_estimate else data.sigma**2  # type: ignore[operator]
    answers = {}
    for name in ("aic", "bic"):
        start = time.perf_counter()
        fitted = LassoLarsIC(name, noise_variance=variance).fit(data.X, data.y)
        seconds = time.perf_counter() - start
        lam = float(fitted.alpha_) * n
        answers[f"lars_{name}"] = Choice(
            fitted.coef_, float(fitted.intercept_), seconds, lam, {"told_sigma": not can_estimate}
        )
    return answers


def _log_choose(total: int, k: np.ndarray) -> np.ndarray:
    return gammaln(total + 1.0) - gammaln(k + 1.0) - gammaln(total - k + 1.0)
