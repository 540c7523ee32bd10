"""Reduce (X, y) to what the complexity depends on: cost after one pass no longer depends on N.

The objective is half the weighted squared residual plus a penalty on the penalised columns.
Unpenalised columns (an intercept, named columns) are projected out of X and y, and directions
orthogonal to the penalised columns integrate to one (THEORY section 2), so what is left is

* more rows than columns: the triangle of a streamed QR, with as many rows as X has rank;
* otherwise, or above 5000 columns: X itself, rotated so that the unpenalised directions drop out.

Sample weights multiply the squared residuals and are **not** rescaled: integer weights give the
estimates and the energies of repeated rows. (They are not repeated rows for an unknown noise
scale: `Design.n_dim` counts rows of positive weight, each once.) Rows of weight zero are left out.
The user's X is read, never written, and not copied when it is reduced; it must not change later.
Slow twin: centring and a dense QR (tests/oracle/test_reduction_dense.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import (
    check_column_scale,
    check_columns,
    check_memory,
    check_response,
    check_weights,
)
from shtarkov.families.projection import (
    Layout,
    Triangle,
    factor_rows,
    merge_triangles,
    rank_tolerance,
    split_rows,
    with_positive_diagonal,
)
from shtarkov.families.response import (
    FreePart,
    ReducedResponse,
    RotatedResponse,
    StreamedResponse,
    reflect,
)
from shtarkov.families.rows import RowSource, read_rows
from shtarkov.types import Floats, Ints

# Above this no columns-by-columns array is formed, whatever the number of rows.
LARGEST_TRIANGLE = 5000


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A design after projection and reduction, and the way there for data vectors.

    Attributes
    ----------
    X : (n, D) float64, Fortran-ordered: the penalised columns; n is their rank if reduced
    n_samples : N, rows of the user's data
    n_features : D, penalised columns
    n_unpenalised : rank of the intercept and unpenalised columns, which are projected out
    n_orthogonal : directions outside the reduced space (and not unpenalised)
    n_zero_weight : rows of weight zero; they count nowhere
    total_weight : sum of the sample weights, N without them: ``alpha = lam / total_weight``
    feature_names : names of the penalised columns, when X has names
    penalised, unpenalised : which columns of X are which
    layout, free, response : how rows were arranged, and how data vectors follow them
    """

    X: Floats
    n_samples: int
    n_features: int
    n_unpenalised: int
    n_orthogonal: int
    n_zero_weight: int
    total_weight: float
    feature_names: tuple[str, ...] | None
    penalised: Ints
    unpenalised: Ints
    layout: Layout
    free: FreePart
    response: StreamedResponse | RotatedResponse

    @property
    def n_dim(self) -> int:
        """Dimension of the data after projection: the N of THEORY section 6."""
        return self.X.shape[0] + self.n_orthogonal

    def reduce_response(self, y: ArrayLike) -> ReducedResponse:
        """Check `y` and express it in the reduced space.

        Reads X twice when it was reduced, and not at all otherwise. A Dask array `y` is collected.
        """
        return self.response.reduce(check_response(y, self.n_samples))

    def unpenalised_coef(
        self, y: ArrayLike | ReducedResponse, coef: ArrayLike
    ) -> tuple[float, Floats]:
        """Intercept and coefficients of the unpenalised columns that go with `coef`.

        `y` is the user's data vector or, without another pass, what `reduce_response` returned.
        """
        reduced = y if isinstance(y, ReducedResponse) else self.reduce_response(y)
        coefficients = np.asarray(coef, dtype=np.float64)
        if coefficients.shape != (self.n_features,):
            msg = f"coef must have shape ({self.n_features},); got {coefficients.shape}"
            raise InvalidProblem(msg)
        return self.free.coef(self.layout, reduced.unpenalised, coefficients)

    @property
    def coefficient_names(self) -> tuple[str, ...] | None:
        """Names of all of the user's columns, when X has names."""
        return self.layout.names

    def full_coefficients(self, y: ReducedResponse, coef: Floats) -> tuple[float, Floats]:
        """Put penalised and unpenalised coefficients on the user's columns; intercept first."""
        intercept, unpenalised = self.unpenalised_coef(y, coef)
        full = np.zeros(self.penalised.size + self.unpenalised.size)
        full[self.penalised], full[self.unpenalised] = coef, unpenalised
        return float(intercept), full


def reduce_design(
    X: Any,
    *,
    fit_intercept: bool = False,
    unpenalised: Any = None,
    sample_weight: ArrayLike | None = None,
    block_rows: int | None = None,
) -> Design:
    """Read X once and reduce it.

    Parameters
    ----------
    X : array, list, pandas or polars DataFrame, scipy sparse matrix, or Dask array of row chunks
    fit_intercept : project out a column of ones
    unpenalised : indices, names or a boolean mask of columns of X to project out
    sample_weight : (N,) weights of the squared residuals, not rescaled
    block_rows : rows read at a time; the default suits the processor's cache

    Returns
    -------
    Design
    """
    source = read_rows(X)
    weights = None if sample_weight is None else check_weights(sample_weight, source.n_rows)
    layout = _lay_out(source, bool(fit_intercept), unpenalised, weights)
    free, penalised = np.split(layout.order, [layout.n_free - int(layout.intercept)])
    n_used = source.n_rows if weights is None else int(np.count_nonzero(weights))
    if n_used <= layout.n_free:
        msg = (
            f"X has {n_used} usable rows and {layout.n_free} unpenalised columns (intercept "
            "included); nothing is left to explain: add rows or unpenalise less"
        )
        raise InvalidProblem(msg)
    is_tall = n_used - layout.n_free > penalised.size
    columns: Floats
    part: FreePart
    response: StreamedResponse | RotatedResponse
    if is_tall and penalised.size <= LARGEST_TRIANGLE:
        columns, part, response = _reduce_streamed(source, layout, block_rows)
    else:
        columns, part, response = _reduce_rotated(source, layout)
    return Design(
        X=columns,
        n_samples=source.n_rows,
        n_features=penalised.size,
        n_unpenalised=part.kept.size,
        n_orthogonal=n_used - part.kept.size - columns.shape[0],
        n_zero_weight=source.n_rows - n_used,
        total_weight=float(source.n_rows if weights is None else weights.sum()),
        feature_names=None if source.names is None else tuple(source.names[j] for j in penalised),
        penalised=penalised,
        unpenalised=free,
        layout=layout,
        free=part,
        response=response,
    )


def _lay_out(
    source: RowSource, fit_intercept: bool, unpenalised: Any, weights: Floats | None
) -> Layout:
    """Order the columns: intercept, unpenalised, penalised."""
    free = check_columns(unpenalised, source.n_columns, source.names)
    penalised = np.setdiff1d(np.arange(source.n_columns), free)
    if penalised.size == 0:
        raise InvalidProblem("every column of X is unpenalised; leave at least one to penalise")
    return Layout(
        intercept=fit_intercept,
        order=np.concatenate((free, penalised)),
        n_free=free.size + int(fit_intercept),
        root_weights=None if weights is None else np.sqrt(weights),
        names=source.names,
    )


def _reduce_streamed(
    source: RowSource, layout: Layout, block_rows: int | None
) -> tuple[Floats, FreePart, StreamedResponse]:
    """Triangle of all rows in one pass, then its rows below the unpenalised columns."""
    check_memory(
        8 * 8 * layout.n_columns * max(layout.n_columns, block_rows or source.default_block_rows()),
        f"a block of rows of {layout.n_columns} columns and its triangles",
        "keep fewer columns, or pass a smaller block_rows",
    )
    whole: Triangle = source.fold(
        partial(factor_rows, layout), partial(merge_triangles, layout), block_rows
    )
    check_column_scale(whole.largest, source.names)
    root_total = np.sqrt(source.n_rows)
    scale = np.concatenate(
        (np.zeros(int(layout.intercept)), whole.largest[layout.order] * root_total)
    )
    free_columns = np.arange(layout.n_free)
    penalised = np.arange(layout.n_free, layout.n_columns)
    ones = split_rows(whole.factor, free_columns[: int(layout.intercept)], scale)
    free = split_rows(ones.rest, free_columns[int(layout.intercept) :], scale)
    rest = split_rows(free.rest, penalised, scale)
    kept_free = np.concatenate((ones.kept, free.kept))
    kept = np.concatenate((kept_free, rest.kept))
    top = with_positive_diagonal(np.vstack((ones.top, free.top, rest.top)), kept)
    top_free = top[: kept_free.size]
    reduced = np.zeros((max(rest.kept.size, 1), penalised.size), order="F")
    reduced[: rest.kept.size] = top[kept_free.size :, penalised]
    _clear_dependent(reduced, scale[penalised], layout.n_columns)
    part = FreePart(kept_free, top_free[:, kept_free], top_free[:, penalised], whole.shift)
    response = StreamedResponse(
        source=source,
        layout=layout,
        shift=whole.shift,
        kept=kept,
        triangle=top[:, kept],
        n_free=kept_free.size,
        n_reduced=reduced.shape[0],
        block_rows=block_rows,
    )
    return reduced, part, response


def _clear_dependent(columns: Floats, scale: Floats, n_columns: int) -> None:
    """Set columns the unpenalised ones explain to exactly zero, instead of rounding noise."""
    lengths = np.linalg.norm(columns, axis=0)
    columns[:, lengths <= rank_tolerance(n_columns) * scale] = 0.0


def _reduce_rotated(source: RowSource, layout: Layout) -> tuple[Floats, FreePart, RotatedResponse]:
    """All rows, reflected so that the unpenalised columns fill the first, which are dropped."""
    rows = source.dense()
    largest = layout.largest(rows, 0)
    check_column_scale(largest, source.names)
    shift = np.zeros(layout.order.size)
    if layout.intercept:
        weights = None if layout.root_weights is None else layout.root_weights**2
        shift = np.average(rows, axis=0, weights=weights)[layout.order]
    arranged = layout.arrange(rows, 0, shift, "F")
    used = None
    if layout.root_weights is not None and not layout.root_weights.all():
        used = np.flatnonzero(layout.root_weights)
        arranged = np.asfortranarray(arranged[used])
    # The shift makes the other columns orthogonal to the intercept, so pivoting never drops it.
    free = arranged[:, : layout.n_free]
    lengths = np.linalg.norm(free, axis=0)
    scale = np.sqrt(source.n_rows) * largest[layout.order]
    floor = np.concatenate((np.zeros(int(layout.intercept)), scale))[: layout.n_free]
    alive = np.flatnonzero(lengths > rank_tolerance(layout.n_columns) * floor)
    kept, reflectors, scales = alive, free[:, :0], np.empty(0)
    if alive.size:
        (reflectors, scales), triangle, order = scipy.linalg.qr(
            free[:, alive] / lengths[alive], pivoting=True, mode="raw", check_finite=False
        )
        rank = int(np.sum(np.abs(np.diag(triangle)) > rank_tolerance(layout.n_columns)))
        kept, reflectors, scales = alive[order[:rank]], reflectors[:, :rank], scales[:rank]
        arranged = reflect(reflectors, scales, arranged)
    penalised = np.arange(layout.n_free, layout.n_columns)
    columns = np.array(arranged[kept.size :, penalised], order="F")
    _clear_dependent(columns, scale[layout.n_free - int(layout.intercept) :], layout.n_columns)
    top = arranged[: kept.size]
    part = FreePart(kept, np.triu(top[:, kept]), top[:, penalised], shift)
    response = RotatedResponse(
        reflectors=reflectors,
        scales=scales,
        n_free=kept.size,
        root_weights=layout.root_weights,
        used=used,
    )
    return columns, part, response
