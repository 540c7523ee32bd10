# mypy: allow-untyped-defs, allow-untyped-calls
"""Explicit orthonormal basis B of the tangent space null X_A', an N x (N - k) matrix.

Only the dense route and the paper's Sylvester route need it; the Gram-only route does not. B is the
last N - k columns of the orthogonal factor of X_A, accumulated from k Householder reflectors in
compact form, B = E - V' T V E, so that the O(N^2 k) part is one matrix product. Slow twin:
`scipy.linalg.null_space`.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.linalg.orthonormal_basis import norm_of


@reduction_kernel
def reflect(reflector, vector):
    """Apply I - v v' in place and give v'x; reflectors are scaled to squared length two."""
    component = 0.0
    for i in range(vector.shape[0]):
        component += reflector[i] * vector[i]
    for i in range(vector.shape[0]):
        vector[i] -= component * reflector[i]
    return component


@reduction_kernel
def fill_reflector(vector, position):
    """Turn `vector` into the reflector that zeroes its own entries after `position`."""
    vector[:position] = 0.0
    length = norm_of(vector)
    vector[position] += math.copysign(length, vector[position])
    length = norm_of(vector)
    if length > 0.0:
        scale = math.sqrt(2.0) / length
        for i in range(position, vector.shape[0]):
            vector[i] *= scale


@kernel
def householder(columns):
    """Find reflectors (k, N) and the triangular T (k, k) of Q = I - V'TV for an (N, k) array."""
    n, k = columns.shape
    reflectors = np.zeros((k, n))
    triangle = np.zeros((k, k))
    for j in range(k):
        reflectors[j] = columns[:, j]
        for m in range(j):
            reflect(reflectors[m], reflectors[j])
        fill_reflector(reflectors[j], j)
        overlaps = np.zeros(j)
        for m in range(j):
            overlaps[m] = np.sum(reflectors[m] * reflectors[j])
        triangle[j, j] = 1.0
        for i in range(j):
            for m in range(i, j):
                triangle[i, j] -= triangle[i, m] * overlaps[m]
    return reflectors, triangle


@kernel
def tangent_basis(X_active):
    """Build the N x (N - k) orthonormal basis of the complement of the columns of X_active."""
    n, k = X_active.shape
    basis = np.zeros((n, n - k))
    for j in range(n - k):
        basis[k + j, j] = 1.0
    if k > 0 and k < n:
        reflectors, triangle = householder(X_active)
        basis -= reflectors.T @ (triangle @ np.ascontiguousarray(reflectors[:, k:]))
    return basis
