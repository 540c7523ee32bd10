# mypy: allow-untyped-defs, allow-untyped-calls
"""Level-set operators the direct way: build the KKT matrix V, invert it, take its top-left block.

The paper's "Original KKT" solver and the slow twin of `schur` and `qr`: same names, signatures and
values, cost (N + k)^3 and worse. LAPACK does the work. Where the Gram matrix is numerically
singular so is V, and the answer is nan.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.geometry.tangent_basis import tangent_basis
from shtarkov.linalg.cholesky import OK


@kernel
def kkt_matrix(columns, top, bottom):
    """Build V = [[top I, X], [X', bottom I]], of size N + k."""
    n, k = columns.shape
    matrix = np.zeros((n + k, n + k))
    for i in range(n):
        matrix[i, i] = top
    for j in range(k):
        matrix[n + j, n + j] = bottom
    matrix[:n, n:] = columns
    matrix[n:, :n] = columns.T
    return matrix


@kernel
def top_left_block(columns, top, bottom):
    """Invert V and give its top-left N x N block."""
    n = columns.shape[0]
    return np.ascontiguousarray(np.linalg.inv(kkt_matrix(columns, top, bottom))[:n, :n])


@kernel
def log_abs_det_kkt(columns, top, bottom):
    """Find ln |det V|."""
    if columns.shape[0] + columns.shape[1] == 0:
        return 0.0
    return np.linalg.slogdet(kkt_matrix(columns, top, bottom))[1]


@kernel
def tangent_project(factor, z):
    """Project z on the tangent space by the inverse of V = [[I, X_A], [X_A', 0]] (eq. 5)."""
    if factor.status != OK:
        return np.full(z.shape[0], np.nan)
    return top_left_block(factor.X_active, 1.0, 0.0) @ z


@kernel
def log_volume(factor):
    """Find -ln J of the level set: ln det(H + curvature) - 1/2 ln det H (THEORY section 5).

    |det V| = det H; the bent matrix is multiplied out from its factor.
    """
    if factor.status != OK:
        return math.nan
    if factor.X_active.shape[1] == 0:
        return 0.0
    bent = factor.chol_bent @ factor.chol_bent.T
    return np.linalg.slogdet(bent)[1] - 0.5 * log_abs_det_kkt(factor.X_active, 1.0, 0.0)


@kernel
def log_pair_volume(current, proposed):
    """Find 1/2 ln det Gamma, Gamma = B'D'DB of size N - k (eq. 8), with B and D both explicit."""
    if current.status != OK or proposed.status != OK:
        return math.nan
    if proposed.X_active.shape[1] > current.X_active.shape[1]:
        return -math.inf
    basis = tangent_basis(current.X_active)
    if basis.shape[1] == 0:
        return 0.0
    projected = top_left_block(proposed.X_active, 1.0, 0.0) @ basis
    sign, log_det = np.linalg.slogdet(projected.T @ projected)
    if sign <= 0.0:
        return -math.inf
    return 0.5 * log_det


@kernel
def apply_d_en(factor, lam2, z):
    """Apply the paper's D_EN: top-left block of the inverse of V_EN."""
    if factor.status != OK:
        return np.full(z.shape[0], np.nan)
    return top_left_block(factor.X_active, 1.0 + lam2, -lam2 / (1.0 + lam2)) @ z


@kernel
def log_det_d_en(factor, lam2):
    """Find ln det D_EN of the explicit block."""
    if factor.status != OK:
        return math.nan
    return np.linalg.slogdet(top_left_block(factor.X_active, 1.0 + lam2, -lam2 / (1.0 + lam2)))[1]


@kernel
def apply_m11(X_support, ridge, z):
    """Apply the paper's M11: top-left k x k block of the inverse of V_SVM, size k + D."""
    return top_left_block(X_support, 1.0, -ridge) @ z


@kernel
def log_det_m11(X_support, ridge):
    """Find ln det M11 of the explicit block."""
    if X_support.shape[0] == 0:
        return 0.0
    return np.linalg.slogdet(top_left_block(X_support, 1.0, -ridge))[1]


@kernel
def group_tangent_project(X_groups, starts, z):
    """Project z on null X_G' by the inverse of the full V (`starts` plays no part)."""
    return top_left_block(X_groups, 1.0, 0.0) @ z
