"""The reduction against centring and a dense QR, and against scikit-learn on the full data."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso as SklearnLasso
from sklearn.linear_model import LinearRegression

from shtarkov.families.reduce import reduce_design


def dense_twin(X, y, *, unpenalised=(), fit_intercept=False, weights=None):
    """Gram matrix, X'y, explained and unexplained squared length, from explicit bases."""
    roots = np.sqrt(np.ones(len(X)) if weights is None else weights)
    free = [np.ones((len(X), 1))] if fit_intercept else []
    free += [X[:, list(unpenalised)]]
    U = np.linalg.qr(np.hstack(free) * roots[:, None])[0]
    penalised = np.delete(X, list(unpenalised), axis=1) * roots[:, None]
    response = y * roots
    penalised = penalised - U @ (U.T @ penalised)
    response = response - U @ (U.T @ response)
    explained = np.linalg.qr(penalised)[0].T @ response
    rest = response @ response - explained @ explained
    return penalised.T @ penalised, penalised.T @ response, explained @ explained, rest


@pytest.mark.parametrize("n_rows", [300, 31, 24, 12])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"unpenalised": (1, 3)}])
def test_products_and_lengths_are_those_of_the_dense_twin(rng, n_rows, weighted, options):
    X = rng.standard_normal((n_rows, 20)) + 2.0
    y = rng.standard_normal(n_rows) - 5.0
    weights = rng.uniform(0.2, 3.0, n_rows) if weighted else None
    gram, products, explained, rest = dense_twin(X, y, weights=weights, **options)
    design = reduce_design(X, sample_weight=weights, block_rows=50, **options)
    reduced = design.reduce_response(y)
    np.testing.assert_allclose(design.X.T @ design.X, gram, atol=1e-12 * np.abs(gram).max())
    np.testing.assert_allclose(
        design.X.T @ reduced.y, products, atol=1e-11 * np.abs(products).max()
    )
    assert reduced.y @ reduced.y + reduced.orthogonal_sq == pytest.approx(
        explained + rest, rel=1e-11
    )
    if n_rows > 25:
        assert reduced.orthogonal_sq == pytest.approx(rest, rel=1e-9)


@pytest.mark.parametrize("exponent", [4, 8, 10, 12])
def test_products_stay_exact_when_columns_are_nearly_dependent(rng, exponent):
    X = rng.standard_normal((3000, 10))
    X[:, 4] = X[:, 2] + 10.0**-exponent * X[:, 4]
    y = X @ rng.standard_normal(10) + rng.standard_normal(3000)
    design = reduce_design(X)
    reduced = design.reduce_response(y)
    assert design.X.shape == (10, 10)
    gram, products, explained, rest = dense_twin(X, y)
    np.testing.assert_allclose(design.X.T @ design.X, gram, atol=2e-15 * np.abs(gram).max())
    np.testing.assert_allclose(
        design.X.T @ reduced.y, products, atol=1e-14 * np.abs(products).max()
    )
    # The lengths alone feel the conditioning: about eps times the condition number.
    tolerance = 10 * np.finfo(float).eps * np.linalg.cond(X)
    assert reduced.y @ reduced.y == pytest.approx(explained, rel=tolerance)
    assert reduced.orthogonal_sq == pytest.approx(rest, rel=tolerance)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_offset_costs_no_accuracy(rng, weighted):
    signal, noise = rng.standard_normal((5000, 6)), rng.standard_normal(5000)
    offset = 2.0**27  # exact to add, so that the answer is known to rounding
    signal, noise = np.round(signal * 2.0**20) / 2.0**20, np.round(noise * 2.0**20) / 2.0**20
    weights = rng.uniform(0.5, 2.0, 5000) if weighted else None
    options = {"fit_intercept": True, "sample_weight": weights, "block_rows": 300}
    near = reduce_design(signal, **options)
    far = reduce_design(signal + offset, **options)
    np.testing.assert_allclose(far.X, near.X, atol=1e-11)
    close, distant = near.reduce_response(noise), far.reduce_response(noise + offset)
    np.testing.assert_allclose(distant.y, close.y, atol=1e-8)
    assert distant.orthogonal_sq == pytest.approx(close.orthogonal_sq, rel=1e-11)


@pytest.mark.parametrize("n_rows", [80, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_reduced_lasso_is_the_lasso_of_the_data(rng, n_rows, weighted):
    X = rng.standard_normal((n_rows, 20)) + 1.0
    y = X[:, :3] @ [3.0, -2.0, 1.0] + rng.standard_normal(n_rows) + 7.0
    weights = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    design = reduce_design(X, fit_intercept=True, sample_weight=weights)
    reduced = design.reduce_response(y)
    lam = 0.2 * np.abs(design.X.T @ reduced.y).max()
    full = SklearnLasso(alpha=lam / design.total_weight, tol=1e-12, max_iter=100_000)
    full.fit(X, y, sample_weight=weights)
    small = SklearnLasso(
        alpha=lam / design.X.shape[0], tol=1e-12, max_iter=100_000, fit_intercept=False
    )
    small.fit(design.X, reduced.y)
    np.testing.assert_allclose(small.coef_, full.coef_, atol=1e-6)
    intercept, coef = design.unpenalised_coef(y, full.coef_)
    assert intercept == pytest.approx(full.intercept_, rel=1e-8)
    assert coef.size == 0


@pytest.mark.parametrize("n_rows", [80, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_unpenalised_coefficients_are_least_squares_on_the_rest(rng, n_rows, weighted):
    X, y = rng.standard_normal((n_rows, 8)) + 4.0, rng.standard_normal(n_rows)
    weights = rng.uniform(0.5, 2.0, n_rows) if weighted else None
    coef = rng.standard_normal(5)
    design = reduce_design(X, fit_intercept=True, unpenalised=[6, 0, 3], sample_weight=weights)
    intercept, unpenalised = design.unpenalised_coef(y, coef)
    rest = y - np.delete(X, [0, 3, 6], axis=1) @ coef
    expected = LinearRegression().fit(X[:, [0, 3, 6]], rest, sample_weight=weights)
    np.testing.assert_allclose(unpenalised, expected.coef_, rtol=1e-9)
    assert intercept == pytest.approx(expected.intercept_, rel=1e-9)
