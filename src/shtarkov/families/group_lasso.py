# mypy: allow-untyped-defs, allow-untyped-calls
"""The Group Lasso as a compiled family, and what is asked of it at one data vector.

Objective: half the squared residual + lam sum_g w_g |beta_g| (no 1/n), sigma = 1. Where group g is
active, X_g'r = lam w_g beta_g / |beta_g|; where it is not, |X_g'r| <= lam w_g. The sparse Group
Lasso adds lam l1 |beta|_1: the conditions then hold for X_g'r shrunk towards zero by lam l1, entry
by entry, and single coefficients of an active group may be zero. Columns are kept group by group;
`members` says which of the user's columns each one is. What the samplers ask is in
`families.group_moves`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import facts, protocol
from shtarkov.families.active_work import dot
from shtarkov.families.group_newton import bent_trace, factor_bent, is_kept
from shtarkov.families.group_work import excess
from shtarkov.types import Fit, Floats, Ints, Status

OK = int(Status.OK)
# The largest useful penalty of a sparse group is found to this share of itself.
LAM_TOLERANCE = 1e-15


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
    l1 : weight of the absolute values in the norm
    steps : (G,) largest eigenvalue of X_g'X_g
    reach : length of a group's columns over its weight: under a weight tau the data reach about
        reach / tau along the lengths of the groups
    touching : (G, G) whether columns of two groups are correlated, or (0, 0) where most are
    accuracy : largest violation of an optimality condition left by a solve, relative to lam w_g
    """

    Xt: Floats
    gram: Floats
    lam: float
    starts: Ints
    members: Ints
    weights: Floats
    l1: float
    steps: Floats
    reach: float
    touching: np.ndarray
    accuracy: float


@kernel
def norm_of(family, work):
    """Return sum_g w_g |beta_g| + l1 |beta|_1."""
    total = 0.0
    for a in range(work.counts[1]):
        total += family.weights[work.groups[a]] * work.norms[a]
    if family.l1 > 0.0:
        for i in range(work.counts[0]):
            total += family.l1 * abs(work.coef[i])
    return total


@kernel
def kept_places(family, work):
    """Return the places of the coefficients other than zero."""
    places, count = np.empty(work.counts[0], np.int64), 0
    for i in range(work.counts[0]):
        if is_kept(family.l1, work.units[i]):
            places[count] = i
            count += 1
    return places[:count]


@protocol.solve.register(GroupLassoFamily)
def _solve(family, y, start):
    protocol.image(family, y, start.z)
    work, status = start, protocol.relax(family, y, start)
    places = kept_places(family, work)
    k = places.size
    coef, active, signs = np.zeros(family.Xt.shape[0]), np.zeros(k, np.int64), np.zeros(k)
    for i in range(k):
        active[i] = family.members[work.columns[places[i]]]
        coef[active[i]] = work.coef[places[i]]
        signs[i] = work.units[places[i]]
    penalty = family.lam * norm_of(family, work)
    df = 0.0
    if status == OK:
        factor_bent(family, work)
        df = work.counts[0] - bent_trace(family, work)
    return Fit(
        coef,
        active,
        signs,
        work.residual.copy(),
        0.5 * dot(work.residual, work.residual) + penalty,
        penalty,
        df,
        status,
    )


@kernel
def group_lengths(family, v, soft):
    """Return each group's length of a vector over the user's columns, entries shrunk by `soft`."""
    arranged = np.empty(v.size)
    for j in range(v.size):
        arranged[j] = v[family.members[j]]
    out = np.zeros(family.weights.size)
    for group in range(out.size):
        out[group] = excess(arranged, family.starts[group], family.starts[group + 1], soft)
    return out


@protocol.penalty_value.register(GroupLassoFamily)
def _penalty_value(family, coef):
    lengths = family.weights * group_lengths(family, coef, 0.0)
    return family.lam * (np.sum(lengths) + family.l1 * np.sum(np.abs(coef)))


@protocol.penalty_curvature.register(GroupLassoFamily)
def _penalty_curvature(family, fit):
    k = fit.active.size
    group_of, out = np.zeros(family.members.size, np.int64), np.zeros((k, k))
    for group in range(family.weights.size):
        for j in range(family.starts[group], family.starts[group + 1]):
            group_of[family.members[j]] = group
    sizes = group_lengths(family, fit.coef, 0.0)
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
    soft, worst = family.lam * family.l1, 0.0
    sizes, excesses = group_lengths(family, fit.coef, 0.0), group_lengths(family, pull, soft)
    for group in range(sizes.size):
        limit, total = family.lam * family.weights[group], 0.0
        if sizes[group] == 0.0:
            worst = max(worst, excesses[group] / limit - 1.0)
            continue
        for j in range(family.starts[group], family.starts[group + 1]):
            value, c = fit.coef[family.members[j]], pull[family.members[j]]
            if family.l1 > 0.0 and value == 0.0:
                total += max(abs(c) - soft, 0.0) ** 2
            else:
                wanted = limit * value / sizes[group] + math.copysign(soft, value)
                total += (c - wanted) ** 2
        worst = max(worst, math.sqrt(total) / limit)
    return worst


@kernel
def least_penalty(family, group, pull):
    """Return the least penalty at which a pull, group by group, leaves this group at zero."""
    first, last, weight = family.starts[group], family.starts[group + 1], family.weights[group]
    high = excess(pull, first, last, 0.0) / weight
    if family.l1 == 0.0:
        return high
    low = high / (1.0 + family.l1 * math.sqrt(last - first) / weight)
    while high - low > LAM_TOLERANCE * high:
        middle = 0.5 * (low + high)
        if excess(pull, first, last, middle * family.l1) > middle * weight:
            low = middle
        else:
            high = middle
    return high


@kernel
def largest_penalty(family, pull):
    """Return the least penalty at which a pull, group by group, leaves every group at zero."""
    largest = 0.0
    for group in range(family.weights.size):
        largest = max(largest, least_penalty(family, group, pull))
    return largest


@protocol.lam_max.register(GroupLassoFamily)
def _lam_max(family, y):
    return largest_penalty(family, family.Xt @ y)


@facts.facts_of.register
def _facts(family: GroupLassoFamily) -> facts.Facts:
    """Let the flow cross the lengths of groups where the fibre move does not draw them."""
    n_features, n = family.Xt.shape
    width = family.reach / family.lam if family.touching.size > 0 else 1.0
    return facts.Facts(n, n_features, width, False, 2.0 * n_features * n)


@facts.relax_work.register
def _relax_work(family: GroupLassoFamily, n_active: float) -> float:
    n_features, n = family.Xt.shape
    correlating = n_features * (n_active + 4.0) if family.gram.size else n_features * n
    return correlating + n * (n_active + 4.0) + n_active**2 * (n_active + 16.0)
