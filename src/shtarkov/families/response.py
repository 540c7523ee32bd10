"""Coordinates of a data vector in the space a design was reduced to.

The orthonormal basis is never stored when rows were streamed: with T the triangle of the kept
columns M, the coordinates are q = T^-T M'y. They satisfy T'q = M'y to rounding whatever the
conditioning, so gradients, hence estimates, are those of the full data; a correction by the
residual's coordinates would trade that for a better q in the weakest direction, whose error here
is about eps times the condition number of M. The length outside comes from the corrected residual
in a second pass, free of cancellation; each pass costs about 4 N D operations.
Slow twin: the explicit basis of a dense QR (tests/oracle/test_reduction_dense.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dormqr

from shtarkov.errors import InvalidProblem
from shtarkov.families.projection import Layout
from shtarkov.families.rows import RowSource
from shtarkov.types import Floats, Ints


class ReducedResponse(NamedTuple):
    """A data vector after projection and reduction.

    Attributes
    ----------
    y : (n,) coordinates in the reduced space, the data vector that goes with `Design.X`
    orthogonal_sq : squared length of the part outside the reduced space (and not unpenalised)
    unpenalised : coordinates along the unpenalised columns, for `Design.unpenalised_coef`
    """

    y: Floats
    orthogonal_sq: float
    unpenalised: Floats


@dataclass(frozen=True, slots=True, eq=False)
class FreePart:
    """Least squares on the unpenalised columns, given the penalised coefficients.

    Attributes
    ----------
    kept : arranged columns that span the unpenalised ones (the intercept is number 0 if present)
    triangle : (p, p) their triangle
    penalised_rows : (p, D) coordinates of the penalised columns along them
    shift : (D_total,) what was subtracted from the ordered columns of X
    """

    kept: Ints
    triangle: Floats
    penalised_rows: Floats
    shift: Floats

    def coef(self, layout: Layout, coordinates: Floats, coef: Floats) -> tuple[float, Floats]:
        """Intercept and coefficients of the unpenalised columns; a dependent column gets zero."""
        solution = np.zeros(layout.n_free)
        if self.kept.size:
            target = coordinates - self.penalised_rows @ coef
            solution[self.kept] = solve_triangular(self.triangle, target)
        if not layout.intercept:
            return 0.0, solution
        unpenalised = solution[1:]
        shift_cost = np.concatenate((unpenalised, coef)) @ self.shift
        return float(solution[0] - shift_cost), unpenalised


@dataclass(frozen=True, slots=True, eq=False)
class StreamedResponse:
    """Coordinates along the kept columns of streamed rows.

    Attributes
    ----------
    source, layout, shift : the rows and how they were arranged
    kept : arranged columns whose triangle is `triangle`
    triangle : (p + n, p + n) upper triangular
    n_free : p, the rank of the unpenalised columns
    n_reduced : rows of the reduced design (one more than its rank when that is zero)
    block_rows : rows per block, or None for the default
    """

    source: RowSource
    layout: Layout
    shift: Floats
    kept: Ints
    triangle: Floats
    n_free: int
    n_reduced: int
    block_rows: int | None

    def reduce(self, y: Floats) -> ReducedResponse:
        """Coordinates of `y`, in two passes over the rows."""
        root_weights = self.layout.root_weights
        centre = 0.0
        if self.layout.intercept:  # a large offset of y would cost accuracy in what follows
            weights = None if root_weights is None else root_weights**2
            centre = float(np.average(y, weights=weights))
        centred = y - centre
        if root_weights is not None:
            centred *= root_weights
        whole = self.triangle.shape[0]
        first, total_sq = self._inner_products(centred, np.zeros(whole))
        coordinates = self._along(first)
        fitted = solve_triangular(self.triangle, coordinates) if whole else coordinates
        second, residual_sq = self._inner_products(centred, fitted)
        correction = self._along(second)
        if self.layout.intercept:
            coordinates[: self.n_free] += centre * self.triangle[: self.n_free, 0]
        outside = min(max(residual_sq - float(correction @ correction), 0.0), total_sq)
        reduced = np.zeros(self.n_reduced)
        reduced[: whole - self.n_free] = coordinates[self.n_free :]
        return ReducedResponse(reduced, outside, coordinates[: self.n_free].copy())

    def _along(self, products: Floats) -> Floats:
        if not products.size:
            return products
        solution: Floats = solve_triangular(self.triangle, products, trans="T")
        return solution

    def _inner_products(self, target: Floats, coef: Floats) -> tuple[Floats, float]:
        """M'r and r'r of the residual r = target - M coef, in one pass."""

        def per_block(rows: Floats, first_row: int) -> tuple[Floats, float]:
            columns = self.layout.arrange(rows, first_row, self.shift)[:, self.kept]
            residual = target[first_row : first_row + rows.shape[0]] - columns @ coef
            return columns.T @ residual, float(residual @ residual)

        def add(left: tuple[Floats, float], right: tuple[Floats, float]) -> tuple[Floats, float]:
            return left[0] + right[0], left[1] + right[1]

        return self.source.fold(per_block, add, self.block_rows)


@dataclass(frozen=True, slots=True, eq=False)
class RotatedResponse:
    """Coordinates after the reflections that send the unpenalised columns to the first rows.

    Attributes
    ----------
    reflectors, scales : LAPACK's Householder vectors and their factors, or empty
    n_free : p, the rank of the unpenalised columns
    root_weights : (N,) square roots of the sample weights, or None
    used : rows of positive weight, or None for all
    """

    reflectors: Floats
    scales: Floats
    n_free: int
    root_weights: Floats | None
    used: Ints | None

    def reduce(self, y: Floats) -> ReducedResponse:
        """Coordinates of `y`; nothing lies outside the reduced space."""
        rotated = y if self.root_weights is None else y * self.root_weights
        if self.used is not None:
            rotated = rotated[self.used]
        if self.n_free:
            rotated = reflect(self.reflectors, self.scales, rotated[:, None].copy())[:, 0]
        return ReducedResponse(rotated[self.n_free :].copy(), 0.0, rotated[: self.n_free].copy())


def reflect(reflectors: Floats, scales: Floats, rows: Floats) -> Floats:
    """Apply the transposed product of Householder reflections to `rows`, in place if it can."""
    n_work = 64 * max(rows.shape)
    columns = np.asfortranarray(rows)
    rotated, _, info = dormqr("L", "T", reflectors, scales, columns, n_work, overwrite_c=True)
    if info != 0:
        msg = f"LAPACK refused the reflections of the unpenalised columns (argument {-info})"
        raise InvalidProblem(msg)
    result: Floats = rotated
    return result
