"""The contract of a reduced design, and what happens with every kind of input."""

import numpy as np
import pytest

from shtarkov.families.reduce import reduce_design


def gram_and_products(design, y):
    reduced = design.reduce_response(y)
    return design.X.T @ design.X, design.X.T @ reduced.y, reduced


def assert_same_problem(left, right, y, tolerance=1e-12):
    for a, b in zip(gram_and_products(left, y)[:2], gram_and_products(right, y)[:2], strict=True):
        np.testing.assert_allclose(a, b, atol=tolerance * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (1, 3), (3, 1), (1, 1), (7, 7)])
def test_contract_without_unpenalised_columns(rng, shape):
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    design = reduce_design(X)
    n = min(shape)
    assert design.X.shape == (n, shape[1])
    assert design.X.flags.f_contiguous
    assert design.X.flags.writeable
    assert not np.shares_memory(design.X, X)
    assert (design.n_samples, design.n_features) == shape
    assert (design.n_unpenalised, design.n_zero_weight) == (0, 0)
    assert design.n_orthogonal == shape[0] - n
    assert design.n_dim == shape[0]
    assert design.total_weight == shape[0]
    reduced = design.reduce_response(y)
    assert reduced.y.shape == (n,)
    assert reduced.y @ reduced.y + reduced.orthogonal_sq == pytest.approx(y @ y, rel=1e-12)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (3, 2)])
def test_an_intercept_takes_one_dimension(rng, shape):
    design = reduce_design(rng.standard_normal(shape) + 3.0, fit_intercept=True)
    assert design.n_unpenalised == 1
    assert design.n_dim == shape[0] - 1
    assert design.X.shape[0] + design.n_orthogonal == shape[0] - 1
    np.testing.assert_array_equal(design.penalised, np.arange(shape[1]))


def test_the_triangle_is_the_same_however_rows_are_read(rng):
    X = rng.standard_normal((90, 4))
    one_shot, blocks = reduce_design(X), reduce_design(X, block_rows=7)
    np.testing.assert_allclose(one_shot.X, blocks.X, atol=1e-12)
    assert np.all(np.diag(one_shot.X) > 0.0)
    np.testing.assert_array_equal(np.tril(one_shot.X, -1), 0.0)


@pytest.mark.parametrize("n_rows", [60, 8])
def test_unpenalised_columns_leave_the_penalised_names(rng, n_rows):
    pandas = pytest.importorskip("pandas")
    values = rng.standard_normal((n_rows, 4))
    frame = pandas.DataFrame(values, columns=["age", "dose", "sex", "<b>"])
    design = reduce_design(frame, unpenalised=["sex", "age"], fit_intercept=True)
    assert design.feature_names == ("dose", "<b>")
    np.testing.assert_array_equal(design.unpenalised, [0, 2])
    np.testing.assert_array_equal(design.penalised, [1, 3])
    assert design.n_unpenalised == 3
    by_mask = reduce_design(values, unpenalised=[True, False, True, False], fit_intercept=True)
    assert by_mask.feature_names is None
    assert_same_problem(design, by_mask, rng.standard_normal(n_rows))


@pytest.mark.parametrize("n_rows", [200, 5])
def test_a_response_in_the_unpenalised_span_has_nothing_left(rng, n_rows):
    X = rng.standard_normal((n_rows, 4))
    design = reduce_design(X, fit_intercept=True, unpenalised=[1])
    y = 3.0 + 2.0 * X[:, 1]
    reduced = design.reduce_response(y)
    assert np.abs(reduced.y).max() < 1e-13 * np.abs(y).max() * n_rows
    assert reduced.orthogonal_sq < 1e-24 * (y @ y)
    intercept, coef = design.unpenalised_coef(reduced, np.zeros(3))
    assert intercept == pytest.approx(3.0)
    assert coef == pytest.approx([2.0])


def test_a_response_in_the_column_space_has_no_orthogonal_part(rng):
    X = rng.standard_normal((500, 4))
    y = X @ np.array([1.0, -2.0, 0.0, 3.0])
    assert reduce_design(X).reduce_response(y).orthogonal_sq < 1e-25 * (y @ y)


@pytest.mark.parametrize("n_rows", [100, 6])
def test_degenerate_columns_are_exactly_zero_or_do_not_add_rank(rng, n_rows):
    X = rng.standard_normal((n_rows, 7))
    X[:, 1] = 0.0
    X[:, 3] = 0.1  # constant; not exact in binary
    X[:, 4] = X[:, 0]
    X[:, 6] = X[:, 2] - 2.0 * X[:, 5]
    y = rng.standard_normal(n_rows)
    design = reduce_design(X, fit_intercept=True)
    np.testing.assert_array_equal(design.X[:, [1, 3]], 0.0)
    np.testing.assert_allclose(design.X[:, 4], design.X[:, 0], atol=1e-13)
    if n_rows == 100:
        assert design.X.shape == (3, 7)
        assert design.n_orthogonal == n_rows - 1 - 3
    centred = X - X.mean(axis=0)
    gram, products, _ = gram_and_products(design, y)
    np.testing.assert_allclose(gram, centred.T @ centred, atol=1e-11)
    np.testing.assert_allclose(products, centred.T @ y, atol=1e-12)


@pytest.mark.parametrize("n_rows", [50, 3])
def test_a_design_of_zeros_keeps_a_null_direction(rng, n_rows):
    design = reduce_design(np.zeros((n_rows, 3)), fit_intercept=True)
    y = rng.standard_normal(n_rows)
    reduced = design.reduce_response(y)
    np.testing.assert_array_equal(design.X, 0.0)
    assert design.X.shape[0] >= 1
    assert design.n_dim == n_rows - 1
    centred = y - y.mean()
    total = reduced.y @ reduced.y + reduced.orthogonal_sq
    assert total == pytest.approx(centred @ centred, rel=1e-12)


@pytest.mark.parametrize("n_rows", [80, 5])
def test_dependent_unpenalised_columns_count_once(rng, n_rows):
    X = rng.standard_normal((n_rows, 6))
    X[:, :2] = np.eye(2)[np.arange(n_rows) % 2]  # one-hot: sums to the intercept
    y = rng.standard_normal(n_rows)
    design = reduce_design(X, fit_intercept=True, unpenalised=[0, 1])
    assert design.n_unpenalised == 2
    assert design.n_dim == n_rows - 2
    coef = rng.standard_normal(4)
    intercept, unpenalised = design.unpenalised_coef(y, coef)
    residual = y - intercept - X[:, :2] @ unpenalised - X[:, 2:] @ coef
    np.testing.assert_allclose(X[:, :2].T @ residual, 0.0, atol=1e-12)
