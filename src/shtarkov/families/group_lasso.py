# mypy: allow-untyped-defs, allow-untyped-calls
"""The Group Lasso as a compiled family, and what is asked of it at one data vector.

Objective: half the squared residual + lam sum_g w_g |beta_g| (no 1/n), sigma = 1. Where group g is
active, X_g'r = lam w_g beta_g / |beta_g|; where it is not, |X_g'r| <= lam w_g. Columns are kept
group by group; `members` says which of the user's columns each one is. What the samplers ask is in
`families.group_moves`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import facts, protocol
from shtarkov.families.active_work import dot
from shtarkov.families.group_newton import bent_trace, factor_bent
from shtarkov.families.group_work import length
from shtarkov.types import Fit, Floats, Ints, Status

OK = int(Status.OK)


class GroupLassoFamily(NamedTuple):
    """A reduced design, its groups and one penalty.

    Attributes
    ----------
    Xt : (D, n) the columns of X as rows, group by group
    gram : (D, D) X'X, or (0, 0) when it is not held
    lam : weight of the norm
    starts : (G + 1,) group g has the rows starts[g] to starts[g + 1]
    members : (D,) the user's number of each column
    weights : (G,) weight of each group's length in the norm
    steps : (G,) largest eigenvalue of X_g'X_g
    touching : (G, G) whether columns of two groups are correlated, or (0, 0) where most are
    accuracy : largest violation of an optimality condition left by a solve, relative to lam w_g
    """

    Xt: Floats
    gram: Floats
    lam: float
    starts: Ints
    members: Ints
    weights: Floats
    steps: Floats
    touching: np.ndarray
    accuracy: float


@kernel
def norm_of(family, work):
    """Return sum_g w_g |beta_g|."""
    total = 0.0
    for a in range(work.counts[1]):
        total += family.weights[work.groups[a]] * work.norms[a]
    return total


@protocol.solve.register(GroupLassoFamily)
def _solve(family, y, start):
    protocol.image(family, y, start.z)
    work, status = start, protocol.relax(family, y, start)
    k = work.counts[0]
    coef, active = np.zeros(family.Xt.shape[0]), np.zeros(k, np.int64)
    for i in range(k):
        active[i] = family.members[work.columns[i]]
        coef[active[i]] = work.coef[i]
    penalty = family.lam * norm_of(family, work)
    df = 0.0
    if status == OK:
        factor_bent(family, work)
        df = k - bent_trace(family, work)
    return Fit(
        coef,
        active,
        work.units[:k].copy(),
        work.residual.copy(),
        0.5 * dot(work.residual, work.residual) + penalty,
        penalty,
        df,
        status,
    )


@kernel
def group_lengths(family, v):
    """Return the length of each group's part of a vector over the user's columns."""
    out = np.zeros(family.weights.size)
    for group in range(out.size):
        total = 0.0
        for j in range(family.starts[group], family.starts[group + 1]):
            total += v[family.members[j]] ** 2
        out[group] = math.sqrt(total)
    return out


@protocol.penalty_value.register(GroupLassoFamily)
def _penalty_value(family, coef):
    return family.lam * np.sum(family.weights * group_lengths(family, coef))


@protocol.penalty_curvature.register(GroupLassoFamily)
def _penalty_curvature(family, fit):
    k = fit.active.size
    group_of, out = np.zeros(family.members.size, np.int64), np.zeros((k, k))
    for group in range(family.weights.size):
        for j in range(family.starts[group], family.starts[group + 1]):
            group_of[family.members[j]] = group
    sizes = group_lengths(family, fit.coef)
    for i in range(k):
        group = group_of[fit.active[i]]
        bend = family.lam * family.weights[group] / sizes[group]
        for j in range(k):
            if group_of[fit.active[j]] == group:
                out[i, j] = -bend * fit.signs[i] * fit.signs[j]
        out[i, i] += bend
    return out


@protocol.log_likelihood.register(GroupLassoFamily)
def _log_likelihood(family, y, fit):
    return -0.5 * (np.sum(fit.residual * fit.residual) + y.size * math.log(2.0 * math.pi))


@kernel
def pull_of(family, y, coef):
    """Return X'(y - X coef) over the user's columns."""
    residual, pull = y.copy(), np.zeros(coef.size)
    for j in range(coef.size):
        residual -= coef[family.members[j]] * family.Xt[j]
    for j in range(coef.size):
        pull[family.members[j]] = dot(family.Xt[j], residual)
    return residual, pull


@protocol.kkt_residual.register(GroupLassoFamily)
def _kkt_residual(family, y, fit):
    _, pull = pull_of(family, y, fit.coef)
    sizes, worst = group_lengths(family, fit.coef), 0.0
    for group in range(sizes.size):
        limit, total = family.lam * family.weights[group], 0.0
        for j in range(family.starts[group], family.starts[group + 1]):
            column = family.members[j]
            wanted = limit * fit.coef[column] / sizes[group] if sizes[group] > 0.0 else 0.0
            total += (pull[column] - wanted) ** 2
        allowed = limit if sizes[group] == 0.0 else 0.0
        worst = max(worst, (math.sqrt(total) - allowed) / limit)
    return worst


@kernel
def duality_gap(family, y, coef):
    """Return the objective at `coef` less the dual objective at its scaled residual.

    The optimum lies between the two: a bound on the error that trusts no solver.
    """
    residual, pull = pull_of(family, y, coef)
    norm, product = np.sum(family.weights * group_lengths(family, coef)), dot(pull, coef)
    share = 1.0
    sizes = group_lengths(family, pull)
    for group in range(sizes.size):
        limit = family.lam * family.weights[group]
        if sizes[group] > limit:
            share = min(share, limit / sizes[group])
    square = dot(residual, residual)
    return 0.5 * square * (1.0 - share) ** 2 + family.lam * norm - share * product


@protocol.lam_max.register(GroupLassoFamily)
def _lam_max(family, y):
    correlations, largest = family.Xt @ y, 0.0
    for group in range(family.weights.size):
        size = length(correlations, family.starts[group], family.starts[group + 1])
        largest = max(largest, size / family.weights[group])
    return largest


@facts.facts_of.register
def _facts(family: GroupLassoFamily) -> facts.Facts:
    """Let the flow cross the radial directions: |x| / lam wide for weights of sqrt(size)."""
    n_features, n = family.Xt.shape
    squares = np.einsum("ij,ij->i", family.Xt, family.Xt)
    lengths = np.sqrt(np.add.reduceat(squares, family.starts[:-1]))
    width = float(np.median(lengths / family.weights)) / family.lam
    return facts.Facts(n, n_features, width, False, 2.0 * n_features * n)


@facts.relax_work.register
def _relax_work(family: GroupLassoFamily, n_active: float) -> float:
    n_features, n = family.Xt.shape
    correlating = n_features * (n_active + 4.0) if family.gram.size else n_features * n
    return correlating + n * (n_active + 4.0) + n_active**2 * (n_active + 16.0)
