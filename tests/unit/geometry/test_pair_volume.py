"""The pair volume by four routes, its meaning as principal angles, and its limits."""

import numpy as np
import pytest
import scipy.linalg

from shtarkov.errors import InvalidProblem, SingularGram
from shtarkov.geometry import log_pair_volume, make_active_factor
from shtarkov.geometry.pair_volume import log_pair_volume_step
from shtarkov.types import Status

ROUTES = ("gram", "sylvester", "dense", "qr")
N = 14


def pair(rng, k_current, k_proposed, n=N):
    X = rng.standard_normal((n, k_current)), rng.standard_normal((n, k_proposed))
    return tuple(make_active_factor(columns) for columns in X)


@pytest.mark.parametrize(
    ("k_current", "k_proposed"),
    [(1, 1), (4, 4), (5, 2), (3, 0), (0, 0), (N, 3), (N, N), (N - 1, 5)],
)
def test_all_routes_give_the_product_of_cosines(rng, k_current, k_proposed):
    current, proposed = pair(rng, k_current, k_proposed)
    q_current, q_proposed = (np.linalg.qr(factor.X_active)[0] for factor in (current, proposed))
    cosines = np.linalg.svd(q_proposed.T @ q_current, compute_uv=False)
    expected = np.log(cosines).sum()
    for route in ROUTES:
        assert log_pair_volume(current, proposed, route=route) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("k_current", "k_proposed"), [(0, 1), (2, 3), (3, N)])
def test_a_larger_set_is_minus_infinity(rng, route, k_current, k_proposed):
    assert log_pair_volume(*pair(rng, k_current, k_proposed), route=route) == -np.inf


@pytest.mark.parametrize("route", ROUTES)
def test_the_same_set_is_zero(rng, route):
    X = rng.standard_normal((N, 4))
    current = make_active_factor(X)
    reordered = make_active_factor(X[:, ::-1])
    assert log_pair_volume(current, current, route=route) == pytest.approx(0.0, abs=1e-10)
    assert log_pair_volume(current, reordered, route=route) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("route", ROUTES)
def test_orthogonal_spaces_are_minus_infinity(route):
    columns = np.eye(6)
    current, proposed = make_active_factor(columns[:, :2]), make_active_factor(columns[:, 2:4])
    assert log_pair_volume(current, proposed, route=route) == -np.inf


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_does_not_matter(rng, scale):
    current, proposed = pair(rng, 4, 3)
    expected = log_pair_volume(current, proposed)
    scaled = make_active_factor(scale * proposed.X_active)
    for route in ("gram", "sylvester", "qr"):
        assert log_pair_volume(current, scaled, route=route) == pytest.approx(expected, abs=1e-9)


def test_definition_with_null_space_bases(rng):
    current, proposed = pair(rng, 4, 4)
    basis = scipy.linalg.null_space(current.X_active.T)
    other = scipy.linalg.null_space(proposed.X_active.T)
    expected = np.linalg.slogdet(other.T @ basis)[1]
    assert log_pair_volume(current, proposed) == pytest.approx(expected, abs=1e-11)


def step_of(gram, current, proposed):
    k_current, k_proposed = len(current), len(proposed)
    chol_current = np.linalg.cholesky(gram[np.ix_(current, current)])
    chol_proposed = np.full((8, 8), np.nan)
    cross = np.full((8, 8), np.nan)
    value, status = log_pair_volume_step(
        gram,
        np.array(current, dtype=np.int64),
        k_current,
        chol_current,
        np.array(proposed, dtype=np.int64),
        k_proposed,
        chol_proposed,
        cross,
    )
    return value, status, np.tril(chol_proposed[:k_proposed, :k_proposed])


@pytest.mark.parametrize(
    ("current", "proposed"),
    [([0, 1, 2], [3, 1, 5]), ([4, 2, 1], [2, 0]), ([1, 0], [2, 3, 4]), ([3], [])],
)
def test_step_from_the_full_gram_matrix(rng, current, proposed):
    X = rng.standard_normal((N, 6))
    gram = X.T @ X
    value, status, chol = step_of(gram, current, proposed)
    factors = [make_active_factor(X[:, columns]) for columns in (current, proposed)]
    assert status == Status.OK
    assert value == pytest.approx(log_pair_volume(*factors, route="qr"), abs=1e-11)
    np.testing.assert_allclose(chol, factors[1].chol_gram, atol=1e-12)


def test_step_is_exactly_zero_when_the_set_did_not_change(rng):
    X = rng.standard_normal((N, 6))
    assert step_of(X.T @ X, [5, 0, 3], [0, 3, 5])[:2] == (0.0, Status.OK)
    assert step_of(X.T @ X, [5, 0, 3], [0, 3, 4])[0] < 0.0


def test_step_reports_a_singular_proposal(rng):
    X = rng.standard_normal((N, 4))
    X[:, 3] = X[:, 0]
    value, status, _ = step_of(X.T @ X, [1, 2], [0, 3])
    assert np.isnan(value)
    assert status == Status.SINGULAR_GRAM


@pytest.mark.parametrize("route", ["gram", "sylvester", "dense"])
def test_singular_gram_is_an_error(rng, route):
    current, proposed = pair(rng, 3, 3)
    with pytest.raises(SingularGram):
        log_pair_volume(current._replace(status=int(Status.SINGULAR_GRAM)), proposed, route=route)


def test_points_of_different_size_are_refused(rng):
    with pytest.raises(InvalidProblem, match="same number of rows"):
        log_pair_volume(*pair(rng, 2, 2)[:1], pair(rng, 2, 2, n=9)[1])
