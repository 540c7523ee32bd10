"""Each route against 50 digits: the bound of Theorem 1, a clear refusal, the route beyond it."""

import mpmath
import numpy as np
import pytest

from shtarkov.errors import SingularGram
from shtarkov.geometry import log_pair_volume, make_active_factor, tangent_project

N, K = 16, 4
UNIT_ROUNDOFF = 2.0**-53
# Theorem 1 assumes the Gram matrix exact to one rounding; forming and factoring it takes k more.
CONSTANT = 4.0 * K


@pytest.fixture(autouse=True)
def fifty_digits():
    with mpmath.workdps(50):
        yield


def design(condition, rng):
    left, _ = np.linalg.qr(rng.standard_normal((N, K)))
    right, _ = np.linalg.qr(rng.standard_normal((K, K)))
    return (left * np.geomspace(1.0, 1.0 / condition, K)) @ right.T


def exact(matrix):
    return mpmath.matrix(matrix.tolist())


def projector_error(factor, route):
    """Spectral norm of (computed - exact), the difference taken in 50 digits."""
    X = exact(factor.X_active)
    reference = mpmath.eye(N) - X * mpmath.inverse(X.T * X) * X.T
    computed = np.stack([tangent_project(factor, e, route=route) for e in np.eye(N)], axis=1)
    return np.linalg.norm(np.array((exact(computed) - reference).tolist(), dtype=float), 2)


def exact_log_pair_volume(X_current, X_proposed):
    current, proposed = exact(X_current), exact(X_proposed)
    cross = current.T * proposed
    projected = cross.T * mpmath.inverse(current.T * current) * cross
    return float(mpmath.log(mpmath.det(projected) / mpmath.det(proposed.T * proposed)) / 2)


@pytest.mark.parametrize("power", range(8))
@pytest.mark.parametrize("route", ["schur", "dense"])
def test_gram_routes_obey_theorem_one(rng, power, route):
    for _ in range(3):
        factor = make_active_factor(design(10.0**power, rng))
        bound = CONSTANT * UNIT_ROUNDOFF * 10.0 ** (2 * power)
        assert projector_error(factor, route) < bound


def test_the_bound_is_not_idle(rng):
    """At condition 1e6 the Schur error is within four digits of the bound: the square is real."""
    errors = [projector_error(make_active_factor(design(1e6, rng)), "schur") for _ in range(3)]
    assert max(errors) > 1e-4 * UNIT_ROUNDOFF * 1e12


@pytest.mark.parametrize("power", range(13))
def test_orthonormal_basis_loses_only_the_condition_number(rng, power):
    current, proposed = (make_active_factor(design(10.0**power, rng), route="qr") for _ in "xy")
    bound = 10.0 * CONSTANT * UNIT_ROUNDOFF * 10.0**power
    assert projector_error(proposed, "qr") < bound
    expected = exact_log_pair_volume(current.X_active, proposed.X_active)
    assert abs(log_pair_volume(current, proposed, route="qr") - expected) < 10.0 * bound


@pytest.mark.parametrize("power", range(7))
def test_gram_only_pair_volume(rng, power):
    current, proposed = (make_active_factor(design(10.0**power, rng)) for _ in "xy")
    expected = exact_log_pair_volume(current.X_active, proposed.X_active)
    bound = 10.0 * CONSTANT * UNIT_ROUNDOFF * 10.0 ** (2 * power)
    assert abs(log_pair_volume(current, proposed) - expected) < bound


@pytest.mark.parametrize("power", range(9, 13))
def test_no_digits_left_is_a_clear_refusal(rng, power):
    with pytest.raises(SingularGram, match="solver='qr'"):
        make_active_factor(design(10.0**power, rng))
