"""Gaussian rectangle probabilities: products, plain Monte Carlo, tails, dependent rows."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri
from scipy.stats import norm

from shtarkov.complexity.rectangle import rectangle_probabilities, sobol_points
from shtarkov.sampling.normal import interval, normal_quantile
from shtarkov.types import Status


def probability(rows, lower, upper, n_points=256, seed=1):
    """Return ln P and its relative standard error."""
    out = np.zeros((1, 3))
    status = rectangle_probabilities(
        np.ascontiguousarray(rows, dtype=float),
        np.atleast_2d(np.asarray(lower, dtype=float)),
        np.atleast_2d(np.asarray(upper, dtype=float)),
        np.array([n_points]),
        sobol_points(),
        8,
        np.random.default_rng(seed),
        out,
    )
    assert status == Status.OK
    return out[0, 0] + np.log(out[0, 1]), np.sqrt(out[0, 2]) / out[0, 1]


def test_quantile_matches_scipy():
    p = np.r_[np.logspace(-300, -1, 60), np.linspace(0.06, 0.94, 23), 1 - np.logspace(-12, -1, 9)]
    assert [normal_quantile(x) for x in p] == pytest.approx(ndtri(p), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(
    ("low", "high"), [(-1, 2), (5, 9), (-30, -29.5), (30, np.inf), (-np.inf, 0.3), (38.5, 39)]
)
def test_interval_mass_and_quantile(low, high):
    mass, point = interval(low, high, 0.3)
    expected = abs(ndtr(-low) - ndtr(-high)) if low > 0 else ndtr(high) - ndtr(low)
    assert mass == pytest.approx(expected, rel=1e-12)
    assert low <= point <= high
    if mass > 0:
        share = interval(low, point, 0.5)[0] / mass
        assert share == pytest.approx(0.3, rel=1e-6)


def test_independent_rows_are_exact():
    scale = np.array([0.5, 1.0, 3.0])
    lower, upper = np.array([-1.0, 0.2, -np.inf]), np.array([0.3, 5.0, 1.0])
    expected = np.log(ndtr(upper / scale) - ndtr(lower / scale)).sum()
    ln_p, error = probability(np.diag(scale), lower, upper, n_points=8)
    assert ln_p == pytest.approx(expected, rel=1e-12)
    assert error < 1e-12


@pytest.mark.parametrize("shape", [(2, 2), (4, 4), (6, 6), (4, 2), (7, 3), (3, 5), (5, 1)])
def test_against_plain_monte_carlo(shape, rng):
    rows = rng.standard_normal(shape)
    lower, upper = -rng.uniform(0.5, 2, shape[0]), rng.uniform(0.5, 2, shape[0])
    inside = 0
    n_total = 400_000
    for _ in range(4):
        values = rng.standard_normal((n_total // 4, shape[1])) @ rows.T
        inside += np.count_nonzero(np.all((values > lower) & (values < upper), axis=1))
    share = inside / n_total
    ln_p, error = probability(rows, lower, upper)
    spread = np.hypot(np.sqrt(share * (1 - share) / n_total), error * share)
    assert abs(np.exp(ln_p) - share) < 4 * spread
    assert error < 0.01


def test_orthant_in_two_dimensions():
    correlation = 0.6
    rows = np.array([[1.0, 0.0], [correlation, np.sqrt(1 - correlation**2)]])
    ln_p, error = probability(rows, [0, 0], [np.inf, np.inf], n_points=4096)
    expected = 0.25 + np.arcsin(correlation) / (2 * np.pi)
    assert np.exp(ln_p) == pytest.approx(expected, abs=4 * error + 1e-9)


def test_repeated_and_opposite_rows_change_nothing(rng):
    rows = rng.standard_normal((3, 3))
    limit = np.ones(3)
    base, error = probability(rows, -limit, limit, 1024)
    doubled = np.vstack([rows, -rows[1], 2 * rows[0]])
    wide = np.r_[limit, 1.0, 2.0]
    again, _ = probability(doubled, -wide, wide, 1024)
    assert again == pytest.approx(base, abs=6 * error + 1e-12)
    tight = np.r_[limit, 0.5, 2.0]
    assert probability(doubled, -tight, tight, 1024)[0] < base - 0.1


def test_contradictory_rows_have_no_mass():
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.3, 1.0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        ln_p, _ = probability(rows, [1, -2, -1], [2, 0.5, 1])
    assert ln_p == -np.inf


def test_far_tail_keeps_its_relative_accuracy():
    rows = np.array([[1.0, 0.0], [0.0, 2.0]])
    ln_p, _ = probability(rows, [20, 50], [np.inf, np.inf])
    assert ln_p == pytest.approx(log_ndtr(-20) + log_ndtr(-25), rel=1e-12)


def test_stated_error_is_honest():
    rows = np.linalg.cholesky(0.5 + 0.5 * np.eye(4))
    limit = np.ones(4)
    # One common factor: a one-dimensional integral.
    grid = np.linspace(-9, 9, 20001)
    inner = norm.cdf((1 - np.sqrt(0.5) * grid) / np.sqrt(0.5)) - norm.cdf(
        (-1 - np.sqrt(0.5) * grid) / np.sqrt(0.5)
    )
    truth = np.log(np.trapezoid(norm.pdf(grid) * inner**4, grid))
    z = []
    for seed in range(60):
        ln_p, error = probability(rows, -limit, limit, 32, seed)
        z.append((ln_p - truth) / error)
    assert np.mean(np.abs(z) < 2) > 0.85
    assert np.abs(z).max() < 6
