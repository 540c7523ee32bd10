# mypy: allow-untyped-defs, allow-untyped-calls
"""The paper's D_EN as a proposal covariance: draws from it and its inverse quadratic form.

D_EN = (I - X_A (H + lam2 I)^-1 X_A') / (1 + lam2) is not a projector (THEORY section 5), but it is
positive definite, so N(y, step^2 D_EN) is a proper proposal whose density changes with the active
set; `schur.log_det_d_en` is its log-determinant. Slow twin: `dense.apply_d_en` of unit vectors
gives the matrix itself.
"""

from __future__ import annotations

import math

from shtarkov._jit import kernel
from shtarkov.linalg.cholesky import solve_factored


@kernel
def draw_d_en(factor, lam2, normal_rows, normal_columns):
    """Map N + k independent standard normals to one draw with covariance D_EN.

    Perturbing X_A'z by sqrt(lam2) times fresh normals before the solve makes up exactly what
    (I - X_A M^-1 X_A')^2 lacks of I - X_A M^-1 X_A': no square root of an N x N matrix is needed.
    """
    k = factor.X_active.shape[1]
    scale = math.sqrt(1.0 + lam2)
    if k == 0:
        return normal_rows / scale
    weights = factor.X_active.T @ normal_rows + math.sqrt(lam2) * normal_columns
    solve_factored(factor.chol_bent, k, weights)
    return (normal_rows - factor.X_active @ weights) / scale


@kernel
def inverse_form_d_en(factor, lam2, delta):
    """Find delta' D_EN^-1 delta = (1 + lam2) (|delta|^2 + |X_A'delta|^2 / lam2)."""
    total = 0.0
    for i in range(delta.shape[0]):
        total += delta[i] * delta[i]
    for j in range(factor.X_active.shape[1]):
        overlap = 0.0
        for i in range(delta.shape[0]):
            overlap += factor.X_active[i, j] * delta[i]
        total += overlap * overlap / lam2
    return (1.0 + lam2) * total
