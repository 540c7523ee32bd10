"""Every kind of X a user may hold, and what is refused with which message."""

import numpy as np
import pytest
import scipy.sparse

from shtarkov.errors import InvalidProblem
from shtarkov.families import reduce, rows
from shtarkov.families.reduce import reduce_design


def assert_same_problem(left, right, y, tolerance=1e-12):
    pairs = [
        (left.X.T @ left.X, right.X.T @ right.X),
        (left.X.T @ left.reduce_response(y).y, right.X.T @ right.reduce_response(y).y),
    ]
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=tolerance * max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("n_rows", [60, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.uint16, bool])
def test_other_number_types_are_converted(rng, n_rows, dtype):
    X = (10 * rng.random((n_rows, 8))).astype(dtype)
    y = rng.standard_normal(n_rows)
    assert_same_problem(reduce_design(X), reduce_design(X.astype(float)), y)


@pytest.mark.parametrize("n_rows", [60, 6])
def test_layouts_views_and_read_only_arrays_are_alike(rng, n_rows):
    X, y = rng.standard_normal((n_rows, 8)), rng.standard_normal(n_rows)
    reference = reduce_design(X)
    wide = np.repeat(X, 2, axis=1)
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(X), wide[:, ::2], frozen, X.tolist(), X[::-1][::-1]):
        design = reduce_design(same)
        assert_same_problem(design, reference, y)
        assert design.X.flags.writeable


def test_the_reduced_design_does_not_follow_later_edits(rng):
    X = rng.standard_normal((4, 9))
    design = reduce_design(X)
    X[:] = 0.0
    assert np.abs(design.X).min() > 0.0


@pytest.mark.parametrize("n_rows", [60, 6])
@pytest.mark.parametrize("container", ["csr_matrix", "csc_array", "coo_array"])
def test_sparse_matrices_equal_dense_ones(rng, n_rows, container):
    X = rng.standard_normal((n_rows, 9)) * (rng.random((n_rows, 9)) < 0.5)
    y = rng.standard_normal(n_rows)
    sparse = getattr(scipy.sparse, container)(X)
    for options in ({}, {"fit_intercept": True, "unpenalised": [0]}):
        assert_same_problem(reduce_design(sparse, **options), reduce_design(X, **options), y)


def test_sparse_rows_are_made_dense_a_block_at_a_time(rng, monkeypatch):
    monkeypatch.setattr(rows, "_BLOCK_ROWS", 16)
    seen = []
    plain = rows.RowSource.block

    def spy(self, start, stop):
        seen.append(stop - start)
        return plain(self, start, stop)

    monkeypatch.setattr(rows.RowSource, "block", spy)
    reduce_design(scipy.sparse.csr_array(rng.integers(0, 2, (100, 3))))
    assert max(seen) == 16
    assert sum(seen) == 100  # one pass


def test_frames_with_nullable_and_mixed_numbers(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 3, 4], "b": [0.5, 1.5, 2.5, 1.0], "c": [True, False] * 2})
    nullable = frame.astype({"a": "Int64", "b": "Float64", "c": "boolean"})
    y = rng.standard_normal(4)
    assert_same_problem(reduce_design(nullable), reduce_design(frame.to_numpy(float)), y)
    assert reduce_design(frame).feature_names == ("a", "b", "c")
    assert reduce_design(pandas.DataFrame(np.eye(3))).feature_names is None
    nullable.loc[2, "a"] = pandas.NA
    with pytest.raises(InvalidProblem, match=r"row 2, column 0 \('a'\)"):
        reduce_design(nullable)
    for column in (["x", "y", "z", "z"], pandas.Categorical([1, 2, 1, 2])):
        with pytest.raises(InvalidProblem, match="column 'd' of X has dtype"):
            reduce_design(frame.assign(d=column))


class ColumnarTable:
    """What a polars DataFrame looks like from here."""

    columns = ("p", "q")

    def to_numpy(self):
        return np.arange(10.0).reshape(5, 2) ** 2


def test_other_frames_are_read_through_to_numpy():
    assert reduce_design(ColumnarTable()).feature_names == ("p", "q")


@pytest.mark.parametrize("n_rows", [50, 4])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_located(rng, n_rows, bad):
    X = rng.standard_normal((n_rows, 6))
    X[3, 2] = bad
    with pytest.raises(InvalidProblem, match="first at row 3, column 2; drop or impute"):
        reduce_design(X, fit_intercept=True)


@pytest.mark.parametrize("n_rows", [50, 4])
@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_extreme_scales_are_refused_and_large_ones_are_not(rng, n_rows, scale):
    X = rng.standard_normal((n_rows, 6))
    X[:, 4] *= scale
    with pytest.raises(InvalidProblem, match="in column 4; rescale it"):
        reduce_design(X)
    X = rng.standard_normal((n_rows, 6)) * np.logspace(-45, 45, 6)
    design = reduce_design(X, fit_intercept=True)
    lengths = np.linalg.norm(X - X.mean(axis=0), axis=0)
    np.testing.assert_allclose(np.linalg.norm(design.X, axis=0), lengths, rtol=1e-12)
    assert design.X.shape[0] == min(n_rows - 1, 6)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 3)), "0 rows and 3 columns"),
        (np.empty((3, 0)), "3 rows and 0 columns"),
        (np.ones(3), r"two-dimensional.*reshape"),
        (np.ones((2, 2, 2)), "two-dimensional"),
        (3.0, "two-dimensional"),
        (None, "two-dimensional"),
        ([[1.0, 2.0], [3.0]], "different lengths"),
        (np.array([[1, 2], [3, None]], dtype=object), "not numeric"),
        (np.array([["a", "b"]]), "not numeric"),
        (np.array([[1j, 1.0]]), "complex"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "not numeric"),
        (np.ma.masked_array(np.ones((3, 2)), mask=np.eye(3, 2)), "masked"),
        (scipy.sparse.csr_array((3, 2), dtype=complex), "complex"),
    ],
)
def test_what_is_not_a_design_is_refused(X, message):
    with pytest.raises(InvalidProblem, match=message):
        reduce_design(X)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((1, 3), {"fit_intercept": True}),
        ((3, 5), {"fit_intercept": True, "unpenalised": [0, 1]}),
        ((3, 5), {"sample_weight": [1.0, 0.0, 0.0], "fit_intercept": True}),
    ],
)
def test_rows_must_outnumber_the_unpenalised_columns(rng, shape, options):
    with pytest.raises(InvalidProblem, match="nothing is left to explain"):
        reduce_design(rng.standard_normal(shape), **options)


def test_something_must_be_penalised():
    with pytest.raises(InvalidProblem, match="leave at least one"):
        reduce_design(np.eye(4), unpenalised=[0, 1, 2, 3])


def test_a_coefficient_vector_of_the_wrong_length_is_refused():
    with pytest.raises(InvalidProblem, match=r"shape \(2,\)"):
        reduce_design(np.eye(2)).unpenalised_coef([1.0, 2.0], [1.0])


def test_zero_weights_remove_rows_and_dimensions(rng):
    for shape in ((50, 4), (8, 6)):
        X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
        weights = np.ones(shape[0])
        weights[[1, 4, 5]] = 0.0
        used = weights > 0.0
        design = reduce_design(X, sample_weight=weights, fit_intercept=True)
        without = reduce_design(X[used], fit_intercept=True)
        assert design.n_zero_weight == 3
        assert design.n_samples == shape[0]
        assert design.n_dim == without.n_dim
        assert design.total_weight == without.total_weight
        reduced, expected = design.reduce_response(y), without.reduce_response(y[used])
        np.testing.assert_allclose(design.X.T @ reduced.y, without.X.T @ expected.y, atol=1e-12)
        assert reduced.orthogonal_sq == pytest.approx(expected.orthogonal_sq, abs=1e-12)


@pytest.mark.parametrize("shape", [(4, 1000), (100, 3)])
def test_memory_is_estimated_before_it_is_used(monkeypatch, shape):
    monkeypatch.setattr("shtarkov.families.build.available_memory", lambda: 20_000)
    sparse = scipy.sparse.csr_array(shape)
    with pytest.raises(InvalidProblem, match=r"GiB are available; keep fewer columns"):
        reduce_design(sparse)


def test_many_columns_are_not_reduced_to_a_square(rng, monkeypatch):
    monkeypatch.setattr(reduce, "LARGEST_TRIANGLE", 5)
    X, y = rng.standard_normal((30, 6)), rng.standard_normal(30)
    design = reduce_design(X, fit_intercept=True)
    assert design.X.shape == (29, 6)
    assert design.n_orthogonal == 0
    monkeypatch.undo()
    assert_same_problem(design, reduce_design(X, fit_intercept=True), y)
