"""Triangles of a design: one streamed QR pass, and the split into free, kept and null directions.

With the columns ordered as (intercept, unpenalised, penalised), the triangle R of a QR holds the
projected design: its rows below those of the unpenalised columns are the penalised columns with
the unpenalised ones projected out. Columns are shifted by a block's mean before they are factored
when there is an intercept (the span does not change), so a large offset costs no accuracy.
Slow twin: centring and a dense QR of the whole array (tests/oracle/test_reduction_dense.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg.lapack import dtrcon

from shtarkov.families.build import LARGEST_SCALE, check_column_scale, check_finite_block
from shtarkov.types import Floats, Ints

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How the columns of X are arranged for factoring: intercept, unpenalised, penalised.

    Attributes
    ----------
    intercept : whether a column of ones comes first
    order : columns of X, the unpenalised before the penalised
    n_free : number of unpenalised columns, the intercept included
    root_weights : (N,) square roots of the sample weights, or None
    names : column names of X for messages
    """

    intercept: bool
    order: Ints
    n_free: int
    root_weights: Floats | None
    names: tuple[str, ...] | None

    @property
    def n_columns(self) -> int:
        """Number of arranged columns."""
        return self.order.size + int(self.intercept)

    def arrange(
        self, rows: Floats, first_row: int, shift: Floats, memory: Literal["C", "F"] = "C"
    ) -> Floats:
        """Return the shifted, weighted columns in order, as a fresh array."""
        arranged = np.empty((rows.shape[0], self.n_columns), order=memory)
        offset = int(self.intercept)
        arranged[:, :offset] = 1.0
        ordered = rows if self._keeps_order() else rows[:, self.order]
        np.subtract(ordered, shift, out=arranged[:, offset:])
        if self.root_weights is not None:
            arranged *= self.root_weights[first_row : first_row + rows.shape[0], None]
        return arranged

    def largest(self, rows: Floats, first_row: int) -> Floats:
        """Check the rows and return the largest absolute weighted value of each column of X."""
        raw = np.maximum(rows.max(axis=0), -rows.min(axis=0))
        if not raw.max() <= LARGEST_SCALE:  # also true for NaN, which max passes on
            check_finite_block(rows, first_row, self.names)
            check_column_scale(raw, self.names)
        if self.root_weights is None:
            return raw
        weights = self.root_weights[first_row : first_row + rows.shape[0], None]
        weighted: Floats = np.abs(rows * weights).max(axis=0)
        return weighted

    def _keeps_order(self) -> bool:
        return bool(np.array_equal(self.order, np.arange(self.order.size)))


class Triangle(NamedTuple):
    """What one block of rows leaves behind, and what merging blocks keeps.

    Attributes
    ----------
    shift : (D_total,) what was subtracted from each ordered column of X
    factor : (m, n_columns) triangle of the arranged rows
    largest : (D_total,) largest absolute weighted value of each column, in X's own order
    """

    shift: Floats
    factor: Floats
    largest: Floats


def _triangle_of(rows: Floats) -> Floats:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def factor_rows(layout: Layout, rows: Floats, first_row: int) -> Triangle:
    """Factor one block of rows."""
    largest = layout.largest(rows, first_row)
    shift = np.zeros(layout.order.size)
    if layout.intercept:
        shift = rows.mean(axis=0)[layout.order]
    arranged = layout.arrange(rows, first_row, shift)
    return Triangle(shift, _triangle_of(arranged), largest)


def merge_triangles(layout: Layout, left: Triangle, right: Triangle) -> Triangle:
    """Triangle of both blocks together; the right one takes over the left one's shift."""
    moved = right.factor
    if layout.intercept:
        moved = moved.copy()
        moved[:, 1:] += np.outer(moved[:, 0], right.shift - left.shift)
    factor = _triangle_of(np.vstack((left.factor, moved)))
    return Triangle(left.shift, factor, np.maximum(left.largest, right.largest))


class Split(NamedTuple):
    """Rows of a triangle, divided at the rank of some of its columns.

    Attributes
    ----------
    kept : the columns that span the others
    top : (rank, n_columns) rows along the span; upper triangular in the kept columns
    rest : the remaining rows, in which the columns are zero
    """

    kept: Ints
    top: Floats
    rest: Floats


def rank_tolerance(n_columns: int) -> float:
    """Relative length below which a column counts as dependent on those before it."""
    return 64.0 * _EPS * float(np.sqrt(n_columns))


def split_rows(rows: Floats, columns: Ints, scale: Floats) -> Split:
    """Divide `rows` at the numerical rank of `columns`, each measured against its `scale`.

    Columns of full rank in which `rows` is triangular already are left as they are.
    """
    tolerance = rank_tolerance(rows.shape[1])
    lengths = np.linalg.norm(rows[:, columns], axis=0)
    alive = columns[lengths > tolerance * scale[columns]]
    if alive.size == 0:
        return Split(alive, rows[:0], rows)
    unit = rows[:, alive] / np.linalg.norm(rows[:, alive], axis=0)
    if alive.size == columns.size and _is_clearly_full_rank(unit, tolerance):
        return Split(columns, rows[: columns.size], rows[columns.size :])
    q, r, order = scipy.linalg.qr(unit, pivoting=True, mode="full", check_finite=False)
    rank = int(np.sum(np.abs(np.diag(r)) > tolerance))
    rotated = q.T @ rows
    kept = alive[order[:rank]]
    top = rotated[:rank]
    top[:, kept] = np.triu(top[:, kept])
    return Split(kept, top, rotated[rank:])


def _is_clearly_full_rank(unit: Floats, tolerance: float) -> bool:
    """Whether unit columns are triangular and far from dependent, by an estimate in O(n^2)."""
    n = unit.shape[1]
    if unit.shape[0] < n or np.tril(unit, -1).any():
        return False
    # 1 / (sqrt(n) |R^-1|_1) bounds the least singular value; the estimate may be 10 times too good.
    reciprocal, _ = dtrcon(np.asfortranarray(unit[:n]))
    return bool(reciprocal > 10.0 * np.sqrt(n) * tolerance)


def with_positive_diagonal(rows: Floats, kept: Ints) -> Floats:
    """Flip rows so that the triangle of the kept columns does not depend on how rows were read."""
    signs = np.where(np.diag(rows[:, kept]) < 0.0, -1.0, 1.0)
    return rows * signs[:, None]
