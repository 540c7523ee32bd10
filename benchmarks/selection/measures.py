"""What is recorded of a choice.

Simulated data (population quantities, no test rows): with d = estimate - beta,

* risk: (d'Sd + intercept^2) / sigma^2, the excess squared error in units of the noise;
* test_error: 1 + risk, the relative test error of Hastie, Tibshirani and Tibshirani;
* relative_risk: d'Sd / beta'S beta; 1 for the empty model;
* f1 of the support (of the strong coefficients where sparsity is weak); in pure noise 1 if the
  empty model was chosen and 0 otherwise.

Tables: test_error is the held-out squared error over that of the training mean.
"""

from typing import Any

import numpy as np
from benchmarks.selection.choice import Choice
from benchmarks.selection.simulated import DataSet, covariance

# A penalty of zero, the end of a path, counts as this share of the largest.
LEAST_SHARE = 1e-4


def risk(data: DataSet, choice: Choice) -> float:
    """Excess squared error in units of the noise variance."""
    assert data.beta is not None
    assert data.sigma is not None
    difference = choice.coef - data.beta
    S = covariance(difference.size, data.correlation)
    return float(difference @ S @ difference + choice.intercept**2) / data.sigma**2


def support_f1(found: np.ndarray, true: np.ndarray) -> float:
    """Harmonic mean of precision and recall; two empty supports agree."""
    if found.size + true.size == 0:
        return 1.0
    return 2.0 * np.intersect1d(found, true).size / (found.size + true.size)


def measure(data: DataSet, choice: Choice) -> dict[str, Any]:
    """Give everything recorded of one fit."""
    support = np.flatnonzero(choice.coef)
    row: dict[str, Any] = {"seconds": choice.seconds, "lam": choice.lam, "k": int(support.size)}
    row |= {"notes": choice.notes}
    if data.beta is None:
        assert data.X_test is not None
        assert data.y_test is not None
        wrong = data.y_test - choice.intercept - data.X_test @ choice.coef
        alone = data.y_test - data.y.mean()
        return row | {"test_error": float(wrong @ wrong / (alone @ alone))}
    assert data.support is not None
    excess = risk(data, choice)
    row |= {"risk": excess, "test_error": 1.0 + excess}
    row |= {"f1": support_f1(support, data.support)}
    S = covariance(data.beta.size, data.correlation)
    signal = float(data.beta @ S @ data.beta)
    if signal > 0.0:
        assert data.sigma is not None
        row["relative_risk"] = excess * data.sigma**2 / signal
    return row


def spread(data: DataSet, choices: list[Choice]) -> dict[str, Any]:
    """How much the answers from several half-samples of one data set differ.

    Standard deviation of ln lam (of those that have one, if they are more than half), mean Jaccard
    distance between two supports, and root mean squared deviation of the fitted values from their
    mean over the noise scale.
    """
    centred = (data.X - data.X.mean(axis=0)).T @ (data.y - data.y.mean())
    least = LEAST_SHARE * float(np.max(np.abs(centred)))
    with_lam = [choice.lam for choice in choices if np.isfinite(choice.lam)]
    logs = np.log(np.maximum(with_lam, least))
    supports = [frozenset(np.flatnonzero(choice.coef).tolist()) for choice in choices]
    distances = [
        1.0 - len(a & b) / max(len(a | b), 1) if a | b else 0.0
        for i, a in enumerate(supports)
        for b in supports[:i]
    ]
    fits = np.array([choice.intercept + data.X @ choice.coef for choice in choices])
    scale = data.sigma if data.sigma is not None else float(np.std(data.y))
    return {
        "lam_spread": float(np.std(logs, ddof=1)) if logs.size > len(choices) / 2 else None,
        "support_spread": float(np.mean(distances)),
        "fit_spread": float(np.sqrt(np.mean((fits - fits.mean(axis=0)) ** 2)) / scale),
        "seconds": float(sum(choice.seconds for choice in choices)),
    }
