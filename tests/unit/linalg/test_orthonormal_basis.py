"""The basis kept by append and drop: orthonormal, spanning, with the Gram matrix's own factor."""

import numpy as np
import pytest

from shtarkov.linalg import orthonormal_basis as ob
from shtarkov.types import Status


def built(X, capacity=None):
    n, k = X.shape
    capacity = k if capacity is None else capacity
    basis = np.full((capacity, n), np.nan)
    chol = np.full((capacity, capacity), np.nan)
    status = ob.basis_of_columns(X, basis, chol)
    return basis, chol, status


@pytest.mark.parametrize("k", [0, 1, 4, 9])
def test_basis_is_orthonormal_and_reproduces_the_columns(rng, k):
    X = rng.standard_normal((9, k))
    basis, chol, status = built(X, 10)
    assert status == Status.OK
    np.testing.assert_allclose(basis[:k] @ basis[:k].T, np.eye(k), atol=1e-14)
    np.testing.assert_allclose(np.tril(chol[:k, :k]) @ basis[:k], X.T, atol=1e-13)
    np.testing.assert_allclose(np.tril(chol[:k, :k]), np.linalg.cholesky(X.T @ X), rtol=1e-9)


@pytest.mark.parametrize("position", range(5))
def test_drop_keeps_both_properties(rng, position):
    X = rng.standard_normal((8, 5))
    basis, chol, _ = built(X)
    ob.basis_drop(basis, chol, 5, position)
    left = np.delete(X, position, axis=1)
    np.testing.assert_allclose(basis[:4] @ basis[:4].T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(np.tril(chol[:4, :4]) @ basis[:4], left.T, atol=1e-13)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-11])
def test_near_collinear_columns_stay_orthonormal(rng, gap):
    X = rng.standard_normal((20, 3))
    X = np.column_stack([X, X @ [1.0, -1.0, 1.0] + gap * rng.standard_normal(20)])
    basis, _, status = built(X)
    assert status == Status.OK
    np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-14)


def test_dependent_column_is_refused_and_nothing_else_changes(rng):
    X = rng.standard_normal((12, 3))
    basis, chol, _ = built(X, 4)
    kept = basis[:3].copy()
    assert ob.basis_append(basis, chol, 3, X @ [0.3, 0.2, 0.1]) == Status.SINGULAR_GRAM
    np.testing.assert_array_equal(basis[:3], kept)
    assert ob.basis_append(basis, chol, 3, np.zeros(12)) == Status.SINGULAR_GRAM
    assert ob.basis_append(basis, chol, 3, np.full(12, np.nan)) == Status.NOT_FINITE


def test_project_out_is_the_least_squares_residual(rng):
    X = rng.standard_normal((10, 4))
    z = rng.standard_normal(10)
    basis, _, _ = built(X)
    projected = z.copy()
    ob.project_out(basis, 4, projected)
    np.testing.assert_allclose(projected, z - X @ np.linalg.lstsq(X, z)[0], atol=1e-13)
    assert ob.norm_of(projected) == pytest.approx(np.linalg.norm(projected))
