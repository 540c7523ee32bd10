"""Making a factor: right values, and one clear error for each kind of bad input."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem, SingularGram
from shtarkov.geometry import make_active_factor
from shtarkov.geometry.active_factor import factor_active
from shtarkov.types import Status


@pytest.mark.parametrize("route", ["schur", "qr"])
@pytest.mark.parametrize("k", [0, 1, 4, 9])
def test_factors_reproduce_gram_and_bent_gram(rng, route, k):
    X = rng.standard_normal((9, k))
    direction = rng.standard_normal(k)
    curvature = np.outer(direction, direction) if k else np.zeros((0, 0))
    factor = make_active_factor(X, curvature, route=route)
    assert factor.status == Status.OK
    np.testing.assert_allclose(factor.chol_gram @ factor.chol_gram.T, X.T @ X, atol=1e-12)
    bent = X.T @ X + curvature
    np.testing.assert_allclose(factor.chol_bent @ factor.chol_bent.T, bent, atol=1e-12)
    assert (np.diag(factor.chol_gram) > 0.0).all()


def test_lists_and_fortran_arrays_are_taken(rng):
    X = rng.standard_normal((5, 2))
    expected = make_active_factor(X).chol_gram
    np.testing.assert_array_equal(make_active_factor(X.tolist()).chol_gram, expected)
    np.testing.assert_array_equal(make_active_factor(np.asfortranarray(X)).chol_gram, expected)


@pytest.mark.parametrize("route", ["schur", "qr"])
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan], [2.0, 1.0]]), "NaN or infinity"),
        (np.array([[1.0], [np.inf]]), "NaN or infinity"),
        (np.ones((2, 2, 1)), r"matrix \(N, k\)"),
        (np.ones((2, 3)), "at most N columns"),
        ([["a", "b"]], "real numbers"),
    ],
)
def test_bad_columns_get_one_clear_error(X, message, route):
    with pytest.raises(InvalidProblem, match=message):
        make_active_factor(X, route=route)


@pytest.mark.parametrize("route", ["schur", "qr"])
def test_duplicated_columns_are_named(rng, route):
    X = rng.standard_normal((6, 2))
    with pytest.raises(SingularGram, match="0 and 2 are duplicates"):
        make_active_factor(np.column_stack([X, X[:, 0]]), route=route)


@pytest.mark.parametrize("route", ["schur", "qr"])
def test_dependent_and_zero_columns_are_singular(rng, route):
    X = rng.standard_normal((6, 2))
    for extra in (X @ [1.0, 2.0], np.zeros(6), -X[:, 1]):
        with pytest.raises(SingularGram, match="numerically dependent"):
            make_active_factor(np.column_stack([X, extra]), route=route)


def test_the_orthonormal_route_serves_what_the_gram_matrix_cannot(rng):
    X = rng.standard_normal((8, 2))
    X = np.column_stack([X, X[:, 0] + 1e-9 * rng.standard_normal(8)])
    with pytest.raises(SingularGram):
        make_active_factor(X)
    assert make_active_factor(X, route="qr").status == Status.OK


@pytest.mark.parametrize(
    ("curvature", "message"),
    [
        (np.eye(3), "curvature must be a"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (np.full((2, 2), np.nan), "finite"),
    ],
)
def test_bad_curvature(rng, curvature, message):
    with pytest.raises(InvalidProblem, match=message):
        make_active_factor(rng.standard_normal((5, 2)), curvature)


def test_negative_curvature_and_unknown_route(rng):
    X = rng.standard_normal((5, 2))
    with pytest.raises(InvalidProblem, match="semidefinite"):
        make_active_factor(X, -np.eye(2), route="qr")
    with pytest.raises(InvalidProblem, match="route"):
        make_active_factor(X, route="fast")


def test_compiled_form_answers_with_a_status(rng):
    X = rng.standard_normal((6, 2))
    assert factor_active(np.column_stack([X, X[:, 0]]), np.zeros((3, 3))).status == (
        Status.SINGULAR_GRAM
    )
    assert factor_active(X * np.nan, np.zeros((2, 2))).status == Status.NOT_FINITE
