# mypy: allow-untyped-defs, allow-untyped-calls
"""Pair volume of two tangent spaces from Gram entries alone: O(k^3) work, no N.

Computes 1/2 ln det Gamma, Gamma = B' D B, with B a basis of the tangent space at the current point
and D the tangent projector at the proposed one (natural logarithm, THEORY section 7). With
C = X_current'X_proposed,

    det Gamma = det(C' H_current^-1 C) / det H_proposed,

the squared product of the cosines of the principal angles between the two column spaces. It is one
when they agree and exactly zero, here -inf, when the proposed one has more columns. For equal k it
is det(C)^2 / (det H_current det H_proposed): one elimination and no triangular solve. Slow twins of
the same value: `dense.log_pair_volume`, and `schur.log_pair_volume` (the paper's, with B).
"""

from __future__ import annotations

import math

from shtarkov._jit import reduction_kernel
from shtarkov.linalg.cholesky import OK, cholesky, log_det_factored, solve_lower_rows
from shtarkov.linalg.determinants import log_abs_det, log_row_volume


@reduction_kernel
def log_pair_volume_cross(cross, chol_current, k_current, chol_proposed, k_proposed):
    """Find the log pair volume from factors and the cross Gram matrix, which is overwritten.

    ``cross[i, j]`` is the inner product of proposed column i with current column j.
    """
    if k_proposed > k_current:
        return -math.inf
    log_det_proposed = log_det_factored(chol_proposed, k_proposed)
    if k_proposed == k_current:
        log_det_current = log_det_factored(chol_current, k_current)
        return log_abs_det(cross, k_current) - 0.5 * (log_det_current + log_det_proposed)
    solve_lower_rows(chol_current, k_current, cross, k_proposed)
    return log_row_volume(cross, k_proposed, k_current) - 0.5 * log_det_proposed


@reduction_kernel
def same_set(current, k_current, proposed, k_proposed):
    """Say whether two lists without repeats name the same columns, in any order."""
    if k_current != k_proposed:
        return False
    for i in range(k_proposed):
        found = current[i] == proposed[i]
        j = 0
        while not found and j < k_current:
            found = current[j] == proposed[i]
            j += 1
        if not found:
            return False
    return True


@reduction_kernel
def gather(gram, rows, n_rows, columns, n_columns, out):
    """Copy the named rows and columns of `gram` into the leading block of `out`."""
    for i in range(n_rows):
        source = gram[rows[i]]
        target = out[i]
        for j in range(n_columns):
            target[j] = source[columns[j]]


@reduction_kernel
def log_pair_volume_step(
    gram, current, k_current, chol_current, proposed, k_proposed, chol_proposed, cross
):
    """Take one step: gather from the full Gram matrix, factor the proposed set, find the volume.

    Writes the factor of the proposed set to `chol_proposed`, ready to be kept if the move is
    accepted; `cross` is workspace. Gives (log pair volume, status); nan with a bad status.
    """
    gather(gram, proposed, k_proposed, proposed, k_proposed, chol_proposed)
    status = cholesky(chol_proposed, k_proposed, chol_proposed)
    if status != OK:
        return math.nan, status
    if same_set(current, k_current, proposed, k_proposed):
        return 0.0, OK
    gather(gram, proposed, k_proposed, current, k_current, cross)
    value = log_pair_volume_cross(cross, chol_current, k_current, chol_proposed, k_proposed)
    return value, OK


@reduction_kernel
def log_pair_volume(current, proposed):
    """Find the log pair volume of two `ActiveFactor`s (allocates and forms C; for loops, use step).

    Nan when either Gram matrix is numerically singular.
    """
    if current.status != OK or proposed.status != OK:
        return math.nan
    k_current = current.X_active.shape[1]
    k_proposed = proposed.X_active.shape[1]
    if k_proposed > k_current:
        return -math.inf
    if k_proposed == 0:
        return 0.0
    cross = proposed.X_active.T @ current.X_active
    return log_pair_volume_cross(
        cross, current.chol_gram, k_current, proposed.chol_gram, k_proposed
    )
