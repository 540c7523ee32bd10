import numpy as np
import pytest
from sklearn.linear_model import Lasso as SklearnLasso

from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.lasso import LassoFamily
from shtarkov.selection.relaxed import relaxed_coefficients, relaxed_path


@pytest.fixture
def regression(rng):
    X = rng.standard_normal((30, 12))
    X += 0.7 * X[:, [0]]
    beta = np.zeros(12)
    beta[:4] = [3.0, -2.0, 1.0, 0.5]
    return X, X @ beta + rng.standard_normal(30)


def solve(X, y, lam, ridge=0.0):
    family = LassoFamily(np.ascontiguousarray(X.T), X.T @ X, lam, 0.0, ridge)
    return protocol.solve(family, y, protocol.new_work(family, X.shape[1]))


@pytest.mark.parametrize("tau", [9.0, 1.0, 1e-3])
def test_it_is_scikit_learns_lasso_on_the_columns_of_the_support(regression, tau):
    X, y = regression
    support = np.array([0, 1, 2, 7, 9])
    peer = SklearnLasso(alpha=tau / 30, fit_intercept=False, tol=1e-12, max_iter=100_000)
    coef = relaxed_coefficients(X, y, support, tau)
    np.testing.assert_allclose(coef[support], peer.fit(X[:, support], y).coef_, atol=1e-7)
    assert not coef[np.setdiff1d(np.arange(12), support)].any()


@pytest.mark.parametrize("ridge", [0.0, 2.5])
def test_at_tau_equal_to_lam_the_fit_at_lam_comes_back(regression, ridge):
    X, y = regression
    fit = solve(X, y, 6.0, ridge)
    assert 0 < fit.active.size < 12
    relaxed = relaxed_coefficients(X, y, fit.active, 6.0, lam2=ridge)
    np.testing.assert_allclose(relaxed, fit.coef, atol=1e-12)


def test_as_tau_falls_it_becomes_least_squares(regression):
    X, y = regression
    support = solve(X, y, 6.0).active
    exact = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    np.testing.assert_allclose(relaxed_coefficients(X, y, support, 1e-9)[support], exact, atol=1e-8)


def test_signs_are_those_of_the_optimum_and_not_of_the_fit_at_lam():
    # With correlated columns the Lasso may enter with a sign least squares does not have.
    generator = np.random.default_rng(5)
    changed = 0
    for _ in range(200):
        X = generator.standard_normal((8, 4)) + 1.5 * generator.standard_normal((8, 1))
        y = generator.standard_normal(8)
        fit = solve(X, y, 0.3 * np.max(np.abs(X.T @ y)))
        relaxed = relaxed_coefficients(X, y, fit.active, 1e-6)
        changed += bool(np.any(relaxed[fit.active] * fit.signs < 0.0))
        columns = X[:, fit.active]
        gradient = columns.T @ (y - X @ relaxed)
        assert np.max(np.abs(gradient)) <= 1e-6 * (1.0 + 1e-6)
    assert changed >= 3


def test_a_path_is_each_penalty_alone_in_the_order_given(regression):
    X, y = regression
    support, taus = [0, 1, 3, 5], [0.5, 8.0, 2.0, 8.0]
    path = relaxed_path(X, y, support, taus)
    assert path.shape == (4, 12)
    for row, tau in zip(path, taus, strict=True):
        np.testing.assert_allclose(row, relaxed_coefficients(X, y, support, tau), atol=1e-12)


def test_dependent_columns_share_the_fit_of_one(regression):
    X, y = regression
    doubled = np.column_stack((X[:, 0], X[:, 0], X[:, 1]))
    coef = relaxed_coefficients(doubled, y, [0, 1, 2], 2.0)
    alone = relaxed_coefficients(X, y, [0, 1], 2.0)
    np.testing.assert_allclose(doubled @ coef, X @ alone, atol=1e-10)


def test_an_empty_support_is_all_zero(regression):
    X, y = regression
    assert not relaxed_path(X, y, [], [1.0, 2.0]).any()


@pytest.mark.parametrize("tau", [0.0, -1.0, np.nan])
def test_a_penalty_must_be_positive(regression, tau):
    X, y = regression
    with pytest.raises(InvalidProblem, match="lam"):
        relaxed_coefficients(X, y, [0], tau)


def test_shapes_and_columns_are_checked(regression):
    X, y = regression
    with pytest.raises(InvalidProblem, match="column indices"):
        relaxed_coefficients(X, y, [12], 1.0)
    with pytest.raises(InvalidProblem, match="shapes"):
        relaxed_coefficients(X, y[:-1], [0], 1.0)
