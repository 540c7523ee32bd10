# mypy: allow-untyped-defs, allow-untyped-calls
"""Cholesky factor of an active Gram matrix, kept up to date as columns enter and leave.

Computes L with L L' = H for a k x k positive definite H, appends and drops one row and column in
O(k^2), solves with the factor and sums its log-determinant. Storage has a fixed capacity: `chol` is
a (cap, cap) C-ordered array whose leading k x k lower triangle is in use; nothing here allocates,
and the strict upper triangle is never read. Slow twin: `numpy.linalg.cholesky` of the current Gram
matrix.

A pivot is the squared distance of a column from the span of the columns before it. Forming and
factoring H rounds it by about k * eps times the column's squared length, so a pivot below
``(k + 1) * PIVOT_TOLERANCE * diagonal`` carries no digits and the kernels answer SINGULAR_GRAM.
"""

from __future__ import annotations

import math

from shtarkov._jit import reduction_kernel
from shtarkov.types import Status

OK = int(Status.OK)
SINGULAR_GRAM = int(Status.SINGULAR_GRAM)
NOT_FINITE = int(Status.NOT_FINITE)

# Eight times the double-precision epsilon: the accumulation error of an inner product of a few
# thousand terms, measured at 2 to 5 eps, with a margin.
PIVOT_TOLERANCE = 8.0 * 2.220446049250313e-16

# Running products are folded into a logarithm when they leave this range.
SMALL = 1e-100
LARGE = 1e100


@reduction_kernel
def pivot_status(pivot, diagonal, k):
    """Say whether the pivot of column k still has digits, relative to its squared length."""
    if not (math.isfinite(pivot) and math.isfinite(diagonal)):
        return NOT_FINITE
    if pivot <= (k + 1) * PIVOT_TOLERANCE * diagonal:
        return SINGULAR_GRAM
    return OK


@reduction_kernel
def cholesky(gram, k, chol_out):
    """Factor the leading k x k block of `gram` (lower triangle read) into `chol_out`.

    `chol_out` may be `gram` itself. Rows i and i + 1 are found together: their two chains of
    divisions do not wait for each other, which halves the time at k = 60.
    """
    if k % 2 == 1:
        if pivot_status(gram[0, 0], gram[0, 0], 0) != OK:
            return pivot_status(gram[0, 0], gram[0, 0], 0)
        chol_out[0, 0] = math.sqrt(gram[0, 0])
    for i in range(k % 2, k, 2):
        first = chol_out[i]
        second = chol_out[i + 1]
        pivot, next_pivot, between = gram[i, i], gram[i + 1, i + 1], gram[i + 1, i]
        diagonal, next_diagonal = pivot, next_pivot
        for j in range(i):
            other = chol_out[j]
            total = gram[i, j]
            next_total = gram[i + 1, j]
            for m in range(j):
                total -= first[m] * other[m]
                next_total -= second[m] * other[m]
            inverse = 1.0 / other[j]
            total *= inverse
            next_total *= inverse
            first[j] = total
            second[j] = next_total
            pivot -= total * total
            next_pivot -= next_total * next_total
            between -= total * next_total
        if pivot_status(pivot, diagonal, i) != OK:
            return pivot_status(pivot, diagonal, i)
        first[i] = math.sqrt(pivot)
        second[i] = between / first[i]
        next_pivot -= second[i] * second[i]
        if pivot_status(next_pivot, next_diagonal, i + 1) != OK:
            return pivot_status(next_pivot, next_diagonal, i + 1)
        second[i + 1] = math.sqrt(next_pivot)
    return OK


@reduction_kernel
def cholesky_append(chol, k, cross, diagonal):
    """Write row k for a new column: `cross` is X_A'x_new (kept), `diagonal` its squared length.

    Whatever the status, the factor of the first k columns is left as it was.
    """
    row = chol[k]
    squared = 0.0
    for j in range(k):
        other = chol[j]
        total = cross[j]
        for m in range(j):
            total -= row[m] * other[m]
        total /= other[j]
        row[j] = total
        squared += total * total
    pivot = diagonal - squared
    status = pivot_status(pivot, diagonal, k)
    if status == OK:
        row[k] = math.sqrt(pivot)
    return status


@reduction_kernel
def delete_row(chol, k, position):
    """Delete row `position` of L: what is left is lower Hessenberg from there on."""
    for i in range(position, k - 1):
        for j in range(i + 2):
            chol[i, j] = chol[i + 1, j]


@reduction_kernel
def rotate_away(chol, n_rows, j):
    """Zero entry (j, j + 1) by a Givens rotation of columns j and j + 1; gives (cosine, sine)."""
    kept = chol[j, j]
    removed = chol[j, j + 1]
    length = math.hypot(kept, removed)
    cosine = kept / length
    sine = removed / length
    chol[j, j] = length
    chol[j, j + 1] = 0.0
    for i in range(j + 1, n_rows):
        left = chol[i, j]
        right = chol[i, j + 1]
        chol[i, j] = cosine * left + sine * right
        chol[i, j + 1] = cosine * right - sine * left
    return cosine, sine


@reduction_kernel
def cholesky_drop(chol, k, position):
    """Remove the column at `position`; the factor of the others is left in the leading k - 1 rows.

    One rotation per later column makes the Hessenberg matrix triangular again. Rotations are
    orthogonal, so no digits are lost.
    """
    delete_row(chol, k, position)
    for j in range(position, k - 1):
        rotate_away(chol, k - 1, j)


@reduction_kernel
def solve_lower(chol, k, rhs):
    """Solve L x = rhs in place on rhs[:k]."""
    for i in range(k):
        row = chol[i]
        total = rhs[i]
        for j in range(i):
            total -= row[j] * rhs[j]
        rhs[i] = total / row[i]


@reduction_kernel
def solve_upper(chol, k, rhs):
    """Solve L' x = rhs in place on rhs[:k]."""
    for i in range(k - 1, -1, -1):
        row = chol[i]
        solved = rhs[i] / row[i]
        rhs[i] = solved
        for j in range(i):
            rhs[j] -= solved * row[j]


@reduction_kernel
def solve_factored(chol, k, rhs):
    """Solve L L' x = rhs in place on rhs[:k]."""
    solve_lower(chol, k, rhs)
    solve_upper(chol, k, rhs)


@reduction_kernel
def solve_lower_rows(chol, k, rows, n_rows):
    """Solve L x = r in place for each of the leading rows r of `rows`."""
    for i in range(n_rows):
        solve_lower(chol, k, rows[i])


@reduction_kernel
def log_det_factored(chol, k):
    """Sum up ln det(L L') of the leading k x k factor.

    A logarithm costs more than ten products: it is taken only when the product nears the ends of
    the floating-point range, and once at the end.
    """
    total = 0.0
    product = 1.0
    for i in range(k):
        product *= chol[i, i]
        if not (SMALL < product < LARGE):
            total += math.log(product)
            product = 1.0
    return 2.0 * (total + math.log(product))
