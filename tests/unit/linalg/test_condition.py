"""The condition estimate finds the order of magnitude, which is what choosing a route needs."""

import numpy as np
import pytest

from shtarkov.linalg.cholesky import cholesky
from shtarkov.linalg.condition import condition_estimate


@pytest.mark.parametrize("condition", [1.0, 1e1, 1e3, 1e6])
@pytest.mark.parametrize("k", [1, 2, 8])
def test_estimate_is_within_a_factor_three_below(rng, condition, k):
    left, _ = np.linalg.qr(rng.standard_normal((30, k)))
    right, _ = np.linalg.qr(rng.standard_normal((k, k)))
    X = (left * np.geomspace(1.0, 1.0 / condition, k)) @ right.T
    chol = np.zeros((k, k))
    cholesky(X.T @ X, k, chol)
    exact = np.linalg.cond(X)
    estimate = condition_estimate(chol, k, np.empty(k))
    assert exact / 3.0 < estimate < exact * 1.01 + 1e-9


def test_no_columns():
    assert condition_estimate(np.zeros((0, 0)), 0, np.empty(0)) == 1.0
