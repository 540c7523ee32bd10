"""The law of the labels where every column is out: lam = infinity.

Without an intercept all labelings weigh the same. With one, the objective depends on the number n+
of positive labels alone: 2 min(n+, n-) for the hinge, 2 n+ n- / N for the squared hinge, the
entropy for the logistic loss.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from shtarkov.families.label_problems import LabelProblem
from shtarkov.types import Floats


def empty_energies(problem: LabelProblem) -> Floats:
    """Give the objective at w = 0 for n+ = 0 ... N."""
    n = problem.design.n_samples
    positive = np.arange(n + 1.0)
    if not problem.fit_intercept:
        at_zero = {"hinge": 1.0, "squared_hinge": 0.5, "logistic": math.log(2.0)}
        return np.full(n + 1, n * at_zero[problem.loss])
    negative = n - positive
    if problem.loss == "hinge":
        return np.asarray(2.0 * np.minimum(positive, negative))
    if problem.loss == "squared_hinge":
        return 2.0 * positive * negative / n
    entropy = -xlogy(positive, positive / n) - xlogy(negative, negative / n)
    return np.asarray(entropy)


def log_counts(n: int) -> Floats:
    """Give ln binom(n, n+) for n+ = 0 ... n."""
    positive = np.arange(n + 1.0)
    return np.asarray(gammaln(n + 1.0) - gammaln(positive + 1.0) - gammaln(n - positive + 1.0))


def ln_c_without_columns(problem: LabelProblem, eta: float) -> float:
    """Give ln C at lam = infinity."""
    weights = log_counts(problem.design.n_samples) - eta * empty_energies(problem)
    return float(logsumexp(weights))


def bernoulli_ln_c(n: int) -> float:
    """Give ln C of the plain Bernoulli model: sum over n+ of binom * (p^p (1 - p)^(1 - p))^n."""
    positive = np.arange(n + 1.0)
    fit = xlogy(positive, positive / n) + xlogy(n - positive, 1.0 - positive / n)
    return float(logsumexp(log_counts(n) + fit))


def base_labels(
    problem: LabelProblem, eta: float, n_draws: int, rng: np.random.Generator
) -> Floats:
    """Draw labels (n_draws, N) from the law at lam = infinity."""
    n = problem.design.n_samples
    weights = log_counts(n) - eta * empty_energies(problem)
    share = np.exp(weights - logsumexp(weights))
    positive = rng.choice(n + 1, size=n_draws, p=share / share.sum())
    order = rng.random((n_draws, n)).argsort(axis=1).argsort(axis=1)
    return np.where(order < positive[:, None], 1.0, -1.0)
