# mypy: allow-untyped-defs, allow-untyped-calls
"""Block-sparse Cholesky factor of a Gram matrix of groups of columns (the paper's H_G).

Groups are consecutive columns, group a being starts[a] to starts[a + 1]. Blocks of inner products
that are zero to rounding are skipped, and so is everything elimination cannot fill: with orthogonal
groups the factor is block diagonal and m groups of size d cost m d^3 instead of (m d)^3. Slow twin:
`linalg.cholesky.cholesky`, which ignores the blocks.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.linalg.cholesky import OK, PIVOT_TOLERANCE, pivot_status


@kernel
def block_is_zero(gram, rows, columns, tolerance):
    """Say whether a block holds only rounding, relative to its columns' lengths."""
    for i in range(rows[0], rows[1]):
        for j in range(columns[0], columns[1]):
            if not abs(gram[i, j]) <= tolerance * math.sqrt(gram[i, i] * gram[j, j]):
                return False
    return True


@kernel
def block_pattern(gram, starts):
    """Find which blocks of the factor's lower triangle can be nonzero, elimination included."""
    n_groups = starts.shape[0] - 1
    tolerance = (gram.shape[0] + 1) * PIVOT_TOLERANCE
    pattern = np.zeros((n_groups, n_groups), dtype=np.bool_)
    for a in range(n_groups):
        pattern[a, a] = True
        rows = (starts[a], starts[a + 1])
        for b in range(a):
            columns = (starts[b], starts[b + 1])
            pattern[a, b] = not block_is_zero(gram, rows, columns, tolerance)
    for b in range(n_groups):
        for a in range(b + 1, n_groups):
            if pattern[a, b]:
                for c in range(b + 1, a):
                    pattern[a, c] |= pattern[c, b]
    return pattern


@kernel
def entry_minus_products(gram, chol, starts, pattern, place, blocks):
    """Take from gram[i, j] the products of rows i and j of the factor, block by block."""
    i, j = place
    a, b = blocks
    total = gram[i, j]
    for c in range(b + 1):
        if pattern[a, c] and pattern[b, c]:
            for m in range(starts[c], min(starts[c + 1], j)):
                total -= chol[i, m] * chol[j, m]
    return total


@kernel
def block_cholesky(gram, starts, pattern, chol):
    """Factor `gram` into `chol` (zero on entry) over the blocks of `pattern`; gives a status."""
    for a in range(starts.shape[0] - 1):
        for i in range(starts[a], starts[a + 1]):
            for b in range(a + 1):
                if pattern[a, b]:
                    for j in range(starts[b], min(starts[b + 1], i)):
                        chol[i, j] = (
                            entry_minus_products(gram, chol, starts, pattern, (i, j), (a, b))
                            / chol[j, j]
                        )
            pivot = entry_minus_products(gram, chol, starts, pattern, (i, i), (a, a))
            status = pivot_status(pivot, gram[i, i], i)
            if status != OK:
                return status
            chol[i, i] = math.sqrt(pivot)
    return OK


@kernel
def block_solve(chol, starts, pattern, rhs):
    """Solve L L' x = rhs in place, skipping the zero blocks."""
    n_groups = starts.shape[0] - 1
    for a in range(n_groups):
        for i in range(starts[a], starts[a + 1]):
            for b in range(a + 1):
                if pattern[a, b]:
                    for j in range(starts[b], min(starts[b + 1], i)):
                        rhs[i] -= chol[i, j] * rhs[j]
            rhs[i] /= chol[i, i]
    for a in range(n_groups - 1, -1, -1):
        for i in range(starts[a + 1] - 1, starts[a] - 1, -1):
            rhs[i] /= chol[i, i]
            for b in range(a + 1):
                if pattern[a, b]:
                    for j in range(starts[b], min(starts[b + 1], i)):
                        rhs[j] -= chol[i, j] * rhs[i]
