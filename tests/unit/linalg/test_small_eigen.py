"""Jacobi's rotations against LAPACK."""

import numpy as np
import pytest

from shtarkov.linalg.small_eigen import symmetric_modes


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_values_and_vectors(size, scale, rng):
    factor = rng.standard_normal((size, max(size - 1, 1)))
    matrix = scale * factor @ factor.T
    values, vectors = symmetric_modes(matrix.copy())
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-13 * scale * size**2)
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-13 * scale * size**2)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-13)


def test_diagonal_and_equal_values():
    values, vectors = symmetric_modes(np.diag([3.0, 1.0, 1.0]))
    np.testing.assert_array_equal(values, [1.0, 1.0, 3.0])
    np.testing.assert_array_equal(np.abs(vectors).sum(axis=0), np.ones(3))
    assert not symmetric_modes(np.zeros((2, 2)))[0].any()
