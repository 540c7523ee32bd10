# mypy: allow-untyped-defs, allow-untyped-calls
"""Eigenvalues of small symmetric matrices by Jacobi's rotations: the same bits in every run.

LAPACK's may depend on where in memory a matrix lies, which would tell two runs of one seed apart.
Slow twin: `numpy.linalg.eigh` (tests/unit/linalg).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel

# Off-diagonal entries below this share of the matrix are rounding. Five to ten sweeps are usual.
NEGLIGIBLE = 1e-15
MAX_SWEEPS = 60


@kernel
def rotate_pair(matrix, vectors, p, q):
    """Make entry (p, q) zero."""
    if matrix[p, q] == 0.0:
        return
    ratio = 0.5 * (matrix[q, q] - matrix[p, p]) / matrix[p, q]
    tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    for i in range(matrix.shape[0]):
        first, second = matrix[i, p], matrix[i, q]
        matrix[i, p] = cosine * first - sine * second
        matrix[i, q] = sine * first + cosine * second
        first, second = vectors[i, p], vectors[i, q]
        vectors[i, p] = cosine * first - sine * second
        vectors[i, q] = sine * first + cosine * second
    for i in range(matrix.shape[0]):
        first, second = matrix[p, i], matrix[q, i]
        matrix[p, i] = cosine * first - sine * second
        matrix[q, i] = sine * first + cosine * second


@kernel
def symmetric_modes(matrix):
    """Return eigenvalues, ascending, and eigenvectors as columns; `matrix` is overwritten."""
    size = matrix.shape[0]
    vectors, values = np.eye(size), np.empty(size)
    for _ in range(MAX_SWEEPS):
        off, total = 0.0, 0.0
        for p in range(size):
            total += matrix[p, p] * matrix[p, p]
            for q in range(p + 1, size):
                off += matrix[p, q] * matrix[p, q]
        if not off > NEGLIGIBLE * NEGLIGIBLE * total:
            break
        for p in range(size):
            for q in range(p + 1, size):
                rotate_pair(matrix, vectors, p, q)
    for p in range(size):
        values[p] = matrix[p, p]
    order = np.argsort(values)
    return values[order], np.ascontiguousarray(vectors[:, order])
