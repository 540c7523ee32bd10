# mypy: allow-untyped-defs, allow-untyped-calls
"""Level-set operators from orthonormal bases: slower than `schur`, accurate to eps * cond(X_A).

Each function has a twin of the same name and signature in `schur` and in `dense`. The Gram matrix
is never used, so a factor whose status is SINGULAR_GRAM is still served, up to a condition number
of about 1e13. Regularised inverses come from the basis of the columns stacked on a root of the
ridge: if [X; sqrt(r) I] = [Q1; Q2] R then X (X'X + r I)^-1 X' = Q1 Q1' and
r (X'X + r I)^-1 = Q2 Q2'.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.linalg.cholesky import NOT_FINITE, OK, log_det_factored
from shtarkov.linalg.determinants import log_abs_det, log_row_volume
from shtarkov.linalg.orthonormal_basis import basis_of_columns, project_out


@kernel
def basis_of(columns):
    """Find the orthonormal rows spanning the columns, their triangular factor, and a status."""
    n, k = columns.shape
    basis = np.zeros((k, n))
    chol = np.zeros((k, k))
    status = basis_of_columns(columns, basis, chol)
    return basis, chol, status


@kernel
def stacked_basis(columns, ridge):
    """Find the basis of [X; sqrt(ridge) I], cut into its upper rows (k, N) and lower rows (k, k).

    Also gives the triangular factor of X'X + ridge I, and a status.
    """
    n, k = columns.shape
    stacked = np.zeros((n + k, k))
    stacked[:n] = columns
    for j in range(k):
        stacked[n + j, j] = math.sqrt(ridge)
    basis, chol, status = basis_of(stacked)
    return np.ascontiguousarray(basis[:, :n]), np.ascontiguousarray(basis[:, n:]), chol, status


@kernel
def tangent_project(factor, z):
    """Project z on the tangent space by removing its components along a basis of the columns."""
    basis, _, status = basis_of(factor.X_active)
    if status != OK:
        return np.full(z.shape[0], np.nan)
    projected = z.copy()
    project_out(basis, basis.shape[0], projected)
    return projected


@kernel
def log_volume(factor):
    """Find -ln J of the level set: ln det(H + curvature) - 1/2 ln det H (THEORY section 5).

    ln det H comes from the orthonormalised columns; the bent factor is the one in `factor`.
    """
    k = factor.X_active.shape[1]
    _, chol, status = basis_of(factor.X_active)
    if status != OK:
        return math.nan
    return log_det_factored(factor.chol_bent, k) - 0.5 * log_det_factored(chol, k)


@kernel
def log_pair_volume(current, proposed):
    """Find 1/2 ln det Gamma as the log-volume of Q_proposed'Q_current, cosines of angles."""
    if current.status == NOT_FINITE or proposed.status == NOT_FINITE:
        return math.nan
    k_current = current.X_active.shape[1]
    k_proposed = proposed.X_active.shape[1]
    if k_proposed > k_current:
        return -math.inf
    if k_proposed == 0:
        return 0.0
    basis_current, _, status_current = basis_of(current.X_active)
    basis_proposed, _, status_proposed = basis_of(proposed.X_active)
    if status_current != OK or status_proposed != OK:
        return math.nan
    cosines = basis_proposed @ basis_current.T
    if k_proposed == k_current:
        return log_abs_det(cosines, k_current)
    return log_row_volume(cosines, k_proposed, k_current)


@kernel
def apply_d_en(factor, lam2, z):
    """Apply the paper's D_EN as (z - Q1 Q1'z) / (1 + lam2)."""
    if factor.X_active.shape[1] == 0:
        return z / (1.0 + lam2)
    upper, _, _, status = stacked_basis(factor.X_active, lam2)
    if status != OK:
        return np.full(z.shape[0], np.nan)
    return (z - upper.T @ (upper @ z)) / (1.0 + lam2)


@kernel
def log_det_d_en(factor, lam2):
    """Find ln det D_EN = k ln lam2 - N ln(1 + lam2) - ln det(H + lam2 I)."""
    n, k = factor.X_active.shape
    _, _, chol, status = stacked_basis(factor.X_active, lam2)
    if status != OK:
        return math.nan
    return k * math.log(lam2) - n * math.log1p(lam2) - log_det_factored(chol, k)


@kernel
def apply_m11(X_support, ridge, z):
    """Apply the paper's M11 from a basis of the smaller of its two sides."""
    k, n_features = X_support.shape
    if k == 0 or n_features == 0:
        return z.copy()
    if k <= n_features:
        _, lower, _, status = stacked_basis(X_support.T, ridge)
        image = lower.T @ (lower @ z)
    else:
        upper, _, _, status = stacked_basis(X_support, ridge)
        image = z - upper.T @ (upper @ z)
    if status != OK:
        return np.full(k, np.nan)
    return image


@kernel
def log_det_m11(X_support, ridge):
    """Find ln det M11 from the triangular factor of the smaller side."""
    k, n_features = X_support.shape
    if k == 0 or n_features == 0:
        return 0.0
    size = min(k, n_features)
    if k <= n_features:
        _, _, chol, status = stacked_basis(X_support.T, ridge)
    else:
        _, _, chol, status = stacked_basis(X_support, ridge)
    if status != OK:
        return math.nan
    return size * math.log(ridge) - log_det_factored(chol, size)


@kernel
def group_tangent_project(X_groups, starts, z):
    """Project z on null X_G' from one basis of all groups' columns (`starts` plays no part)."""
    basis, _, status = basis_of(X_groups)
    if status != OK:
        return np.full(z.shape[0], np.nan)
    projected = z.copy()
    project_out(basis, basis.shape[0], projected)
    return projected
