"""One way to read the rows of X, whatever holds them: array, DataFrame, sparse matrix, Dask array.

Nothing here computes statistics: `RowSource.fold` maps a function over blocks of rows and merges
the results, one pass, with memory for a block or two. Its slow twin is `RowSource.dense`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import (
    check_memory,
    check_numeric_kind,
)
from shtarkov.types import Floats

Part = TypeVar("Part")

# Blocks near the size of a second-level cache made the QR fastest (benchmarks/reduction.py).
_BLOCK_ROWS = 2048


@dataclass(frozen=True, slots=True, eq=False)
class RowSource:
    """The rows of X, read a block at a time.

    Attributes
    ----------
    data : the user's object (a CSR copy when sparse); never written to
    kind : "array", "frame", "sparse" or "dask"
    n_rows, n_columns : its shape
    names : the column names, when all of them are strings
    """

    data: Any
    kind: str
    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None

    def block(self, start: int, stop: int) -> Floats:
        """Rows `start` to `stop` as float64; may be a view of the user's array."""
        if self.kind == "frame":
            part = self.data.iloc[start:stop].to_numpy(dtype=np.float64, na_value=np.nan)
        elif self.kind == "sparse":
            part = self.data[start:stop]
        elif self.kind == "dask":
            part = self.data[start:stop].compute()
        else:
            part = self.data[start:stop]
        return _as_floats(part)

    def default_block_rows(self) -> int:
        """Rows per block: enough that merging the triangles costs little beside factoring them."""
        return max(_BLOCK_ROWS, 2 * (self.n_columns + 1))

    def fold(
        self,
        per_block: Callable[[Floats, int], Part],
        merge: Callable[[Part, Part], Part],
        block_rows: int | None = None,
    ) -> Part:
        """Merge ``per_block(rows, first_row)`` over all blocks, in one pass over the data.

        A Dask array is folded by its own scheduler, each chunk block by block where it lies.
        """
        size = block_rows or self.default_block_rows()
        if self.kind == "dask":
            return self._fold_dask(per_block, merge, size)
        parts = (per_block(self.block(i, j), i) for i, j in _spans(self.n_rows, size))
        return functools.reduce(merge, parts)

    def _fold_dask(
        self,
        per_block: Callable[[Floats, int], Part],
        merge: Callable[[Part, Part], Part],
        size: int,
    ) -> Part:
        from dask.delayed import delayed

        def on_chunk(chunk: Any, first_row: int) -> Part:
            spans = _spans(chunk.shape[0], size)
            parts = (per_block(_as_floats(chunk[i:j]), first_row + i) for i, j in spans)
            return functools.reduce(merge, parts)

        starts = itertools.accumulate((int(n) for n in self.data.chunks[0]), initial=0)
        chunks = zip(self.data.to_delayed().flat, starts, self.data.chunks[0], strict=False)
        parts = [delayed(on_chunk)(chunk, start) for chunk, start, n_rows in chunks if n_rows]
        while len(parts) > 1:  # pairs, then pairs of pairs: few results are alive at once
            tail = [parts[-1]] if len(parts) % 2 else []
            pairs = zip(parts[0::2], parts[1::2], strict=False)
            parts = [delayed(merge)(left, right) for left, right in pairs] + tail
        result: Part = parts[0].compute()
        return result

    def dense(self) -> Floats:
        """All rows at once, perhaps as a view; estimates the memory of working with them first."""
        check_memory(
            3 * 8 * self.n_rows * self.n_columns,
            f"working with X as a dense {self.n_rows} by {self.n_columns} array of float64",
            "keep fewer columns (screen them first) or fewer rows",
        )
        return self.block(0, self.n_rows)


def _spans(n_rows: int, size: int) -> list[tuple[int, int]]:
    return [(i, min(i + size, n_rows)) for i in range(0, n_rows, size)]


def _as_floats(rows: Any) -> Floats:
    dense = rows.toarray() if scipy.sparse.issparse(rows) else rows
    return np.asarray(dense, dtype=np.float64)


def _names_of(columns: Any) -> tuple[str, ...] | None:
    names = list(columns)
    return tuple(names) if all(isinstance(name, str) for name in names) else None


def _check_shape(shape: tuple[Any, ...]) -> tuple[int, int]:
    if len(shape) != 2:
        msg = f"X must be two-dimensional; got shape {shape} (one column: X.reshape(-1, 1))"
        raise InvalidProblem(msg)
    if any(np.isnan(size) for size in shape):
        raise InvalidProblem(
            "the Dask array X has unknown chunk sizes; call X.compute_chunk_sizes()"
        )
    n_rows, n_columns = int(shape[0]), int(shape[1])
    if n_rows == 0 or n_columns == 0:
        msg = f"X has {n_rows} rows and {n_columns} columns; at least one of each is needed"
        raise InvalidProblem(msg)
    return n_rows, n_columns


def read_rows(X: Any) -> RowSource:
    """Wrap the user's X: array, list, DataFrame, sparse matrix or Dask array of row chunks."""
    module = type(X).__module__
    if isinstance(X, RowSource):
        return X
    if module.startswith("dask."):
        from dask.array import Array

        if not isinstance(X, Array):
            raise InvalidProblem(
                "pass a Dask array; a Dask DataFrame has .to_dask_array(lengths=True)"
            )
        n_rows, n_columns = _check_shape(X.shape)
        check_numeric_kind(X.dtype, "X")
        whole_rows: Any = X.rechunk({1: -1})  # type: ignore[no-untyped-call]
        return RowSource(whole_rows, "dask", n_rows, n_columns, None)
    if scipy.sparse.issparse(X):
        n_rows, n_columns = _check_shape(X.shape)
        check_numeric_kind(X.dtype, "X")
        return RowSource(X.tocsr(), "sparse", n_rows, n_columns, None)
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        n_rows, n_columns = _check_shape(X.shape)
        for name, dtype in zip(X.columns, X.dtypes, strict=True):
            check_numeric_kind(dtype, f"column {name!r} of X")
        return RowSource(X, "frame", n_rows, n_columns, _names_of(X.columns))
    names = None
    if hasattr(X, "to_numpy") and hasattr(X, "columns"):
        names = _names_of(X.columns)
        X = X.to_numpy()
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InvalidProblem("X has masked entries; drop those rows or fill them in first")
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):
        raise InvalidProblem("the rows of X have different lengths; make them equal") from None
    n_rows, n_columns = _check_shape(array.shape)
    check_numeric_kind(array.dtype, "X")
    return RowSource(array, "array", n_rows, n_columns, names)
