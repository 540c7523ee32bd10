"""Which designs are taken for orthogonal."""

import numpy as np
import pytest

from shtarkov.complexity.closed_form import (
    is_orthogonal,
    lasso_ln_c,
    orthogonal_group_norms,
    orthogonal_norms,
)


def test_orthogonal_columns_of_different_lengths(rng):
    basis = np.linalg.qr(rng.standard_normal((600, 400)))[0]
    lengths = rng.uniform(0.1, 10, 400)
    lengths[7] = 0.0
    assert orthogonal_norms(basis * lengths) == pytest.approx(lengths)


def test_correlation_in_a_late_block_is_seen(rng):
    basis = np.linalg.qr(rng.standard_normal((600, 400)))[0]
    basis[:, 399] += 1e-6 * basis[:, 300]
    assert not is_orthogonal(basis)


def test_wide_designs_are_not_orthogonal_unless_the_rest_is_zero(rng):
    basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    assert is_orthogonal(np.hstack([basis, np.zeros((5, 3))]))
    assert not is_orthogonal(np.hstack([basis, basis]))


def test_groups_need_equal_lengths(rng):
    basis = np.linalg.qr(rng.standard_normal((9, 6)))[0]
    groups = np.array([2, 0, 2, 0, 1, 1])
    found = orthogonal_group_norms(basis * np.array([3, 1, 3, 1, 2, 2]), groups)
    assert found is not None
    assert found[0] == pytest.approx([1, 2, 3])
    assert list(found[1]) == [2, 2, 2]
    assert orthogonal_group_norms(basis * np.array([3, 1, 3, 1, 2, 2.1]), groups) is None


def test_a_zero_column_costs_nothing():
    assert lasso_ln_c(np.array([1.0, 0.0]), 1.5) == lasso_ln_c(np.array([1.0]), 1.5)
