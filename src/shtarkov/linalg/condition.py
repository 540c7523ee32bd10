# mypy: allow-untyped-defs, allow-untyped-calls
"""Condition number of the active columns, estimated from their Cholesky factor in O(k^2).

Estimates cond(X_A) = sqrt(cond(H)) from below by power iteration on H = L L' and on its inverse.
Near numerical singularity the smallest eigenvalue dominates the inverse so strongly that a few
rounds find its order of magnitude, which is all that choosing a route needs. Slow twin:
`numpy.linalg.cond`.
"""

from __future__ import annotations

import math

from shtarkov._jit import reduction_kernel
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.linalg.orthonormal_basis import norm_of

N_ROUNDS = 8


@reduction_kernel
def multiply_factored(chol, k, vector):
    """Multiply vector[:k] by L L' in place."""
    for j in range(k):
        total = 0.0
        for i in range(j, k):
            total += chol[i, j] * vector[i]
        vector[j] = total
    for i in range(k - 1, -1, -1):
        total = 0.0
        for j in range(i + 1):
            total += chol[i, j] * vector[j]
        vector[i] = total


@reduction_kernel
def start_vector(vector):
    """Fill with unequal entries of both signs, unlikely to be orthogonal to any eigenvector."""
    for i in range(vector.shape[0]):
        vector[i] = (1.0 + 1.0 / (i + 2.0)) * (1.0 - 2.0 * (i % 2))
    length = norm_of(vector)
    for i in range(vector.shape[0]):
        vector[i] /= length


@reduction_kernel
def condition_estimate(chol, k, work):
    """Estimate cond(X_A) of the leading k columns; `work` has at least k entries."""
    if k == 0:
        return 1.0
    vector = work[:k]
    start_vector(vector)
    largest = 1.0
    for _ in range(N_ROUNDS):
        multiply_factored(chol, k, vector)
        largest = norm_of(vector)
        for i in range(k):
            vector[i] /= largest
    start_vector(vector)
    inverse_smallest = 1.0
    for _ in range(N_ROUNDS):
        solve_factored(chol, k, vector)
        inverse_smallest = norm_of(vector)
        for i in range(k):
            vector[i] /= inverse_smallest
    return max(1.0, math.sqrt(largest) * math.sqrt(inverse_smallest))
