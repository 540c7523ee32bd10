"""Inverses kept through exchanges of rows and columns, against inverses made afresh."""

import numpy as np
import pytest

from shtarkov.linalg.square_inverse import (
    border,
    column_squares,
    inverse_times,
    invert,
    replace_column,
    replace_row,
    times_inverse,
    unborder,
)
from shtarkov.types import Status

K, ROOM = 6, 9


@pytest.fixture
def held(rng):
    """A matrix and its inverse, with room to grow."""
    matrix = rng.standard_normal((K, K))
    inverse = np.zeros((ROOM, ROOM))
    assert invert(np.pad(matrix, (0, ROOM - K)), K, inverse) == Status.OK
    assert inverse[:K, :K] == pytest.approx(np.linalg.inv(matrix), abs=1e-10)
    return matrix, inverse


def is_inverse(inverse, matrix):
    k = matrix.shape[0]
    return np.abs(inverse[:k, :k] @ matrix - np.eye(k)).max() < 1e-9


def test_products(rng, held):
    _, inverse = held
    vector, weights, out = rng.standard_normal(K), rng.random(K), np.zeros(K)
    block = inverse[:K, :K]
    times_inverse(vector, inverse, K, out)
    assert out == pytest.approx(vector @ block)
    inverse_times(inverse, vector, K, out)
    assert out == pytest.approx(block @ vector)
    column_squares(inverse, weights, K, out)
    assert out == pytest.approx(weights @ block**2)


@pytest.mark.parametrize("place", [0, 3, K - 1])
def test_a_row_is_exchanged(rng, held, place):
    matrix, inverse = held
    row = rng.standard_normal(K)
    replace_row(inverse, K, place, row @ inverse[:K, :K])
    matrix[place] = row
    assert is_inverse(inverse, matrix)


@pytest.mark.parametrize("place", [0, 3, K - 1])
def test_a_column_is_exchanged(rng, held, place):
    matrix, inverse = held
    column = rng.standard_normal(K)
    replace_column(inverse, K, place, inverse[:K, :K] @ column)
    matrix[:, place] = column
    assert is_inverse(inverse, matrix)


def test_a_row_and_a_column_are_added(rng, held):
    matrix, inverse = held
    row, column, entry = rng.standard_normal(K), rng.standard_normal(K), 0.7
    images = row @ inverse[:K, :K], inverse[:K, :K] @ column
    border(inverse, K, *images, entry - row @ images[1])
    assert is_inverse(inverse, np.block([[matrix, column[:, None]], [row, np.array([entry])]]))


@pytest.mark.parametrize(("row", "column"), [(0, 2), (K - 1, 1), (2, K - 1), (K - 1, K - 1)])
def test_a_row_and_a_column_are_taken_away(held, row, column):
    matrix, inverse = held
    unborder(inverse, K, row, column)
    matrix[row] = matrix[K - 1]
    matrix[:, column] = matrix[:, K - 1]
    assert is_inverse(inverse, matrix[: K - 1, : K - 1])


def test_a_singular_matrix_is_reported():
    assert invert(np.ones((2, 2)), 2, np.zeros((2, 2))) == Status.SINGULAR_GRAM
