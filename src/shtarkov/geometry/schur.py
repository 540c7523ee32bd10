# mypy: allow-untyped-defs, allow-untyped-calls
"""Level-set operators by Schur complements: k x k Cholesky factors instead of KKT inverses.

Each function has a twin of the same name and signature in `dense` (builds and inverts the KKT
matrix) and in `qr` (orthonormal bases). Errors grow as eps * cond(X_A)^2, so where the Gram matrix
has no digits left (status not OK) the answer is nan, never a wrong projector. Equation numbers are
the paper's.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.geometry.group_blocks import block_cholesky, block_pattern, block_solve
from shtarkov.geometry.tangent_basis import tangent_basis
from shtarkov.linalg.cholesky import (
    OK,
    cholesky,
    log_det_factored,
    solve_factored,
)
from shtarkov.linalg.determinants import log_abs_det


@kernel
def tangent_project(factor, z):
    """Project z on the tangent space: z - X_A H^-1 X_A'z (eq. 7)."""
    if factor.status != OK:
        return np.full(z.shape[0], np.nan)
    k = factor.X_active.shape[1]
    if k == 0:
        return z.copy()
    weights = factor.X_active.T @ z
    solve_factored(factor.chol_gram, k, weights)
    return z - factor.X_active @ weights


@kernel
def log_volume(factor):
    """Find -ln J of the level set: ln det(H + curvature) - 1/2 ln det H (THEORY section 5)."""
    if factor.status != OK:
        return math.nan
    k = factor.X_active.shape[1]
    return log_det_factored(factor.chol_bent, k) - 0.5 * log_det_factored(factor.chol_gram, k)


@kernel
def log_pair_volume(current, proposed):
    """Find 1/2 ln det Gamma by Sylvester's identity with the explicit basis B (Lemma 3.1)."""
    if current.status != OK or proposed.status != OK:
        return math.nan
    k = proposed.X_active.shape[1]
    if k > current.X_active.shape[1]:
        return -math.inf
    basis = tangent_basis(current.X_active)
    if k == 0 or basis.shape[1] == 0:
        return 0.0
    whitened = proposed.X_active.T @ basis
    for i in range(k):
        for j in range(i):
            whitened[i] -= proposed.chol_gram[i, j] * whitened[j]
        whitened[i] /= proposed.chol_gram[i, i]
    return 0.5 * log_abs_det(np.eye(k) - whitened @ whitened.T, k)


@kernel
def apply_d_en(factor, lam2, z):
    """Apply the paper's D_EN, (z - X_A (H + lam2 I)^-1 X_A'z) / (1 + lam2).

    `factor` has the curvature lam2 I. D_EN is not a projector; it is positive definite.
    """
    if factor.status != OK:
        return np.full(z.shape[0], np.nan)
    k = factor.X_active.shape[1]
    if k == 0:
        return z / (1.0 + lam2)
    weights = factor.X_active.T @ z
    solve_factored(factor.chol_bent, k, weights)
    return (z - factor.X_active @ weights) / (1.0 + lam2)


@kernel
def log_det_d_en(factor, lam2):
    """Find ln det D_EN = k ln lam2 - N ln(1 + lam2) - ln det(H + lam2 I)."""
    if factor.status != OK:
        return math.nan
    n, k = factor.X_active.shape
    bent = log_det_factored(factor.chol_bent, k)
    return k * math.log(lam2) - n * math.log1p(lam2) - bent


@kernel
def ridge_factor(rows, ridge):
    """Factor rows rows' + ridge I; gives (factor, status)."""
    size = rows.shape[0]
    gram = rows @ rows.T
    for i in range(size):
        gram[i, i] += ridge
    return gram, cholesky(gram, size, gram)


@kernel
def apply_m11(X_support, ridge, z):
    """Apply the paper's M11, (I + X_S X_S'/ridge)^-1 z, on the cheaper side.

    X_support is (k, D), the rows on the margin. One side factors a k x k matrix, the other
    (Woodbury) a D x D one, at k^2 D + k^3 / 3 against D^2 k + D^3 / 3: the smaller is the cheaper.
    M11 is not a projector.
    """
    k, n_features = X_support.shape
    if k == 0 or n_features == 0:
        return z.copy()
    if k <= n_features:
        chol, status = ridge_factor(X_support, ridge)
        if status != OK:
            return np.full(k, np.nan)
        solved = z * ridge
        solve_factored(chol, k, solved)
        return solved
    chol, status = ridge_factor(np.ascontiguousarray(X_support.T), ridge)
    if status != OK:
        return np.full(k, np.nan)
    weights = X_support.T @ z
    solve_factored(chol, n_features, weights)
    return z - X_support @ weights


@kernel
def log_det_m11(X_support, ridge):
    """Find ln det M11 on the cheaper side."""
    k, n_features = X_support.shape
    if k == 0 or n_features == 0:
        return 0.0
    rows = X_support if k <= n_features else np.ascontiguousarray(X_support.T)
    chol, status = ridge_factor(rows, ridge)
    if status != OK:
        return math.nan
    size = rows.shape[0]
    return size * math.log(ridge) - log_det_factored(chol, size)


@kernel
def group_tangent_project(X_groups, starts, z):
    """Project z on null X_G' by group blocks, skipping blocks that are zero.

    ``starts`` are the m + 1 bounds of the groups' columns. With orthogonal groups H is block
    diagonal and each group is solved alone; otherwise the block-sparse factor is used.
    """
    k = X_groups.shape[1]
    if k == 0:
        return z.copy()
    gram = X_groups.T @ X_groups
    pattern = block_pattern(gram, starts)
    chol = np.zeros((k, k))
    if block_cholesky(gram, starts, pattern, chol) != OK:
        return np.full(z.shape[0], np.nan)
    weights = X_groups.T @ z
    block_solve(chol, starts, pattern, weights)
    return z - X_groups @ weights
