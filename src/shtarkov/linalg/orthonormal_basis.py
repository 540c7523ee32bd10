# mypy: allow-untyped-defs, allow-untyped-calls
"""Orthonormal basis of the span of the active columns, kept as columns enter and leave.

Computes Q' and L with X_A = Q L' (so L L' = X_A'X_A, the same L as `cholesky`), one column at a
time by modified Gram-Schmidt done twice, which keeps Q'Q = I to a few eps whatever the
conditioning. Its error is eps * cond(X_A); a Gram matrix squares the condition number. Storage:
`basis` is a (cap, N) C-ordered array whose row j is the j-th basis vector, `chol` as in
`cholesky`. Slow twin: `numpy.linalg.qr` of the current columns.
"""

from __future__ import annotations

import math

from shtarkov._jit import reduction_kernel
from shtarkov.linalg.cholesky import (
    NOT_FINITE,
    OK,
    PIVOT_TOLERANCE,
    SINGULAR_GRAM,
    delete_row,
    rotate_away,
)


@reduction_kernel
def norm_of(vector):
    """Euclidean length of a vector."""
    total = 0.0
    for i in range(vector.shape[0]):
        total += vector[i] * vector[i]
    return math.sqrt(total)


@reduction_kernel
def remove_component(direction, vector):
    """Subtract from `vector`, in place, its component along a unit vector; gives the component."""
    component = 0.0
    for i in range(vector.shape[0]):
        component += direction[i] * vector[i]
    for i in range(vector.shape[0]):
        vector[i] -= component * direction[i]
    return component


@reduction_kernel
def basis_append(basis, chol, k, column):
    """Add a column (left unchanged): writes row k of `basis` and of `chol`.

    Two passes are enough unless the column lies in the span to working precision, which is what
    the status SINGULAR_GRAM says; the first k rows are then still valid.
    """
    new = basis[k]
    for i in range(column.shape[0]):
        new[i] = column[i]
    length = norm_of(column)
    for j in range(k):
        chol[k, j] = remove_component(basis[j], new)
    for j in range(k):
        chol[k, j] += remove_component(basis[j], new)
    distance = norm_of(new)
    if not math.isfinite(distance):
        return NOT_FINITE
    if distance <= (k + 1) * PIVOT_TOLERANCE * length:
        return SINGULAR_GRAM
    chol[k, k] = distance
    for i in range(column.shape[0]):
        new[i] /= distance
    return OK


@reduction_kernel
def basis_drop(basis, chol, k, position):
    """Remove the column at `position`: the rotations that restore `chol` also turn the basis."""
    delete_row(chol, k, position)
    for j in range(position, k - 1):
        cosine, sine = rotate_away(chol, k - 1, j)
        first = basis[j]
        second = basis[j + 1]
        for i in range(basis.shape[1]):
            left = first[i]
            right = second[i]
            first[i] = cosine * left + sine * right
            second[i] = cosine * right - sine * left


@reduction_kernel
def basis_of_columns(columns, basis, chol):
    """Build basis and factor of all columns of an (N, k) array; gives the first bad status."""
    for j in range(columns.shape[1]):
        status = basis_append(basis, chol, j, columns[:, j])
        if status != OK:
            return status
    return OK


@reduction_kernel
def project_out(basis, k, vector):
    """Subtract from `vector`, in place, its component in the span of the first k basis vectors."""
    for j in range(k):
        remove_component(basis[j], vector)
