# mypy: allow-untyped-defs, allow-untyped-calls
"""Newton's matrix of the Group Lasso on its working set, in a form that stays well conditioned.

With rho = |beta_g|, u = beta_g / rho, L = `steps[g]` >= the largest eigenvalue of X_g'X_g and
t = lam w / L, the proximal map v -> (1 - t / |v|)_+ v has at v = (rho + t) u the derivative
J = uu' + rho / (rho + t) (I - uu'), and J = 0 where the group is zero, or where the weight `l1` of
the absolute values holds single coefficients at zero. The Hessian on the working set is
M = H + blkdiag(lam w (I - uu') / rho); its curvature is L (J^-1 - I), unbounded as rho -> 0.
The matrix kept is

    B = L (I - J) + J^1/2 H J^1/2,     M^-1 = J^1/2 B^-1 J^1/2,     det M = det B / det J,

whose entries stay bounded, and which is there for coefficients that are zero too. Where Gram blocks
between groups vanish, the factor is block-sparse (`geometry.group_blocks`): orthogonal groups cost
the sum of their own cubes. Slow twin: dense M from `penalty_curvature` (tests/unit/families).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.geometry.group_blocks import block_cholesky, block_solve
from shtarkov.linalg.cholesky import cholesky, log_det_factored, solve_factored, solve_lower
from shtarkov.types import Status

OK = int(Status.OK)
# Dependent groups make B singular: the ridge that lets it be factored, relative to its diagonal.
FIRST_RIDGE = 1e-12
RIDGE_GROWTH = 100.0
MAX_RIDGES = 6


@kernel
def is_kept(l1, unit):
    """Say whether a working column moves: a coefficient the weight `l1` holds at zero does not."""
    return l1 == 0.0 or unit != 0.0


@kernel
def root_share(family, work, a):
    """Return the square root of rho / (rho + t) for group a of the working set."""
    group = work.groups[a]
    threshold = family.lam * family.weights[group] / family.steps[group]
    return math.sqrt(work.norms[a] / (work.norms[a] + threshold))


@kernel
def apply_root(family, work, v):
    """Multiply v, over the working columns, by J^1/2 in place."""
    for a in range(work.counts[1]):
        root = root_share(family, work, a)
        first, last = work.offsets[a], work.offsets[a + 1]
        along = 0.0
        for i in range(first, last):
            along += work.units[i] * v[i]
        for i in range(first, last):
            moved = root * v[i] + (1.0 - root) * along * work.units[i]
            v[i] = moved if is_kept(family.l1, work.units[i]) else 0.0


@kernel
def bend_rows(family, work, a):
    """Write the block rows of group a of J^1/2 H J^1/2 + L (I - J), up to the diagonal block."""
    group, root = work.groups[a], root_share(family, work, a)
    first, last = work.offsets[a], work.offsets[a + 1]
    for b in range(a + 1):
        other = root_share(family, work, b)
        left, right = work.offsets[b], work.offsets[b + 1]
        for i in range(first, last):
            along = 0.0
            for j in range(left, right):
                along += work.units[j] * work.gram_active[i, j]
            for j in range(left, right):
                turned = other * work.gram_active[i, j] + (1.0 - other) * along * work.units[j]
                work.bent[i, j] = turned if is_kept(family.l1, work.units[j]) else 0.0
    for j in range(last):
        along = 0.0
        for i in range(first, last):
            along += work.units[i] * work.bent[i, j]
        for i in range(first, last):
            turned = root * work.bent[i, j] + (1.0 - root) * along * work.units[i]
            work.bent[i, j] = turned if is_kept(family.l1, work.units[i]) else 0.0
    bend = family.steps[group] * (1.0 - root * root)
    for i in range(first, last):
        work.bent[i, i] += bend if is_kept(family.l1, work.units[i]) else family.steps[group]
        for j in range(first, last):
            work.bent[i, j] -= bend * work.units[i] * work.units[j]


@kernel
def touching_blocks(family, work):
    """Find which blocks of the factor over the working groups can be nonzero."""
    m = work.counts[1]
    pattern = np.zeros((m, m), np.bool_)
    for a in range(m):
        for b in range(a + 1):
            pattern[a, b] = family.touching[work.groups[a], work.groups[b]]
    for b in range(m):
        for a in range(b + 1, m):
            if pattern[a, b]:
                for c in range(b + 1, a):
                    pattern[a, c] |= pattern[c, b]
    return pattern


@kernel
def factor_once(family, work):
    """Factor B; return the status."""
    k, m = work.counts[0], work.counts[1]
    if family.touching.size == 0:
        return cholesky(work.bent, k, work.chol)
    for i in range(k):
        for j in range(i + 1):
            work.chol[i, j] = 0.0
    pattern = touching_blocks(family, work)
    return block_cholesky(work.bent[:k, :k], work.offsets[: m + 1], pattern, work.chol[:k, :k])


@kernel
def bend_all(family, work):
    """Make B at the present coefficients."""
    for a in range(work.counts[1]):
        bend_rows(family, work, a)


@kernel
def factor_bent(family, work):
    """Make B and its factor at the present coefficients; a singular B gets a small ridge."""
    k, ridge = work.counts[0], 0.0
    bend_all(family, work)
    status = factor_once(family, work)
    for attempt in range(MAX_RIDGES):
        if status == OK:
            break
        largest = 0.0
        for i in range(k):
            largest = max(largest, work.bent[i, i])
        more = FIRST_RIDGE * RIDGE_GROWTH**attempt * largest
        for i in range(k):
            work.bent[i, i] += more - ridge
        ridge = more
        status = factor_once(family, work)
    work.counts[3] += 1
    return status


@kernel
def solve_bent(family, work, v):
    """Solve B x = v in place over the working columns."""
    k, m = work.counts[0], work.counts[1]
    if family.touching.size == 0:
        solve_factored(work.chol, k, v)
    else:
        block_solve(work.chol[:k, :k], work.offsets[: m + 1], touching_blocks(family, work), v)


@kernel
def log_det_bent(family, work):
    """Return ln det M = ln det B - ln det J on the columns that move; no group may be zero."""
    total = log_det_factored(work.chol, work.counts[0])
    for a in range(work.counts[1]):
        log_root, log_step = math.log(root_share(family, work, a)), 0.0
        if family.l1 > 0.0:
            log_step = math.log(family.steps[work.groups[a]])
        total += 2.0 * log_root
        for i in range(work.offsets[a], work.offsets[a + 1]):
            total -= 2.0 * log_root if is_kept(family.l1, work.units[i]) else log_step
    return total


@kernel
def bent_trace(family, work):
    """Return tr(L (I - J) B^-1), what the curvature takes from the degrees of freedom."""
    k, total = work.counts[0], 0.0
    for a in range(work.counts[1]):
        share = root_share(family, work, a) ** 2
        bend = family.steps[work.groups[a]] * (1.0 - share)
        first, last = work.offsets[a], work.offsets[a + 1]
        if last - first == 1:
            continue
        for column in range(first, last):  # |L^-1 (I - uu') e|^2 over the unit vectors e
            if not is_kept(family.l1, work.units[column]):
                total += 1.0
                continue
            for i in range(k):
                work.step[i] = 0.0
            for i in range(first, last):
                work.step[i] = -work.units[i] * work.units[column]
            work.step[column] += 1.0
            solve_lower(work.chol, k, work.step)
            for i in range(first, k):
                total += bend * work.step[i] * work.step[i]
    return total
