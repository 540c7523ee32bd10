"""What must hold for any pair of active sets: symmetry, range, agreement of the routes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shtarkov.geometry import log_pair_volume, log_volume, make_active_factor, tangent_project

SETTINGS = settings(max_examples=100, deadline=None, derandomize=True, database=None)
ROUTES = ("gram", "sylvester", "dense", "qr")


@st.composite
def pairs(draw):
    """Two subsets of one design's columns, which may overlap, coincide or be empty."""
    n = draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.standard_normal((n, 12))
    sets = [draw(st.lists(st.integers(0, 11), unique=True, max_size=min(n, 8))) for _ in range(2)]
    return X, sets


def well_conditioned(X, sets):
    return all(not s or np.linalg.cond(X[:, s]) < 50.0 for s in sets)


@SETTINGS
@given(pairs())
def test_pair_volume(drawn):
    X, sets = drawn
    if not well_conditioned(X, sets):
        return
    current, proposed = (make_active_factor(X[:, s]) for s in sets)
    values = [log_pair_volume(current, proposed, route=route) for route in ROUTES]
    if len(sets[1]) > len(sets[0]):
        assert values == [-np.inf] * 4
        return
    if values[3] > -12.0:  # beyond, a cosine is near zero and cancellation in I - WW' shows
        np.testing.assert_allclose(values, values[3], atol=1e-7)
        np.testing.assert_allclose(values[0], values[3], atol=1e-9)
    assert max(values) < 1e-9
    if len(sets[0]) == len(sets[1]):
        back = log_pair_volume(proposed, current)
        assert back == pytest.approx(values[0], abs=1e-9)
    if set(sets[0]) >= set(sets[1]):
        assert values[0] == pytest.approx(0.0, abs=1e-10)


@SETTINGS
@given(pairs())
def test_projection_and_volume(drawn):
    X, sets = drawn
    if not well_conditioned(X, sets[:1]):
        return
    factor = make_active_factor(X[:, sets[0]])
    z = np.linspace(-1.0, 2.0, X.shape[0])
    projected = [tangent_project(factor, z, route=route) for route in ("schur", "qr", "dense")]
    np.testing.assert_allclose(projected[1:], [projected[0]] * 2, atol=1e-10)
    np.testing.assert_allclose(factor.X_active.T @ projected[1], 0.0, atol=1e-11)
    volumes = [log_volume(factor, route=route) for route in ("schur", "qr", "dense")]
    np.testing.assert_allclose(volumes, volumes[0], atol=1e-10)
