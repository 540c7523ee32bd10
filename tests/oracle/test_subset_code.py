"""The subset code against integrals done numerically and against all supports."""

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from shtarkov.selection.subset import subset_code
from shtarkov.selection.subset_length import SubsetLength, g_grid


def marginal_nats(y, covariance, sigma):
    """Minus the log of the marginal likelihood, integrated over d sigma / sigma when unknown."""
    if sigma is not None:
        return -multivariate_normal.logpdf(y, cov=sigma**2 * covariance)

    def log_integrand(log_sigma):
        return multivariate_normal.logpdf(y, cov=np.exp(2.0 * log_sigma) * covariance)

    peak = max(log_integrand(u) for u in np.linspace(-5.0, 5.0, 201))
    total, _ = quad(lambda u: np.exp(log_integrand(u) - peak), -7.0, 7.0, limit=400, epsabs=1e-11)
    return -(np.log(total) + peak)


@pytest.mark.parametrize("sigma", [None, 0.7])
@pytest.mark.parametrize("k", [1, 3])
def test_the_length_is_the_marginal_likelihood_relative_to_the_empty_code(rng, sigma, k):
    n, n_features = 6, 9
    X, y = rng.standard_normal((n, k)), rng.standard_normal(n)
    projector = X @ np.linalg.solve(X.T @ X, X.T)
    gs, log_weights = g_grid(n)
    empty = marginal_nats(y, np.eye(n), sigma)
    use = slice(0, 8)
    each = np.array([marginal_nats(y, np.eye(n) + g * projector, sigma) - empty for g in gs[use]])
    length = SubsetLength(float(y @ y), n, n_features, sigma)
    explained = float(y @ projector @ y)
    np.testing.assert_allclose(length.given_g(k, explained)[use], each, atol=1e-7)
    rest = length.given_g(k, explained)[8:]
    mixture = -logsumexp(log_weights - np.append(each, rest))
    support = np.log(len(list(combinations(range(n_features), k)))) + np.log(n)
    assert float(length.delta(k, explained)) == pytest.approx(mixture + support, abs=1e-6)


def shortest_of_all(X, y, length, largest):
    best = (np.inf, ())
    for k in range(1, largest + 1):
        for support in combinations(range(X.shape[1]), k):
            fit = X[:, support] @ np.linalg.lstsq(X[:, support], y, rcond=None)[0]
            best = min(best, (float(length.delta(k, fit @ fit)), support))
    return best


@pytest.mark.parametrize("sigma", [None, 1.0])
@pytest.mark.parametrize("n", [12, 40])
def test_the_search_finds_the_shortest_of_all_supports(sigma, n):
    generator = np.random.default_rng(3)
    n_found = 0
    for case in range(12):
        X = generator.standard_normal((n, 10)) + generator.standard_normal((n, 1))
        beta = generator.standard_normal(10) * (generator.random(10) < 0.4) * (0.3 + 0.1 * case)
        y = X @ beta + generator.standard_normal(n)
        length = SubsetLength(float(y @ y), n, 10, sigma)
        delta, support = shortest_of_all(X, y, length, min(n - 2, 10))
        code = subset_code(X, y, 0.0, n, sigma=sigma)
        assert code.delta_nats >= delta - 1e-8
        n_found += code.support.tolist() == list(support)
    assert n_found == 12


def test_the_search_sees_a_pair_of_columns_that_only_help_together():
    # Each of the two is nearly orthogonal to y; their difference is y.
    generator = np.random.default_rng(8)
    X = generator.standard_normal((50, 30))
    signal = generator.standard_normal(50)
    X[:, 4] = 30.0 * X[:, 9] + signal
    y = signal + 0.3 * generator.standard_normal(50)
    assert set(subset_code(X, y, 0.0, 50).support.tolist()) >= {4, 9}


@pytest.mark.parametrize("sigma", [None, 1.0])
def test_the_mixture_is_that_of_all_supports(sigma):
    generator = np.random.default_rng(4)
    for signal in (0.2, 0.6, 2.0):
        X = generator.standard_normal((30, 9)) + generator.standard_normal((30, 1))
        y = X[:, :3] @ np.full(3, signal) + generator.standard_normal(30)
        length = SubsetLength(float(y @ y), 30, 9, sigma)
        deltas, coefs = [], []
        for k in range(1, 10):
            for support in combinations(range(9), k):
                coef = np.zeros(9)
                fitted = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
                explained = float(np.sum((X[:, support] @ fitted) ** 2))
                coef[list(support)] = length.shrinkage(k, explained) * fitted
                deltas.append(float(length.delta(k, explained)))
                coefs.append(coef)
        weights = np.exp(-np.array(deltas) - logsumexp(-np.array(deltas)))
        nats, mixed = subset_code(X, y, 0.0, 30, sigma=sigma).mixture()
        assert nats < min(deltas)
        # A code may leave supports out, never count one twice. Of a flat mixture, where signals
        # are weak, the forty supports expanded do not meet all.
        assert -1e-9 <= nats + logsumexp(-np.array(deltas)) < 0.25
        np.testing.assert_allclose(mixed, weights @ np.array(coefs), atol=0.03)
