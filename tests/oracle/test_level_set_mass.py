"""The mass of a cell against closed forms, Genz's cubature and the stratum weights."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import shtarkov
from shtarkov.complexity.level_set_mass import level_set_mass
from shtarkov.sampling.minimax_tilting import rectangle_draws, tilt, tilted_probability
from tests.laws import oracles


@pytest.mark.parametrize("method", ["sobol", "tilting", "splitting"])
def test_orthogonal_columns(method):
    n, k, lam, sigma = 12, 3, 1.4, 0.8
    found = level_set_mass(
        shtarkov.Lasso(np.eye(n)),
        lam,
        range(k),
        np.ones(k),
        sigma=sigma,
        method=method,
        std_error=0.02,
        seed=0,
    )
    exact = (n - k) * math.log(2.0 * norm.cdf(lam / sigma) - 1.0)
    assert abs(found.ln_c - exact) < 4.0 * found.std_error + 1e-9


def test_many_orthogonal_columns_are_tilted_without_error():
    n, k, lam = 300, 5, 1.0
    found = level_set_mass(shtarkov.Lasso(np.eye(n)), lam, range(k), np.ones(k), seed=0)
    assert found.method == "tilting"
    assert found.ln_c == pytest.approx((n - k) * math.log(2.0 * norm.cdf(lam) - 1.0), abs=1e-8)


def genz(covariance, low, high):
    return multivariate_normal(cov=covariance, abseps=1e-7, maxpts=2_000_000, seed=0).cdf(
        high, lower_limit=low
    )


def test_tilting_against_genz():
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((6, 9))
    covariance = rows @ rows.T
    low, high = -rng.uniform(0.5, 4.0, 6), rng.uniform(0.5, 4.0, 6)
    high[2], low[4] = np.inf, 0.7
    high[4] = 2.0
    tilting = tilt(covariance, low, high)
    value, error = tilted_probability(tilting, 20_000, rng)
    exact = math.log(genz(covariance, low, high))
    assert abs(value - exact) < 4.0 * error + 1e-4
    assert exact <= tilting.bound
    assert tilting.bound < exact + 1.5
    draws, share = rectangle_draws(tilting, 20_000, rng)
    assert ((draws > low) & (draws < high)).all()
    assert abs(math.log(share) - (exact - tilting.bound)) < 0.05
    plain = rng.multivariate_normal(np.zeros(6), covariance, size=400_000)
    kept = plain[((plain > low) & (plain < high)).all(axis=1)]
    errors = np.sqrt(kept.var(axis=0) * (1.0 / kept.shape[0] + 1.0 / draws.shape[0]))
    assert (np.abs(draws.mean(axis=0) - kept.mean(axis=0)) < 4.0 * errors).all()


def test_far_in_a_tail():
    covariance = 0.5 * np.eye(4) + 0.5
    tilting = tilt(covariance, np.full(4, 6.0), np.full(4, np.inf))
    value, error = tilted_probability(tilting, 5000, np.random.default_rng(0))
    assert error < 0.02
    assert -40.0 < value < -20.0
    assert value <= tilting.bound + 4.0 * error


def test_masses_make_up_the_stratum_weights():
    oracle = oracles("lasso_enumeration")[0]
    X, lam = np.array(oracle["X"]), oracle["lam"]
    problem = shtarkov.Lasso(X)
    total = 0.0
    for j in range(X.shape[1]):
        length = float(X[:, j] @ X[:, j])
        mass = level_set_mass(problem, lam, [j], [1], std_error=1e-4, seed=0)
        weight = math.sqrt(length / (2.0 * math.pi)) * math.exp(-0.5 * lam**2 / length)
        total += 2.0 * weight * math.exp(mass.ln_c)
    assert total == pytest.approx(oracle["a"][1], rel=2e-4)


def test_an_impossible_cell_and_a_full_one():
    X = np.array([[1.0, 3.0], [0.0, 0.0]])
    assert level_set_mass(shtarkov.Lasso(X), 1.0, [0], [1]).ln_c == -math.inf
    assert level_set_mass(shtarkov.Lasso(np.eye(2)), 1.0, [0, 1], [1, -1]).ln_c == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], [1, 1]), "different column indices"),
        (([5], [1]), "different column indices"),
        (([0], [2]), "signs must hold"),
        (([0, 1], [1]), "signs must hold"),
    ],
)
def test_cells_are_checked(arguments, message):
    with pytest.raises(shtarkov.ShtarkovError, match=message):
        level_set_mass(shtarkov.Lasso(np.eye(3)), 1.0, *arguments)


def test_methods_are_checked():
    X = np.random.default_rng(0).standard_normal((30, 60))
    problem = shtarkov.Lasso(X)
    for method, message in (
        ("exact", "method must be one of"),
        ("sobol", "at most 20 dimensions"),
        ("tilting", "needs independent walls"),
    ):
        with pytest.raises(shtarkov.ShtarkovError, match=message):
            level_set_mass(problem, 8.0, [1], [1], method=method)
    with pytest.raises(shtarkov.ShtarkovError, match="dependent"):
        level_set_mass(shtarkov.Lasso(np.ones((2, 2))), 1.0, [0, 1], [1, 1])
    with pytest.raises(shtarkov.ShtarkovError, match=r"serves shtarkov\.Lasso"):
        level_set_mass(shtarkov.ElasticNet(X, lam2=1.0), 1.0, [0], [1])
