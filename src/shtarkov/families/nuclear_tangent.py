# mypy: allow-untyped-defs, allow-untyped-calls
"""Second derivative of the objective along matrices of the estimate's rank, and solves with it.

At B = U diag(theta) V' of rank r a tangent is xi = E V' + U F', E (p, r), F (q, r) with V'F = 0;
|xi|^2 = |E|^2 + |F|^2. With S R = lam U V' + sum_{k>r} rho_k u_k v_k', |rho_k| <= lam, the second
derivative M is S^2 on both parts plus the curvature of lam times the norm, the sum of

* on U'E: the antisymmetric part, (A_ij - A_ji) lam / (theta_i + theta_j);
* on (I - UU')E and on F: lam / theta_j on column j, less rho_k / theta_j between the component of
  column j of E along u_k and that of F along v_k.

It is positive definite wherever |rho_k| <= lam. Matrices are held by rows: E' and F' side by side
in one vector of length r (p + q). Slow twin: `families.nuclear_volume` assembles M.
"""

from __future__ import annotations

import numpy as np

from shtarkov._jit import kernel

# Conjugate gradients stop at this share of the first preconditioned residual.
CG_TOLERANCE = 1e-8
MAX_CG = 500


@kernel
def core_gram(family, work, rank):
    """Return U'S^2U, (r, r)."""
    core = np.zeros((rank, rank))
    for i in range(rank):
        for j in range(i + 1):
            total = 0.0
            for a in range(family.scales.size):
                s = family.scales[a]
                total += s * s * work.left[i, a] * work.left[j, a]
            core[i, j] = total
            core[j, i] = total
    return core


@kernel
def along_vectors(vectors, rows):
    """Return the inner products of singular vectors (m, d) with rows (r, d), as (m, r)."""
    return np.dot(vectors, rows.T)


@kernel
def apply_second_derivative(family, work, core, tangent):
    """Return M xi."""
    p, q = work.coef.shape
    rank, lam, m = core.shape[0], family.lam, work.values.size
    out = np.empty(tangent.size)
    rows_e, rows_f = tangent[: rank * p].reshape(rank, p), tangent[rank * p :].reshape(rank, q)
    along_e, along_f = along_vectors(work.left, rows_e), along_vectors(work.right, rows_f)
    to_left, to_right = np.zeros((rank, m)), np.zeros((rank, m))
    for j in range(rank):
        theta = work.values[j]
        for i in range(rank):
            turn = (along_e[i, j] - along_e[j, i]) / (work.values[i] + theta)
            to_left[j, i] = lam * (turn - along_e[i, j] / theta)
        for k in range(rank, m):
            to_left[j, k] = -work.dual[k] * along_f[k, j] / theta
            to_right[j, k] = -work.dual[k] * along_e[k, j] / theta
    out_e, out_f = np.dot(to_left, work.left), np.dot(to_right, work.right)
    out_f += np.dot(core, rows_f)
    for j in range(rank):
        bend = lam / work.values[j]
        for a in range(p):
            s = family.scales[a]
            out[j * p + a] = out_e[j, a] + (s * s + bend) * rows_e[j, a]
        for b in range(q):
            out[rank * p + j * q + b] = out_f[j, b] + bend * rows_f[j, b]
    return out


@kernel
def precondition(family, work, core, tangent, out):
    """Divide by the diagonal of S^2 and lam / theta."""
    p, q = work.coef.shape
    rank = core.shape[0]
    for j in range(rank):
        bend = family.lam / work.values[j]
        for a in range(p):
            s = family.scales[a]
            out[j * p + a] = tangent[j * p + a] / (s * s + bend)
        for b in range(q):
            at = rank * p + j * q + b
            out[at] = tangent[at] / (core[j, j] + bend)


@kernel
def solve_tangent(family, work, core, rhs):
    """Return xi with M xi = rhs by conjugate gradients; `rhs` is overwritten."""
    solution, scaled = np.zeros(rhs.size), np.empty(rhs.size)
    precondition(family, work, core, rhs, scaled)
    direction = scaled.copy()
    inner = np.dot(rhs, scaled)
    target = CG_TOLERANCE * CG_TOLERANCE * inner
    for _ in range(MAX_CG):
        if not inner > target:
            break
        image = apply_second_derivative(family, work, core, direction)
        length = inner / np.dot(direction, image)
        for i in range(rhs.size):
            solution[i] += length * direction[i]
            rhs[i] -= length * image[i]
        precondition(family, work, core, rhs, scaled)
        previous, inner = inner, np.dot(rhs, scaled)
        for i in range(rhs.size):
            direction[i] = scaled[i] + inner / previous * direction[i]
    return solution


@kernel
def descent_rhs(family, work, rank):
    """Return minus the gradient of the objective along tangents: S R - lam U V', projected."""
    p, q = work.coef.shape
    pulled = np.empty((p, q))
    for a in range(p):
        for b in range(q):
            pulled[a, b] = family.scales[a] * work.residual[a * q + b]
    rhs = np.empty(rank * (p + q))
    rows_e, rows_f = np.dot(work.right, pulled.T), np.dot(work.left, pulled)
    inside = np.dot(rows_f, work.right.T)
    for j in range(rank):
        for a in range(p):
            rhs[j * p + a] = rows_e[j, a] - family.lam * work.left[j, a]
        for b in range(q):
            total = rows_f[j, b]
            for i in range(rank):
                total -= inside[j, i] * work.right[i, b]
            rhs[rank * p + j * q + b] = total
    return rhs


@kernel
def direction_rhs(work, rank):
    """Return U V' as a tangent: the gradient of the norm."""
    p, q = work.coef.shape
    rhs = np.zeros(rank * (p + q))
    for j in range(rank):
        for a in range(p):
            rhs[j * p + a] = work.left[j, a]
    return rhs


@kernel
def add_tangent(work, rank, tangent, out):
    """Add xi to a (p, q) matrix."""
    p, q = out.shape
    for j in range(rank):
        for a in range(p):
            e, u = tangent[j * p + a], work.left[j, a]
            for b in range(q):
                out[a, b] += e * work.right[j, b] + u * tangent[rank * p + j * q + b]
