"""The skeleton of the developer's page against exact answers, by the functions users call."""

import numpy as np
import pytest
from non_negative_lasso import NonNegativeLasso
from scipy.special import ndtr
from scipy.stats import multivariate_normal

import shtarkov
from shtarkov.complexity.outline import outline_of
from shtarkov.families.compiled import family_of

pytestmark = pytest.mark.needs_jit

LAM = 2.0
ROOT_2PI = np.sqrt(2.0 * np.pi)


def four_cells(X, lam, tau):
    """Sum C over the active sets of two columns: none, either, both (sigma = 1)."""
    H = X.T @ X
    total = multivariate_normal([0.0, 0.0], H).cdf([lam, lam])
    for j, other in ((0, 1), (1, 0)):
        pull = lam * H[other, j] / H[j, j]
        spread = np.sqrt(H[other, other] - H[other, j] ** 2 / H[j, j])
        height = np.sqrt(H[j, j]) / ROOT_2PI * np.exp(-0.5 * lam**2 / H[j, j])
        total += height / tau * ndtr((lam - pull) / spread)
    energy = 0.5 * lam**2 * np.ones(2) @ np.linalg.solve(H, np.ones(2))
    return total + np.sqrt(np.linalg.det(H)) / (2.0 * np.pi) * np.exp(-energy) / tau**2


def assert_agrees(result, exact, wanted):
    assert result.method == "path"
    assert result.std_error < 1.5 * wanted
    assert abs(result.ln_c - exact) < 4.0 * result.std_error


@pytest.mark.parametrize("tau", [None, 0.7])
def test_the_complexity_of_orthogonal_columns_is_a_product(tau, rng):
    X = np.linalg.qr(rng.standard_normal((12, 5)))[0] * [0.5, 1.0, 2.0, 3.0, 4.0]
    problem = NonNegativeLasso(X)
    exact = outline_of(family_of(problem, LAM)).ln_c(LAM, tau or LAM)
    assert_agrees(shtarkov.complexity(problem, LAM, tau=tau, std_error=0.02, seed=3), exact, 0.02)


@pytest.mark.parametrize("tau", [None, 0.7])
def test_the_complexity_of_two_correlated_columns_is_a_sum_over_cells(tau, rng):
    X = rng.standard_normal((8, 2)) + rng.standard_normal((8, 1))
    problem, exact = NonNegativeLasso(X), np.log(four_cells(X, LAM, tau or LAM))
    assert_agrees(shtarkov.complexity(problem, LAM, tau=tau, std_error=0.02, seed=4), exact, 0.02)


def test_the_sum_over_cells_is_the_product_for_orthogonal_columns():
    X = np.diag([1.5, 3.0])
    exact = outline_of(family_of(NonNegativeLasso(X), LAM)).ln_c(LAM, 0.7)
    assert np.log(four_cells(X, LAM, 0.7)) == pytest.approx(exact, abs=1e-6)


def test_it_is_chosen_where_no_coefficient_is_negative(rng):
    X = rng.standard_normal((60, 6))
    y = X @ [0.9, 0.0, 0.7, 0.0, 0.5, 0.0] + rng.standard_normal(60)
    rivals = {"lasso": shtarkov.Lasso(X), "non-negative": NonNegativeLasso(X)}
    found = shtarkov.compare(rivals, y, sigma=1.0, criterion="prediction", std_error=0.2, seed=5)
    assert found.winner == "non-negative"
    assert found.best.ok
    assert found.best.coef.min() >= 0.0
    opposite = shtarkov.select(NonNegativeLasso(X), -y, sigma=1.0, criterion="prediction", seed=5)
    assert opposite.support.size == 0
