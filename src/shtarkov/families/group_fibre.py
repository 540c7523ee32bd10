# mypy: allow-untyped-defs, allow-untyped-calls
"""The fibre move of the Group Lasso: new lengths for the active groups, the residual kept.

The residual fixes which groups are active and each direction u_g = X_g'r / (lam w_g), not the
lengths rho_g. With P_g = I - u_g u_g' the data y = r + sum_g rho_g X_g u_g move by

    dy = K dr + sum_g X_g u_g drho_g,    K = I + sum_g rho_g X_g P_g X_g' / (lam w_g),

so that under the luckiness law with weight tau the lengths given r have the density

    exp(-tau sum_g w_g rho_g) det K det(A'K^-1 A),     A the columns X_g u_g,

which by Sylvester's identity is, up to a constant, prod_g rho_g^(d_g - 1) det M over the active
columns (M as in `families.group_newton`), however many these are. As a function of one length it is
exp(-tau w rho) prod_i (lam w + t_i rho), t_i >= 0 the eigenvalues of the Schur complement of all
else but P_g: a mixture of d gamma densities, drawn from exactly. One sweep draws every length in
turn. With mu_i the eigenvalues of P M^-1 P within the group, t_i = 1 / mu_i - lam w / rho; a change
of one length changes M^-1 by a matrix of rank d - 1. Groups of one column are the Lasso's draw.
"""

from __future__ import annotations

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import dot, subtract_rows
from shtarkov.families.group_newton import (
    apply_root,
    bend_all,
    factor_once,
    is_kept,
)
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.linalg.small_eigen import symmetric_modes
from shtarkov.types import Status

OK = int(Status.OK)


@kernel
def invert_bent(family, work):
    """Write M^-1 over the active columns into `bent`; the factor of B must be at hand."""
    k = work.counts[0]
    unit = work.step[:k]
    for column in range(k):
        for i in range(k):
            unit[i] = 0.0
        unit[column] = 1.0
        apply_root(family, work, unit)
        solve_factored(work.chol, k, unit)
        apply_root(family, work, unit)
        for i in range(k):
            work.bent[i, column] = unit[i]


@kernel
def tangent_modes(family, work, a):
    """Return eigenvalues of P M^-1 P in group a, but for the zeros, and their vectors."""
    first, last = work.offsets[a], work.offsets[a + 1]
    u = work.units[first:last].copy()
    size = last - first
    block, along = np.empty((size, size)), np.zeros(size)
    for i in range(size):
        for j in range(size):
            block[i, j] = work.bent[first + i, first + j]
            along[i] += block[i, j] * u[j]
    middle = dot(u, along)
    for i in range(size):
        for j in range(size):
            block[i, j] += middle * u[i] * u[j] - along[i] * u[j] - u[i] * along[j]
    values, vectors = symmetric_modes(block)
    zeros = 1  # that of u, and those of coefficients held at zero, come first
    for i in range(first, last):
        zeros += 0 if is_kept(family.l1, work.units[i]) else 1
    return values[zeros:], vectors[:, zeros:]


@kernel
def draw_length(slopes, limit, rate, rng):
    """Draw rho from exp(-rate rho) prod_i (limit + slopes[i] rho), a mixture of gammas."""
    size = slopes.size + 1
    shares = np.zeros(size)
    shares[0] = 1.0
    for i in range(size - 1):  # shares[j]: j! e_j(slopes / (limit rate)), scaled
        ratio, largest = slopes[i] / (limit * rate), 0.0
        for j in range(i + 1, 0, -1):
            shares[j] += ratio * j * shares[j - 1]
            largest = max(largest, shares[j])
        for j in range(i + 2):
            shares[j] /= max(largest, shares[0])
    left, power = rng.random() * np.sum(shares), 0
    while power < size - 1 and left >= shares[power]:
        left -= shares[power]
        power += 1
    total = 0.0
    for _ in range(power + 1):
        total += rng.standard_exponential()
    return total / rate


@kernel
def shift_inverse(work, a, values, vectors, change):
    """Bring M^-1 in `bent` to M + change P in group a, one eigenvector after the other."""
    k, first, image = work.counts[0], work.offsets[a], work.step
    for mode in range(values.size):
        for i in range(k):
            total = 0.0
            for j in range(vectors.shape[0]):
                total += work.bent[i, first + j] * vectors[j, mode]
            image[i] = total
        scale = change / (1.0 + change * values[mode])
        for i in range(k):
            weighted = scale * image[i]
            for j in range(k):
                work.bent[i, j] -= weighted * image[j]


@kernel
def draw_lengths(family, weight, work, rng):
    """Draw every length in turn; `kept` gets the old coefficients less the new ones."""
    for a in range(work.counts[1]):
        group = work.groups[a]
        first, last = work.offsets[a], work.offsets[a + 1]
        limit, rate = family.lam * family.weights[group], weight * family.weights[group]
        if family.l1 > 0.0:
            for i in range(first, last):
                rate += weight * family.l1 * abs(work.units[i])
        old = work.norms[a]
        if last - first == 1:
            new = rng.standard_exponential() / rate
        else:
            values, vectors = tangent_modes(family, work, a)
            slopes = np.zeros(values.size)
            for i in range(slopes.size):
                slopes[i] = max(1.0 / values[i] - limit / old, 0.0)
            new = draw_length(slopes, limit, rate, rng)
            shift_inverse(work, a, values, vectors, limit / new - limit / old)
        work.norms[a] = new
        for i in range(first, last):
            work.kept[i] = work.coef[i] - new * work.units[i]
            work.coef[i] = new * work.units[i]


@kernel
def refresh_lengths(family, weight, y, work, rng):
    """Move y along the lengths of its active groups; nothing where the active columns depend."""
    if work.counts[0] == 0:
        return
    if work.counts[0] > work.counts[1]:  # some group has several columns
        bend_all(family, work)
        if factor_once(family, work) != OK:
            return
        invert_bent(family, work)
    draw_lengths(family, weight, work, rng)
    k = work.counts[0]
    subtract_rows(family.Xt, work.columns, work.kept, k, y)
    if work.z.size > 0:
        subtract_rows(family.gram, work.columns, work.kept, k, work.z)
