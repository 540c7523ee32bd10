"""Any sequence of appends and drops leaves what a fresh factorisation of the same columns gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shtarkov.linalg import cholesky as ch
from shtarkov.linalg import orthonormal_basis as ob
from shtarkov.types import Status

N = 8
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["append", "append", "drop"]), st.integers(0, 10**6)), max_size=60
)
SETTINGS = settings(max_examples=150, deadline=None, derandomize=True, database=None)


class Updated:
    """Both factors of the columns now active, changed one column at a time."""

    def __init__(self, X):
        self.X = X
        self.gram = X.T @ X
        self.columns = []
        self.chol = np.full((N, N), np.nan)
        self.basis = np.full((N, X.shape[0]), np.nan)
        self.triangle = np.full((N, N), np.nan)

    def append(self, number):
        candidates = [j for j in range(self.X.shape[1]) if j not in self.columns]
        if len(self.columns) == N or not candidates:
            return
        new = candidates[number % len(candidates)]
        k = len(self.columns)
        cross = np.ascontiguousarray(self.gram[new, self.columns])
        first = ch.cholesky_append(self.chol, k, cross, self.gram[new, new])
        second = ob.basis_append(self.basis, self.triangle, k, np.ascontiguousarray(self.X[:, new]))
        assert first == second == Status.OK
        self.columns.append(new)

    def drop(self, number):
        k = len(self.columns)
        if k == 0:
            return
        position = number % k
        ch.cholesky_drop(self.chol, k, position)
        ob.basis_drop(self.basis, self.triangle, k, position)
        del self.columns[position]

    def run(self, operations):
        for name, number in operations:
            getattr(self, name)(number)
        return self


def relative_error(computed, expected):
    scale = np.abs(expected).max(initial=1e-300)
    return np.abs(computed - expected).max(initial=0.0) / scale


def check_products(state):
    """L L' = X'X, Q'Q = I and Q L' = X to 1e-10 relative, whatever the conditioning."""
    k = len(state.columns)
    X = state.X[:, state.columns]
    chol, triangle = (np.tril(m[:k, :k]) for m in (state.chol, state.triangle))
    assert relative_error(chol @ chol.T, X.T @ X) < 1e-10
    assert relative_error(triangle @ triangle.T, X.T @ X) < 1e-10
    assert relative_error(state.basis[:k] @ state.basis[:k].T, np.eye(k)) < 1e-10
    assert relative_error(triangle @ state.basis[:k], X.T) < 1e-10


@SETTINGS
@given(OPERATIONS, st.integers(0, 1000), st.sampled_from([1e-6, 1.0, 1e6]))
def test_updates_equal_a_fresh_factor(operations, seed, scale):
    # An orthogonal matrix plus a little keeps every subset well conditioned, k = N included.
    rng = np.random.default_rng(seed)
    X = scale * (np.linalg.qr(rng.standard_normal((N, N)))[0] + 0.1 * rng.standard_normal((N, N)))
    state = Updated(X).run(operations)
    check_products(state)
    k = len(state.columns)
    fresh = np.linalg.cholesky(state.gram[np.ix_(state.columns, state.columns)])
    assert relative_error(np.tril(state.chol[:k, :k]), fresh) < 1e-10
    assert relative_error(np.tril(state.triangle[:k, :k]), fresh) < 1e-10


@SETTINGS
@given(OPERATIONS, st.integers(0, 1000), st.sampled_from([1e-2, 1e-4, 1e-6]))
def test_updates_survive_near_collinear_columns(operations, seed, gap):
    rng = np.random.default_rng(seed)
    half = np.linalg.qr(rng.standard_normal((2 * N, N // 2)))[0]
    X = np.concatenate([half, half + gap * rng.standard_normal(half.shape)], axis=1)
    state = Updated(np.ascontiguousarray(X)).run(operations)
    check_products(state)
    k = len(state.columns)
    fresh = np.linalg.qr(state.X[:, state.columns])[1].T
    fresh = fresh * np.sign(np.diag(fresh))
    # The orthonormal route's factor itself, not only its products, keeps its digits.
    assert relative_error(np.tril(state.triangle[:k, :k]), fresh) < 1e-10


@pytest.mark.parametrize("k", [0, N])
def test_empty_and_full_are_reached(k):
    state = Updated(np.eye(N)).run([("append", 0)] * k)
    assert len(state.columns) == k
    check_products(state)
    state.run([("drop", 3)] * (k + 1))
    assert state.columns == []
