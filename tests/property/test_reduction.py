"""What must not change: rotations of data space, how rows are read, who holds them, repetition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shtarkov.families.reduce import reduce_design

quick = settings(max_examples=40, deadline=None, derandomize=True)

seeds = st.integers(0, 2**32 - 1)
intercepts = st.booleans()


@st.composite
def designs(draw, max_rows=60, max_columns=8):
    """A design with chance duplicates, zeros, constants and scales, and a response."""
    n_rows, n_columns = draw(st.integers(3, max_rows)), draw(st.integers(1, max_columns))
    generator = np.random.default_rng(draw(seeds))
    X = generator.standard_normal((n_rows, n_columns))
    for column in range(n_columns):
        kind = draw(st.sampled_from(["plain", "plain", "copy", "zero", "constant", "scaled"]))
        if kind == "copy":
            X[:, column] = X[:, 0]
        elif kind in ("zero", "constant"):
            X[:, column] = 0.0 if kind == "zero" else 0.3
        elif kind == "scaled":
            X[:, column] *= 10.0 ** draw(st.integers(-6, 6))
    return X, generator.standard_normal(n_rows)


def summary(design, y):
    """Everything an answer can depend on: Gram matrix, X'y, squared length, dimension."""
    reduced = design.reduce_response(y)
    total = reduced.y @ reduced.y + reduced.orthogonal_sq
    return design.X.T @ design.X, design.X.T @ reduced.y, total, design.n_dim


def assert_equivalent(left, right, y_left, y_right, lengths, tolerance=1e-10):
    gram, products, total, n_dim = summary(left, y_left)
    other_gram, other_products, other_total, other_dim = summary(right, y_right)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    size = max(1.0, np.linalg.norm(y_left))
    assert np.abs((gram - other_gram) / np.outer(lengths, lengths)).max() < tolerance
    assert np.abs((products - other_products) / (lengths * size)).max() < tolerance
    assert abs(total - other_total) < tolerance * size**2
    assert n_dim == other_dim


@quick
@given(data=designs(), seed=seeds)
def test_rotating_data_space_changes_nothing(data, seed):
    X, y = data
    rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(y), len(y))))[0]
    rotated = reduce_design(rotation @ X)
    assert_equivalent(reduce_design(X), rotated, y, rotation @ y, np.linalg.norm(X, axis=0))


@quick
@given(data=designs(), intercept=intercepts, block_rows=st.integers(1, 70))
def test_streamed_equals_one_shot(data, intercept, block_rows):
    X, y = data
    whole = reduce_design(X, fit_intercept=intercept)
    streamed = reduce_design(X, fit_intercept=intercept, block_rows=block_rows)
    assert whole.X.shape == streamed.X.shape
    assert_equivalent(whole, streamed, y, y, np.linalg.norm(X, axis=0))


@quick
@given(data=designs(), intercept=intercepts, seed=seeds)
def test_integer_weights_are_repeated_rows_for_every_fit(data, intercept, seed):
    X, y = data
    counts = np.random.default_rng(seed).integers(0, 4, len(y))
    counts[:3] += 1
    weighted = reduce_design(X, fit_intercept=intercept, sample_weight=counts)
    repeated = reduce_design(np.repeat(X, counts, axis=0), fit_intercept=intercept)
    lengths = np.linalg.norm(X, axis=0)
    left, right = summary(weighted, y), summary(repeated, np.repeat(y, counts))
    scale = np.where(lengths > 0.0, lengths, 1.0)
    assert np.abs((left[0] - right[0]) / np.outer(scale, scale)).max() < 1e-10
    assert np.abs((left[1] - right[1]) / scale).max() < 1e-9
    assert left[2] == pytest.approx(right[2], rel=1e-10, abs=1e-12)
    assert weighted.total_weight == repeated.total_weight == counts.sum()
    # Dimensions differ on purpose: a row counts once, however heavy.
    assert weighted.n_dim == np.count_nonzero(counts) - weighted.n_unpenalised


@quick
@given(data=designs(max_columns=5), seed=seeds)
def test_unpenalised_columns_may_be_added_to_the_response(data, seed):
    X, y = data
    generator = np.random.default_rng(seed)
    X = np.column_stack((generator.standard_normal((len(y), 1)), X))
    design = reduce_design(X, fit_intercept=True, unpenalised=[0])
    moved = y + 5.0 - 3.0 * X[:, 0]
    assert_equivalent(design, design, y, moved, np.linalg.norm(X[:, 1:], axis=0))
    coef = generator.standard_normal(X.shape[1] - 1)
    before, after = design.unpenalised_coef(y, coef), design.unpenalised_coef(moved, coef)
    residuals = [
        response - intercept - X[:, 0] * slope[0] - X[:, 1:] @ coef
        for response, (intercept, slope) in ((y, before), (moved, after))
    ]
    size = np.abs(X).max() * np.abs(coef).max() + 10.0
    np.testing.assert_allclose(residuals[0], residuals[1], atol=1e-9 * size)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=designs(), intercept=intercepts, chunk=st.integers(1, 30), weigh=st.booleans())
def test_a_chunked_array_equals_a_dense_one(data, intercept, chunk, weigh):
    dask_array = pytest.importorskip("dask.array")
    X, y = data
    weights = np.linspace(0.5, 2.0, len(y)) if weigh else None
    options = {"fit_intercept": intercept, "sample_weight": weights}
    chunked = reduce_design(dask_array.from_array(X, chunks=(chunk, 2)), **options)
    lengths = np.linalg.norm(X, axis=0)
    assert_equivalent(reduce_design(X, **options), chunked, y, y, lengths)
