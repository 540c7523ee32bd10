"""Every operator by every route: same numbers, the properties they must have, same errors."""

import numpy as np
import pytest

from shtarkov.errors import InvalidProblem, SingularGram
from shtarkov.geometry import (
    apply_d_en,
    apply_m11,
    dense,
    group_tangent_project,
    log_volume,
    make_active_factor,
    qr,
    schur,
    tangent_project,
)
from shtarkov.types import Status

N = 15
ROUTES = ("dense", "schur", "qr")
SCALES = (1e-6, 1.0, 1e6)


def agree(values, **tolerance):
    for value in values[1:]:
        np.testing.assert_allclose(value, values[0], **(tolerance or {"rtol": 1e-10}))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("k", [0, 1, 4, N])
def test_tangent_project(rng, k, scale):
    X = scale * rng.standard_normal((N, k))
    z = rng.standard_normal(N)
    factor = make_active_factor(X)
    for route in ROUTES if scale == 1.0 else ("schur", "qr"):
        projected = tangent_project(factor, z, route=route)
        expected = z - X @ np.linalg.lstsq(X, z)[0] if k else z
        np.testing.assert_allclose(projected, expected, atol=1e-9)
        again = tangent_project(factor, projected, route=route)
        np.testing.assert_allclose(again, projected, atol=1e-9)


@pytest.mark.parametrize("k", [0, 1, 4, N])
def test_log_volume_of_each_family(rng, k):
    X = rng.standard_normal((N, k))
    direction = rng.standard_normal(k)
    curvatures = [np.zeros((k, k)), 0.7 * np.eye(k), np.outer(direction, direction)]
    for curvature in curvatures:
        factor = make_active_factor(X, curvature)
        values = [log_volume(factor, route=route) for route in ROUTES]
        gram = X.T @ X
        bent = np.linalg.slogdet(gram + curvature)[1]
        agree([bent - 0.5 * np.linalg.slogdet(gram)[1], *values], atol=1e-10)


@pytest.mark.parametrize("lam2", [1e-3, 0.7, 40.0])
@pytest.mark.parametrize("k", [0, 1, 4, N])
def test_d_en_and_its_determinant(rng, k, lam2):
    X = rng.standard_normal((N, k))
    matrices = [
        np.stack([apply_d_en(X, lam2, e, route=route) for e in np.eye(N)], axis=1)
        for route in ROUTES
    ]
    agree(matrices, atol=1e-10)
    factor = make_active_factor(X, lam2 * np.eye(k))
    log_det = (
        -N * np.log1p(lam2) + k * np.log(lam2) - np.linalg.slogdet(X.T @ X + lam2 * np.eye(k))[1]
    )
    agree(
        [log_det, *(module.log_det_d_en(factor, lam2) for module in (dense, schur, qr))], atol=1e-9
    )
    assert np.linalg.eigvalsh(matrices[1]).min() > 0.0


def test_d_en_is_not_a_projector(rng):
    X = rng.standard_normal((N, 3))
    z = rng.standard_normal(N)
    once = apply_d_en(X, 0.5, z)
    assert np.linalg.norm(apply_d_en(X, 0.5, once) - once) > 0.1 * np.linalg.norm(once)


@pytest.mark.parametrize("ridge", [1e-2, 1.0, 50.0])
@pytest.mark.parametrize(("k", "n_features"), [(0, 4), (1, 1), (3, 12), (12, 3), (7, 7)])
def test_m11_on_either_side(rng, k, n_features, ridge):
    rows = rng.standard_normal((k, n_features))
    z = rng.standard_normal(k)
    inner = np.eye(k) + rows @ rows.T / ridge
    solved = np.linalg.solve(inner, z)
    agree([solved, *(apply_m11(rows, ridge, z, route=route) for route in ROUTES)], atol=1e-10)
    log_dets = [module.log_det_m11(rows, ridge) for module in (dense, schur, qr)]
    agree([-np.linalg.slogdet(inner)[1], *log_dets], atol=1e-10)


def test_m11_takes_repeated_rows(rng):
    rows = np.repeat(rng.standard_normal((1, 3)), 5, axis=0)
    z = rng.standard_normal(5)
    agree([apply_m11(rows, 0.1, z, route=route) for route in ROUTES], atol=1e-11)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_group_projection(rng, orthogonal):
    starts = [0, 2, 3, 6]
    X = rng.standard_normal((N, 6))
    if orthogonal:
        X = np.linalg.qr(X)[0]
        X[:, :2] = X[:, :2] @ rng.standard_normal((2, 2))
    z = rng.standard_normal(N)
    factor = make_active_factor(X)
    values = [group_tangent_project(X, starts, z, route=route) for route in ROUTES]
    agree([tangent_project(factor, z), *values], atol=1e-11)


def test_no_groups(rng):
    z = rng.standard_normal(4)
    for route in ROUTES:
        np.testing.assert_allclose(group_tangent_project(np.empty((4, 0)), [0], z, route=route), z)


@pytest.mark.parametrize("route", ["fast", "", "gram"])
def test_unknown_route_is_named(rng, route):
    factor = make_active_factor(rng.standard_normal((4, 1)))
    with pytest.raises(InvalidProblem, match="route must be one of"):
        tangent_project(factor, np.ones(4), route=route)


@pytest.mark.parametrize(
    ("z", "message"), [(np.ones(3), "length 4"), (np.array([1.0, np.nan, 0.0, 0.0]), "NaN")]
)
def test_bad_vector(rng, z, message):
    factor = make_active_factor(rng.standard_normal((4, 1)))
    with pytest.raises(InvalidProblem, match=message):
        tangent_project(factor, z)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_ridge_must_be_positive(rng, weight):
    X = rng.standard_normal((4, 2))
    with pytest.raises(InvalidProblem, match="lam2 must be positive"):
        apply_d_en(X, weight, np.ones(4))
    with pytest.raises(InvalidProblem, match="ridge must be positive"):
        apply_m11(X, weight, np.ones(4))


@pytest.mark.parametrize("starts", [[0, 2], [1, 3], [0, 2, 2, 3], [], [[0, 3]]])
def test_bad_group_bounds(rng, starts):
    with pytest.raises(InvalidProblem, match="starts"):
        group_tangent_project(rng.standard_normal((5, 3)), starts, np.ones(5))


def test_bad_support_rows():
    with pytest.raises(InvalidProblem, match="X_support"):
        apply_m11(np.ones(3), 1.0, np.ones(3))


def test_dependent_groups_are_refused(rng):
    X = rng.standard_normal((6, 2))
    X = np.column_stack([X, X @ [1.0, 1.0]])
    for route in ROUTES:
        with pytest.raises(SingularGram):
            group_tangent_project(X, [0, 1, 3], np.ones(6), route=route)


def test_a_singular_factor_never_yields_a_projector(rng):
    X = rng.standard_normal((8, 2))
    X = np.column_stack([X, X[:, 0] + 1e-9 * rng.standard_normal(8)])
    good = make_active_factor(X, route="qr")
    singular = good._replace(status=int(Status.SINGULAR_GRAM))
    for route in ("schur", "dense"):
        with pytest.raises(SingularGram):
            tangent_project(singular, np.ones(8), route=route)
        with pytest.raises(SingularGram):
            log_volume(singular, route=route)
    q = np.linalg.qr(X)[0]
    expected = np.ones(8) - q @ (q.T @ np.ones(8))
    np.testing.assert_allclose(
        tangent_project(singular, np.ones(8), route="qr"), expected, atol=1e-6
    )
