"""Pieces of the work on cells against what they must give."""

import math
from fractions import Fraction

import numpy as np
import pytest

from shtarkov.complexity.closed_form import lasso_log_strata
from shtarkov.experiments.designs import design, true_coef
from shtarkov.experiments.operators import (
    exact_determinant,
    exact_projector,
    exact_solve,
    project_by_groups,
)
from shtarkov.experiments.work import first_guess, illinois


def test_the_design_has_columns_of_length_one_and_depends_on_its_address():
    X = design(12, 5, 3)
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), 1.0)
    np.testing.assert_array_equal(X, design(12, 5, 3))
    assert not np.allclose(X, design(12, 5, 4))
    np.testing.assert_array_equal(true_coef(4, 2, 1.5), [1.5, -1.5, 0.0, 0.0])
    np.testing.assert_array_equal(true_coef(1, 2, 1.5), [1.5])


@pytest.mark.parametrize(("n_features", "target"), [(10, 0.4), (10, 6.0), (500, 9.0)])
def test_the_first_guess_is_exact_for_orthonormal_columns(n_features, target):
    lam = math.exp(first_guess(n_features, target))
    k = np.arange(n_features + 1)
    log_terms = lasso_log_strata(np.ones(n_features), lam) - k * math.log(lam)
    weights = np.exp(log_terms - log_terms.max())
    mean_k = float(k @ weights / weights.sum())
    assert mean_k == pytest.approx(target, rel=1e-9)


def test_the_root_is_found_with_few_evaluations():
    calls = []

    def gap(x):
        calls.append(x)
        return 3.0 * (1.2 - x) + 0.4 * (1.2 - x) ** 3

    place, reached = illinois(gap, (0.0, gap(0.0)), (2.0, gap(2.0)))
    assert place == pytest.approx(1.2, abs=0.01)
    assert abs(reached) < 0.01
    assert len(calls) < 9


def product(row, column):
    return sum(a * b for a, b in zip(row, column, strict=True))


def test_the_rational_projector_projects():
    X = np.array([[1.0, 0.5], [0.25, -1.0], [2.0, 0.1], [0.0, 3.0]])
    P = exact_projector(X)
    square = [[product(row, column) for column in zip(*P, strict=True)] for row in P]
    assert square == P
    assert [product(row, [Fraction(x) for x in X[:, 0]]) for row in P] == [0, 0, 0, 0]


def test_groups_are_projected_one_by_one_only_if_they_are_orthogonal():
    rng = np.random.default_rng(1)
    columns, z = rng.standard_normal((9, 4)), rng.standard_normal(9)
    for orthogonal in (True, False):
        X = np.linalg.qr(columns)[0] @ np.diag([1.0, 2.0, 3.0, 4.0]) if orthogonal else columns
        right = z - X @ np.linalg.lstsq(X, z, rcond=None)[0]
        by_groups = project_by_groups(X.reshape(9, 2, 2).transpose(1, 0, 2), z)
        assert np.allclose(by_groups, right) == orthogonal


def test_rational_elimination():
    rng = np.random.default_rng(2)
    matrix = rng.integers(-4, 5, (4, 4))
    assert float(exact_determinant(matrix)) == pytest.approx(np.linalg.det(matrix))
    assert exact_determinant(np.array([[0, 1], [1, 0]])) == -1
    assert exact_determinant(np.ones((2, 2), dtype=int)) == 0
    gram = (matrix.T @ matrix).astype(object)
    rational = [[Fraction(value) for value in row] for row in gram.tolist()]
    right = [[Fraction(i)] for i in range(4)]
    solved = exact_solve(rational, right)
    assert [[product(row, [x for [x] in solved])] for row in rational] == right
