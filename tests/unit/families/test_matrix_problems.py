"""The problem with matrix data: checks of input, and the reduction against a dense regression."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.matrix_problems import NuclearNorm
from shtarkov.families.nuclear_norm import NuclearFamily


def family_of_design(design, lam):
    return NuclearFamily(design.scales, design.basis, design.n_targets, lam)


def dense_estimate(X, Y, lam, n_steps=40_000):
    """Proximal gradient steps on the rows as they are."""
    step, coef = np.linalg.norm(X, 2) ** 2, np.zeros((X.shape[1], Y.shape[1]))
    for _ in range(n_steps):
        left, values, right = np.linalg.svd(coef + X.T @ (Y - X @ coef) / step, full_matrices=False)
        following = (left * np.maximum(values - lam / step, 0.0)) @ right
        if np.abs(following - coef).max() < 1e-14:
            break
        coef = following
    return coef


@pytest.mark.parametrize("shape", [(20, 4, 3), (4, 7, 3), (6, 6, 2)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_reduced_fit_is_the_fit_of_all_rows(rng, shape, fit_intercept):
    n, d, q = shape
    X = rng.standard_normal((n, d))
    Y = X[:, :1] @ rng.standard_normal((1, q)) + 0.3 * rng.standard_normal((n, q)) + 2.0
    problem = NuclearNorm(X, n_targets=q, fit_intercept=fit_intercept)
    design, lam = problem.design, 1.5
    response = design.reduce_response(Y)
    family = family_of_design(design, lam)
    fit = protocol.solve(family, response.y, protocol.new_work(family, 0))
    centre_x, centre_y = fit_intercept * X.mean(0), fit_intercept * Y.mean(0)
    expected = dense_estimate(X - centre_x, Y - centre_y, lam)
    coef = fit.coef.reshape(d, q)
    residual = Y - centre_y - (X - centre_x) @ expected
    envelope = 0.5 * np.sum(residual**2) + lam * np.linalg.norm(expected, "nuc")
    assert fit.envelope + 0.5 * response.orthogonal_sq == pytest.approx(envelope, rel=1e-10)
    np.testing.assert_allclose(coef, expected, atol=2e-6)
    intercept, free = design.unpenalised_coef(response, fit.coef)
    assert free.shape == (0, q)
    np.testing.assert_allclose(intercept, centre_y - np.dot(centre_x, coef), atol=1e-9)


def test_rows_beyond_the_columns_cost_nothing(rng):
    X = rng.standard_normal((500, 3))
    design = NuclearNorm(X, n_targets=2).design
    assert design.scales.size == 3
    assert (design.n_dim, design.n_orthogonal, design.n_samples) == (1000, 994, 1000)
    Y = rng.standard_normal((500, 2))
    response = design.reduce_response(Y)
    assert response.y @ response.y + response.orthogonal_sq == pytest.approx(np.sum(Y**2))


def test_dependent_columns_and_equal_lengths(rng):
    X = rng.standard_normal((10, 2))
    assert NuclearNorm(np.hstack([X, X]), n_targets=2).design.scales.size == 2
    orthonormal = np.linalg.qr(rng.standard_normal((10, 4)))[0]
    scales = NuclearNorm(3.0 * orthonormal, n_targets=2).design.scales
    assert np.ptp(scales) == 0.0
    assert scales[0] == pytest.approx(3.0)


def test_denoising(rng):
    problem = NuclearNorm(shape=(3, 4))
    Y = rng.standard_normal((3, 4))
    np.testing.assert_array_equal(problem.design.reduce_response(Y).y, Y.ravel())
    assert (problem.design.n_dim, problem.design.n_orthogonal) == (12, 0)
    assert problem.penalties(2.0) == (2.0, 0.0)
    assert repr(problem) == "NuclearNorm(shape=(3, 4))"
    intercept, free = problem.design.unpenalised_coef(Y, Y)
    np.testing.assert_array_equal(intercept, np.zeros(4))
    assert free.shape == (0, 4)


def test_names_and_weights(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng.standard_normal((6, 2)), columns=["a", "b"])
    weights = np.array([1.0, 2.0, 1.0, 0.0, 1.0, 3.0])
    design = NuclearNorm(frame, n_targets=2, sample_weight=weights, fit_intercept=True).design
    assert design.coefficient_names == ("a:0", "a:1", "b:0", "b:1")
    assert design.total_weight == 8.0
    assert design.n_dim == 2 * (5 - 1)
    assert repr(NuclearNorm(frame, n_targets=2)) == (
        "NuclearNorm(n_samples=6, n_features=2, n_targets=2)"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a design X"),
        ({"X": np.eye(2), "shape": (2, 2)}, "either a design X"),
        ({"X": np.eye(2)}, "n_targets must be"),
        ({"X": np.eye(2), "n_targets": 0}, "n_targets must be"),
        ({"shape": (2, 2), "n_targets": 2}, "belong to a design"),
        ({"shape": (2, 2), "sample_weight": [1, 1]}, "belongs to a design"),
        ({"shape": 3}, "shape must be"),
        ({"shape": (2, 0)}, "the number of rows|that of columns"),
        ({"X": np.zeros((3, 2)), "n_targets": 2}, "is zero"),
    ],
)
def test_wrong_problems(arguments, message):
    with pytest.raises(InvalidProblem, match=message):
        NuclearNorm(**arguments)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(6), "shape"),
        (np.ones((3, 2)), "shape"),
        ([[1.0, np.nan, 1.0], [1.0, 1.0, 1.0]], "NaN or infinite"),
        ([["a", "b", "c"], ["d", "e", "f"]], "not numeric"),
        (np.full((2, 3), 1e200), "rescale"),
        ([[1.0, 2.0], [1.0]], "numbers"),
    ],
)
def test_wrong_data(y, message):
    with pytest.raises(InvalidProblem, match=message):
        NuclearNorm(shape=(2, 3)).design.reduce_response(y)
