"""Dask arrays of row chunks: one pass, no import unless one is passed, clear refusals."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from shtarkov.errors import InvalidProblem
from shtarkov.families.reduce import reduce_design

dask_array = pytest.importorskip("dask.array")


def test_dask_is_imported_only_when_one_of_its_arrays_is_passed():
    code = (
        "import sys, numpy; from shtarkov.families.reduce import reduce_design; "
        "reduce_design(numpy.eye(3)); sys.exit('dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_chunk_is_read_once(rng):
    X = rng.standard_normal((60, 3))
    read = []

    def count(chunk, block_info=None):
        if block_info:
            read.append(len(chunk))
        return chunk

    lazy = dask_array.from_array(X, chunks=(13, 3)).map_blocks(count, dtype=float, meta=X[:0])
    design = reduce_design(lazy, fit_intercept=True)
    assert sorted(read) == [8, 13, 13, 13, 13]
    np.testing.assert_allclose(design.X, reduce_design(X, fit_intercept=True).X, atol=1e-12)


def test_empty_chunks_and_chunked_columns_are_fine(rng):
    X = rng.standard_normal((20, 4))
    lazy = dask_array.from_array(X, chunks=((5, 0, 15), (1, 3)))
    np.testing.assert_allclose(reduce_design(lazy).X, reduce_design(X).X, atol=1e-12)


def test_sparse_chunks_are_made_dense_one_at_a_time(rng):
    X = rng.standard_normal((40, 3)) * (rng.random((40, 3)) < 0.5)
    lazy = dask_array.from_array(X, chunks=(9, 3)).map_blocks(scipy.sparse.csr_matrix, dtype=float)
    np.testing.assert_allclose(reduce_design(lazy).X, reduce_design(X).X, atol=1e-12)


def test_wide_chunked_arrays_are_collected(rng):
    X, y = rng.standard_normal((5, 12)), rng.standard_normal(5)
    design = reduce_design(dask_array.from_array(X, chunks=(2, 12)))
    np.testing.assert_array_equal(design.X, X)
    lazy_y = dask_array.from_array(y, chunks=2)
    np.testing.assert_array_equal(design.reduce_response(lazy_y).y, y)


def test_unknown_chunk_sizes_frames_and_bad_values_are_refused(rng):
    lazy = dask_array.from_array(rng.standard_normal((20, 2)), chunks=(5, 2))
    with pytest.raises(InvalidProblem, match="compute_chunk_sizes"):
        reduce_design(lazy[lazy[:, 0] > 0.0])
    with pytest.raises(InvalidProblem, match="row 7"):
        reduce_design(dask_array.where(np.arange(20)[:, None] == 7, np.nan, lazy))
    with pytest.raises(InvalidProblem, match="to_dask_array"):
        reduce_design(lazy.to_delayed().item(0))
