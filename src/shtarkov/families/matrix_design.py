"""Reduction of a design with a matrix of data to a diagonal one, and the way back.

A design reduced as for a vector of data (`families.reduce`) is split into P S Q'. The data vector
of the family is P'Y row by row; what of Y lies outside P enters by its squared length. The
constants a codelength needs count entries of Y: n_targets times those of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import LARGEST_SCALE, SMALLEST_SCALE, check_numeric_kind
from shtarkov.families.reduce import Design
from shtarkov.families.response import ReducedResponse
from shtarkov.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class MatrixDesign:
    """A diagonal design for data of `n_targets` columns.

    Attributes
    ----------
    rows : the design of each column; None for the identity
    left : (n, p) left singular vectors of the reduced design
    scales : (p,) its singular values, descending
    basis : (D, p) its right singular vectors
    n_rows, n_targets : shape of the data
    """

    rows: Design | None
    left: Floats
    scales: Floats
    basis: Floats
    n_rows: int
    n_targets: int

    @property
    def reduced_shape(self) -> tuple[int, int]:
        """Shape of the data in the reduced space."""
        return self.scales.size, self.n_targets

    @property
    def n_samples(self) -> int:
        """Entries of the data."""
        return self.n_rows * self.n_targets

    @property
    def n_features(self) -> int:
        """Penalised coefficients."""
        return int(self.basis.shape[0]) * self.n_targets

    @property
    def n_dim(self) -> int:
        """Dimension of the data after projection."""
        each = self.n_rows if self.rows is None else self.rows.n_dim
        return each * self.n_targets

    @property
    def n_orthogonal(self) -> int:
        """Directions of the data beyond the reduced space."""
        return self.n_dim - self.scales.size * self.n_targets

    @property
    def total_weight(self) -> float:
        """Sum of the sample weights, the number of rows without them."""
        return float(self.n_rows) if self.rows is None else self.rows.total_weight

    def reduce_response(self, y: Any) -> ReducedResponse:
        """Check the (N, q) data and express them in the reduced space."""
        matrix = check_matrix(y, (self.n_rows, self.n_targets))
        if self.rows is None:
            return ReducedResponse(matrix.ravel(), 0.0, np.zeros((0, self.n_targets)))
        columns = [self.rows.reduce_response(column) for column in matrix.T]
        reduced = np.stack([column.y for column in columns], axis=1)
        inside = self.left.T @ reduced
        outside = sum(column.orthogonal_sq for column in columns)
        outside += float(np.sum((reduced - self.left @ inside) ** 2))
        free = np.stack([column.unpenalised for column in columns], axis=1)
        return ReducedResponse(np.ascontiguousarray(inside).ravel(), outside, free)

    @property
    def coefficient_names(self) -> tuple[str, ...] | None:
        """Names of all coefficients, in the order of `full_coefficients`, when X has names."""
        if self.rows is None or self.rows.coefficient_names is None:
            return None
        targets = range(self.n_targets)
        return tuple(f"{name}:{j}" for name in self.rows.coefficient_names for j in targets)

    def full_coefficients(self, y: ReducedResponse, coef: Floats) -> tuple[Floats, Floats]:
        """Put all coefficients on the user's columns, column by column; intercepts first."""
        intercepts, unpenalised = self.unpenalised_coef(y, coef)
        if self.rows is None:
            return intercepts, coef
        full = np.zeros((self.rows.penalised.size + self.rows.unpenalised.size, self.n_targets))
        full[self.rows.penalised] = coef.reshape(-1, self.n_targets)
        full[self.rows.unpenalised] = unpenalised
        return intercepts, full.ravel()

    def unpenalised_coef(self, y: Any, coef: Any) -> tuple[Floats, Floats]:
        """Give intercepts (q,) and unpenalised coefficients (p0, q) for `coef` (D q,)."""
        if self.rows is None:
            return np.zeros(self.n_targets), np.zeros((0, self.n_targets))
        reduced = y if isinstance(y, ReducedResponse) else self.reduce_response(y)
        matrix = np.asarray(coef, dtype=np.float64).reshape(-1, self.n_targets)
        pairs = [
            self.rows.free.coef(self.rows.layout, reduced.unpenalised[:, j], matrix[:, j])
            for j in range(self.n_targets)
        ]
        intercepts = np.array([pair[0] for pair in pairs])
        return intercepts, np.stack([pair[1] for pair in pairs], axis=1)


def identity_design(shape: tuple[int, int]) -> MatrixDesign:
    """Give the design of a matrix observed entry by entry."""
    m, n = shape
    return MatrixDesign(None, np.eye(m), np.ones(m), np.eye(m), m, n)


def diagonal_design(rows: Design, n_targets: int) -> MatrixDesign:
    """Split a reduced design into its singular vectors and values."""
    left, scales, right = np.linalg.svd(np.asarray(rows.X), full_matrices=False)
    kept = scales > max(rows.X.shape) * np.finfo(np.float64).eps * scales[0]
    if not kept.any():
        raise InvalidProblem("every penalised column of X is zero; there is nothing to fit")
    spread = scales[kept]
    if spread[0] - spread[-1] <= 1e-12 * spread[0]:
        spread = np.full(spread.size, spread.mean())  # one length: the exact formulas apply
    return MatrixDesign(
        rows,
        np.ascontiguousarray(left[:, kept]),
        spread,
        np.ascontiguousarray(right[kept].T),
        rows.n_samples,
        n_targets,
    )


def check_matrix(values: Any, shape: tuple[int, int]) -> Floats:
    """Return the data as a finite float64 matrix of this shape, or say what is wrong."""
    try:
        given = np.asarray(values)
        check_numeric_kind(given.dtype, "y")
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidProblem):
            raise
        raise InvalidProblem("y must be a matrix of numbers") from None
    if given.shape != shape:
        msg = f"y must have shape {shape}; got {given.shape}"
        raise InvalidProblem(msg)
    matrix = np.array(given, dtype=np.float64, order="C")
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        row, column = (int(i) for i in bad[0])
        msg = (
            f"y holds {bad.shape[0]} NaN or infinite values, the first at row {row}, column "
            f"{column}; drop or impute those rows"
        )
        raise InvalidProblem(msg)
    largest = float(np.max(np.abs(matrix)))
    if largest != 0.0 and not SMALLEST_SCALE <= largest <= LARGEST_SCALE:
        msg = f"y has largest absolute value {largest:g}; rescale it"
        raise InvalidProblem(msg)
    return matrix
