"""Rissanen's formula is the limit of a vanishing threshold, and only that."""

import numpy as np
import pytest

from shtarkov.complexity.asymptotic import rissanen_ln_c
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.region import Luckiness, NormBall
from shtarkov.errors import InvalidProblem, SingularGram


def test_limit_of_small_penalties(rng):
    X = rng.standard_normal((20, 3))
    table = enumerate_strata(X, 1e-5, 0.8)
    assert rissanen_ln_c(X, Luckiness(0.3), sigma=0.8) == pytest.approx(
        table.ln_c(0.3)[0], abs=2e-4
    )
    assert rissanen_ln_c(X, NormBall(2.0), sigma=0.8) == pytest.approx(
        table.ln_c_restricted(2.0)[0], abs=2e-4
    )


def test_it_misses_the_threshold(rng):
    X = rng.standard_normal((20, 3))
    exact = enumerate_strata(X, 4.0).ln_c(4.0)[0]
    assert abs(rissanen_ln_c(X, Luckiness(), lam=4.0) - exact) > 0.5


def test_no_columns_cost_nothing():
    assert rissanen_ln_c(np.zeros((4, 0)), NormBall(1.0)) == 0.0


def test_bad_input(rng):
    X = rng.standard_normal((5, 2))
    with pytest.raises(InvalidProblem, match="needs lam"):
        rissanen_ln_c(X, Luckiness())
    with pytest.raises(SingularGram, match="drop dependent"):
        rissanen_ln_c(np.hstack([X, X]), NormBall(1.0))
