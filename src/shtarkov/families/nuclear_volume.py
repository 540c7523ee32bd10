# mypy: allow-untyped-defs, allow-untyped-calls
"""Degrees of freedom and volume factor of the nuclear norm, exactly.

On matrices of rank r the estimate moves by M xi = S' dy restricted to tangents (`nuclear_tangent`),
and the fit by S xi. With H = S^2 on tangents,

    df = tr(M^-1 H),        ln volume = ln det M - half ln det H,

the formulas of the Group Lasso with tangents in place of active coefficients. No difference of
singular values is divided by, so ties need no limit. Where all singular values of the design are
equal M is diagonal: `diagonal_*` then give the formula of Candes, Sing-Long and Trzasko (2013).

In general F is eliminated from M: its column j sees E through rho_k / theta_j only, and the block
U'S^2U + diag(lam / theta) is the same for every direction of F. What is left is, on column j of E,
diagonal (S^2 + lam / theta_j) but for the m = min(p, q) left singular vectors L, so by Woodbury a
matrix of size r m carries determinant and trace: m is the smaller side, however large the other.
Slow twins: differences of the fit, and M assembled on all tangents (tests/unit/families).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.nuclear_tangent import core_gram
from shtarkov.linalg.cholesky import cholesky, log_det_factored
from shtarkov.types import Status

OK = int(Status.OK)
SINGULAR_GRAM = int(Status.SINGULAR_GRAM)


@kernel
def has_equal_scales(family):
    """Say whether the design is a multiple of an orthonormal one."""
    return family.scales[0] == family.scales[family.scales.size - 1]


@kernel
def add_mode(square, bend, count, df, log_volume):
    """Add `count` tangents on which M is square + bend and H is square; gives (df, log volume)."""
    df += count * square / (square + bend)
    log_volume += count * (math.log(square + bend) - 0.5 * math.log(square))
    return df, log_volume


@kernel
def diagonal_df_and_volume(family, work):
    """Return df and ln volume on a design with equal singular values."""
    p, q = work.coef.shape
    rank, lam = work.counts[0], family.lam
    square = family.scales[0] * family.scales[0]
    m = work.values.size
    df, log_volume = 0.0, 0.0
    for i in range(rank):
        theta = work.values[i]
        df, log_volume = add_mode(square, 0.0, 1, df, log_volume)
        for j in range(i):
            df, log_volume = add_mode(square, 0.0, 1, df, log_volume)
            bend = 2.0 * lam / (theta + work.values[j])
            df, log_volume = add_mode(square, bend, 1, df, log_volume)
        for k in range(rank, m):
            df, log_volume = add_mode(square, (lam - work.dual[k]) / theta, 1, df, log_volume)
            df, log_volume = add_mode(square, (lam + work.dual[k]) / theta, 1, df, log_volume)
        df, log_volume = add_mode(square, lam / theta, abs(p - q), df, log_volume)
    return df, log_volume


@kernel
def shrunk_products(family, work, bends, power):
    """Return blocks L D_j^-1 (S^2 D_j^-1)^power L' for D_j = S^2 + bends[j], L = `left`."""
    m, p = work.left.shape
    rank = bends.size
    blocks = np.zeros((rank * m, rank * m))
    shrunk = np.empty((m, p))
    for j in range(rank):
        for a in range(p):
            square = family.scales[a] * family.scales[a]
            weight = 1.0 / (square + bends[j])
            weight *= (square * weight) ** power
            for i in range(m):
                shrunk[i, a] = weight * work.left[i, a]
        blocks[j * m : (j + 1) * m, j * m : (j + 1) * m] = np.dot(shrunk, work.left.T)
    return blocks


@kernel
def couplings(work, lam, bends, coupling):
    """Return K: with F eliminated M is D + (I x L)' K (I x L), entry (j, i) at j m + i."""
    m, rank = work.values.size, bends.size
    matrix = np.zeros((rank * m, rank * m))
    for j in range(rank):
        for i in range(rank):
            shared = lam / (work.values[i] + work.values[j])
            matrix[j * m + i, j * m + i] += shared - bends[j]
            matrix[j * m + i, i * m + j] -= shared
            for k in range(rank, m):
                dual_sq = work.dual[k] * work.dual[k]
                matrix[j * m + k, i * m + k] = -dual_sq * coupling[j, i]
    return matrix


@kernel
def passed_trace(work, gram, solved, spread):
    """Return the part of df that passes through F: tr(P (G - G T G)), P at (j, k), (i, k)."""
    m, rank = work.values.size, spread.shape[0]
    inverse = gram - np.dot(np.dot(gram, solved), gram)
    total = 0.0
    for j in range(rank):
        for i in range(rank):
            for k in range(rank, m):
                dual_sq = work.dual[k] * work.dual[k]
                total += dual_sq * spread[j, i] * inverse[j * m + k, i * m + k]
    return total


@kernel
def free_block(family, work, bends):
    """Return U'S^2U, the inverse and ln det of its sum with diag(bends), and the status."""
    rank = bends.size
    core = core_gram(family, work, rank)
    bent, chol = core.copy(), np.zeros((rank, rank))
    for j in range(rank):
        bent[j, j] += bends[j]
    if cholesky(bent, rank, chol) != OK:
        return core, bent, 0.0, SINGULAR_GRAM
    inverse = np.ascontiguousarray(np.linalg.inv(bent))
    return core, inverse, log_det_factored(chol, rank), OK


@kernel
def over_values(matrix, values):
    """Divide entry (i, j) by values[i] * values[j]."""
    out = np.empty(matrix.shape)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i, j] = matrix[i, j] / (values[i] * values[j])
    return out


@kernel
def diagonal_log_det(family, bends):
    """Return ln det of D on all columns of E."""
    total = 0.0
    for s in family.scales:
        for bend in bends:
            total += math.log(s * s + bend)
    return total


@kernel
def factored(family, work, bends):
    """Return what determinant and trace share.

    That is U'S^2U, the inverse of its sum with diag(bends), K, the blocks L D^-1 L', I + K times
    them, and ln det M, infinite where M is numerically singular.
    """
    rank, lam = bends.size, family.lam
    core, inverse, log_det, status = free_block(family, work, bends)
    k = couplings(work, lam, bends, over_values(inverse, work.values))
    gram = shrunk_products(family, work, bends, 0)
    inner = np.dot(k, gram)
    for i in range(inner.shape[0]):
        inner[i, i] += 1.0
    sign, log_inner = np.linalg.slogdet(inner)
    if status != OK or not (sign > 0.0 and math.isfinite(log_inner)):
        return core, inverse, k, gram, inner, math.inf
    log_det = (family.n_targets - rank) * log_det + log_inner + diagonal_log_det(family, bends)
    return core, inverse, k, gram, inner, log_det


@kernel
def general_df_and_volume(family, work):
    """Return df and ln volume on any design; NaN and infinite where M is numerically singular."""
    rank = work.counts[0]
    free = family.n_targets - rank
    bends = family.lam / work.values[:rank]
    core, inverse, k, gram, inner, log_det = factored(family, work, bends)
    if not math.isfinite(log_det):
        return math.nan, math.inf
    passed = np.dot(np.dot(inverse, core), inverse)
    solved = np.linalg.solve(inner, k)
    df = free * np.sum(inverse * core)
    df += passed_trace(work, gram, solved, over_values(passed, work.values))
    df -= np.sum(solved * shrunk_products(family, work, bends, 1))
    log_gram = free * np.linalg.slogdet(core)[1]
    for s in family.scales:
        log_gram += 2.0 * rank * math.log(s)
        for bend in bends:
            df += s * s / (s * s + bend)
    return df, log_det - 0.5 * log_gram


@kernel
def log_det_second_derivative(family, work):
    """Return ln det M at the singular values in `work`."""
    rank = work.counts[0]
    if has_equal_scales(family):
        size = rank * (family.scales.size + family.n_targets - rank)
        log_gram = 2.0 * size * math.log(family.scales[0])
        return diagonal_df_and_volume(family, work)[1] + 0.5 * log_gram
    return factored(family, work, family.lam / work.values[:rank])[5]


@kernel
def df_and_volume(family, work):
    """Return Stein's degrees of freedom and ln volume of the level set's neighbourhood."""
    if work.counts[0] == 0:
        return 0.0, 0.0
    if has_equal_scales(family):
        return diagonal_df_and_volume(family, work)
    return general_df_and_volume(family, work)
