"""The factor kept by append and drop against LAPACK's, and its statuses."""

import numpy as np
import pytest

from shtarkov.linalg import cholesky as ch
from shtarkov.types import Status

CAPACITY = 14


def gram_of(rng, k, n=30):
    X = rng.standard_normal((n, k))
    return X.T @ X


def factored(gram, k):
    # The unused part is nan: a kernel that reads it is found out.
    chol = np.full((CAPACITY, CAPACITY), np.nan)
    assert ch.cholesky(gram, k, chol) == Status.OK
    return chol


def lower(chol, k):
    return np.tril(chol[:k, :k])


@pytest.mark.parametrize("k", [0, 1, 2, 5, 12])
def test_factor_and_solves_match_lapack(rng, k):
    gram = gram_of(rng, k)
    chol = factored(gram, k)
    expected = np.linalg.cholesky(gram)
    np.testing.assert_allclose(lower(chol, k), expected, rtol=1e-12)
    assert ch.log_det_factored(chol, k) == pytest.approx(np.linalg.slogdet(gram)[1], abs=1e-11)
    for solve, matrix in (
        (ch.solve_lower, expected),
        (ch.solve_upper, expected.T),
        (ch.solve_factored, gram),
    ):
        x = rng.standard_normal(k)
        rhs = np.append(matrix @ x, 7.0)
        solve(chol, k, rhs)
        np.testing.assert_allclose(rhs[:k], x, rtol=1e-9, atol=1e-10)
        assert rhs[k] == 7.0


def test_factor_in_place(rng):
    gram = gram_of(rng, 6)
    expected = np.linalg.cholesky(gram)
    assert ch.cholesky(gram, 6, gram) == Status.OK
    np.testing.assert_allclose(np.tril(gram), expected, rtol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_append_writes_the_next_row_and_keeps_cross(rng, k):
    gram = gram_of(rng, k + 1)
    chol = factored(gram, k)
    cross = gram[k].copy()
    assert ch.cholesky_append(chol, k, cross, gram[k, k]) == Status.OK
    np.testing.assert_allclose(lower(chol, k + 1), np.linalg.cholesky(gram), rtol=1e-11)
    np.testing.assert_array_equal(cross, gram[k])


@pytest.mark.parametrize("position", range(6))
def test_drop_equals_a_fresh_factor(rng, position):
    gram = gram_of(rng, 6)
    chol = factored(gram, 6)
    ch.cholesky_drop(chol, 6, position)
    keep = np.delete(np.arange(6), position)
    expected = np.linalg.cholesky(gram[np.ix_(keep, keep)])
    np.testing.assert_allclose(lower(chol, 5), expected, rtol=1e-11, atol=1e-13)


def test_solve_lower_rows_solves_each_row(rng):
    chol = factored(gram_of(rng, 4), 4)
    x = rng.standard_normal((3, 4))
    rows = x @ lower(chol, 4).T
    ch.solve_lower_rows(chol, 4, rows, 3)
    np.testing.assert_allclose(rows, x, rtol=1e-10)


def test_duplicated_column_is_singular_and_leaves_the_factor(rng):
    X = rng.standard_normal((2000, 4)) * 1e3
    X = np.column_stack([X, X[:, 1]])
    gram = X.T @ X
    chol = factored(gram, 4)
    before = lower(chol, 4)
    assert ch.cholesky_append(chol, 4, gram[4].copy(), gram[4, 4]) == Status.SINGULAR_GRAM
    np.testing.assert_array_equal(lower(chol, 4), before)
    assert ch.cholesky(gram, 5, chol) == Status.SINGULAR_GRAM


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1.0, 1e6, 1e100])
def test_status_does_not_depend_on_scale(rng, scale):
    X = rng.standard_normal((20, 3)) * scale
    X = np.column_stack([X, X[:, 0] + 1e-3 * X[:, 2]])
    good, bad = X[:, :3].T @ X[:, :3], X.T @ X
    chol = np.zeros((4, 4))
    assert ch.cholesky(good, 3, chol) == Status.OK
    assert ch.cholesky(bad, 4, chol) == Status.SINGULAR_GRAM


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(rng, value):
    gram = gram_of(rng, 3)
    gram[2, 1] = gram[1, 2] = value
    chol = np.zeros((3, 3))
    assert ch.cholesky(gram, 3, chol) == Status.NOT_FINITE
    assert ch.cholesky(gram, 1, chol) == Status.OK
    assert ch.cholesky_append(chol, 1, np.array([value]), 1.0) == Status.NOT_FINITE


def test_zero_column_is_singular():
    chol = np.zeros((2, 2))
    assert ch.cholesky(np.zeros((1, 1)), 1, chol) == Status.SINGULAR_GRAM


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_log_det_neither_overflows_nor_vanishes(scale):
    chol = np.diag(np.full(10, scale))
    assert ch.log_det_factored(chol, 10) == pytest.approx(20.0 * np.log(scale), rel=1e-14)
