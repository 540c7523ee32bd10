"""Log-determinants against LAPACK; singular matrices give -inf, never nan."""

import numpy as np
import pytest

from shtarkov.linalg.determinants import log_abs_det, log_row_volume


@pytest.mark.parametrize("k", [0, 1, 2, 5, 12])
def test_log_abs_det(rng, k):
    matrix = rng.standard_normal((k + 2, k + 2))
    expected = np.linalg.slogdet(matrix[:k, :k])[1]
    assert log_abs_det(matrix, k) == pytest.approx(expected, abs=1e-11)


def test_log_abs_det_pivots():
    assert log_abs_det(np.array([[0.0, 2.0], [3.0, 0.0]]), 2) == pytest.approx(np.log(6.0))


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_log_abs_det_keeps_extreme_scales(scale):
    matrix = np.diag(np.full(8, -scale))
    assert log_abs_det(matrix, 8) == pytest.approx(8.0 * np.log(scale), rel=1e-14)


@pytest.mark.parametrize(("n_rows", "n_columns"), [(0, 3), (1, 1), (2, 5), (6, 6)])
def test_log_row_volume(rng, n_rows, n_columns):
    rows = rng.standard_normal((n_rows + 1, n_columns + 1))
    block = rows[:n_rows, :n_columns].copy()
    expected = 0.5 * np.linalg.slogdet(block @ block.T)[1]
    assert log_row_volume(rows, n_rows, n_columns) == pytest.approx(expected, abs=1e-11)


def test_singular_is_minus_infinity():
    assert log_abs_det(np.zeros((3, 3)), 3) == -np.inf
    assert log_row_volume(np.array([[1.0, 0.0], [0.0, 0.0]]), 2, 2) == -np.inf
