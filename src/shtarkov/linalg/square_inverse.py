# mypy: allow-untyped-defs, allow-untyped-calls
"""The inverse of a small square matrix, kept as rows and columns are exchanged.

Exchanging a row or a column, adding one of each or taking one of each away changes the inverse by a
rank-one matrix: O(k^2) where a fresh inverse costs k^3. Storage has a fixed capacity: the leading
k x k block of `inverse` is in use, its rows belong to the matrix's columns and its columns to the
matrix's rows. Rounding grows with the number of exchanges, so callers start afresh now and then.
Slow twin: `numpy.linalg.inv`.
"""

from __future__ import annotations

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.types import Status

OK = int(Status.OK)
SINGULAR_GRAM = int(Status.SINGULAR_GRAM)


@kernel
def times_inverse(vector, inverse, k, out):
    """Write vector' inverse."""
    for p in range(k):
        out[p] = 0.0
    for a in range(k):
        factor = vector[a]
        for p in range(k):
            out[p] += factor * inverse[a, p]


@reduction_kernel
def inverse_times(inverse, vector, k, out):
    """Write inverse vector."""
    for a in range(k):
        total = 0.0
        for p in range(k):
            total += inverse[a, p] * vector[p]
        out[a] = total


@kernel
def column_squares(inverse, weights, k, out):
    """Write the weighted sum of squares of each column of the inverse."""
    for p in range(k):
        out[p] = 0.0
    for a in range(k):
        weight = weights[a]
        for p in range(k):
            out[p] += weight * inverse[a, p] * inverse[a, p]


@kernel
def replace_row(inverse, k, row, image):
    """Exchange a row of the matrix for one whose product with the inverse is `image`."""
    pivot = image[row]
    for a in range(k):
        factor = inverse[a, row] / pivot
        for p in range(k):
            inverse[a, p] -= factor * image[p]
        inverse[a, row] = factor


@kernel
def replace_column(inverse, k, column, image):
    """Exchange a column of the matrix for one whose product from the left is `image`."""
    pivot = image[column]
    for p in range(k):
        inverse[column, p] /= pivot
    for a in range(k):
        factor = image[a] if a != column else 0.0
        for p in range(k):
            inverse[a, p] -= factor * inverse[column, p]


@kernel
def border(inverse, k, row_image, column_image, corner):
    """Add a row and a column; `corner` is their entry less what the matrix explains of it.

    `row_image` is the new row times the inverse, `column_image` the inverse times the new column.
    """
    for p in range(k):
        inverse[k, p] = -row_image[p] / corner
    for a in range(k):
        factor = column_image[a]
        for p in range(k):
            inverse[a, p] -= factor * inverse[k, p]
        inverse[a, k] = -factor / corner
    inverse[k, k] = 1.0 / corner


@kernel
def unborder(inverse, k, row, column):
    """Take a row and a column away; the last of each moves to the empty places."""
    pivot = inverse[column, row]
    for a in range(k):
        if a != column:
            factor = inverse[a, row] / pivot
            for p in range(k):
                inverse[a, p] -= factor * inverse[column, p]
            inverse[a, row] = inverse[a, k - 1]
    if column != k - 1:
        for p in range(k - 1):
            inverse[column, p] = inverse[k - 1, p]


@kernel
def invert(matrix, k, inverse):
    """Write the inverse of the leading block of `matrix`, which is overwritten; return a status."""
    for a in range(k):
        for p in range(k):
            inverse[a, p] = 1.0 if a == p else 0.0
    for step in range(k):
        best = step
        for a in range(step + 1, k):
            if abs(matrix[a, step]) > abs(matrix[best, step]):
                best = a
        pivot = matrix[best, step]
        if not abs(pivot) > 0.0:
            return SINGULAR_GRAM
        for p in range(k):
            kept, held = matrix[best, p], inverse[best, p]
            matrix[best, p], inverse[best, p] = matrix[step, p], inverse[step, p]
            matrix[step, p], inverse[step, p] = kept / pivot, held / pivot
        for a in range(k):
            factor = matrix[a, step]
            if a != step and factor != 0.0:
                for p in range(k):
                    matrix[a, p] -= factor * matrix[step, p]
                    inverse[a, p] -= factor * inverse[step, p]
    return OK
