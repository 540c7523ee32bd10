# mypy: allow-untyped-defs, allow-untyped-calls
"""The Group Lasso estimate at a moved data vector, warm-started, to rounding.

Objective: half the squared residual + lam sum_g w_g |beta_g| + lam l1 |beta|_1 (no 1/n). On the
working set, from coefficients beta with c = X'(y - X beta):

* Newton: step to beta + d, M d = c - lam w u - lam l1 s over the coefficients other than zero
  (`families.group_newton`), then for each group the proximal step from there, v = beta + d +
  (c - H d) / L, its entries shrunk by lam l1 / L and the rest by t = lam w / L. This is Newton's
  method on the map v -> L (v - prox v) - X'(y - X prox v), whose solution is the estimate: groups
  become zero, or leave zero, where |v| passes t, and nothing grows without bound in between.
* Descent: a Newton step that does not lower the objective is shortened, and if that does not help
  taken back: proximal steps in one group after the other always lower it.

When the working set is settled all correlations are checked and violating groups let in. The
steps end when every optimality condition holds to `accuracy` relative to lam w_g (or to the
rounding of its terms), which bounds the relative duality gap by about as much
(`families.certificate` computes it).
Slow twin: block coordinate descent to the same gap (tests/unit/families/test_group_lasso.py).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import assign, correlate, dot, subtract_rows
from shtarkov.families.group_newton import apply_root, factor_bent, is_kept, solve_bent
from shtarkov.families.group_work import append_group, drop_zero_groups, excess, set_group
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
CAPACITY = int(Status.CAPACITY)

EPSILON = 2.220446049250313e-16
# Rounding of the correlations, relative to the largest.
ROUNDING = 64 * EPSILON
# Rounds of "settle the working set, let violators in".
MAX_ROUNDS = 1000
# Newton steps for one working set. Two to five are usual.
MAX_STEPS = 2000
# Below this violation the objective's fall drowns in rounding: the violation judges the step.
NEAR = 1e-5
# Shares of a Newton step are tried down to this one, each a quarter of the last: where columns are
# dependent the step is longer than the way by the inverse of the ridge.
SHORTEST = 1e-13
# Proximal sweeps where no share of a Newton step lowers the objective.
SWEEPS = 10


@kernel
def update_pull(work):
    """Write X_A'r = X_A'y - H coef over the working columns."""
    k = work.counts[0]
    for i in range(k):
        work.pull[i] = work.rhs[i] - dot(work.gram_active[i, :k], work.coef[:k])


@kernel
def worst_violation(family, work):
    """Return the largest violation in the working set, relative to lam w_g."""
    worst, soft = 0.0, family.lam * family.l1
    for a in range(work.counts[1]):
        limit = family.lam * family.weights[work.groups[a]]
        first, last = work.offsets[a], work.offsets[a + 1]
        if work.norms[a] == 0.0:
            worst = max(worst, excess(work.pull, first, last, soft) / limit - 1.0)
            continue
        total = 0.0
        for i in range(first, last):
            if is_kept(family.l1, work.units[i]):
                wanted = limit * work.units[i] + math.copysign(soft, work.units[i])
                total += (work.pull[i] - wanted) ** 2
            else:
                total += max(abs(work.pull[i]) - soft, 0.0) ** 2
        worst = max(worst, math.sqrt(total) / limit)
    return worst


@kernel
def penalty_of(family, work):
    """Return lam times the norm."""
    total = 0.0
    for a in range(work.counts[1]):
        total += family.lam * family.weights[work.groups[a]] * work.norms[a]
    if family.l1 > 0.0:
        for i in range(work.counts[0]):
            total += family.lam * family.l1 * abs(work.coef[i])
    return total


@kernel
def working_objective(family, work):
    """Return the objective less half |y|^2, from the coefficients and `pull`."""
    total = 0.0
    for i in range(work.counts[0]):
        total -= 0.5 * work.coef[i] * (work.rhs[i] + work.pull[i])
    return total + penalty_of(family, work)


@kernel
def rounding_floor(family, work):
    """Return the violation that rounding of X_A'y - H coef, nearly equal, can leave."""
    longest, fitted = 0.0, 0.0
    for a in range(work.counts[1]):
        root = math.sqrt(family.steps[work.groups[a]])
        longest = max(longest, root)
        fitted += root * work.norms[a]
    return EPSILON * longest * fitted / (family.lam * np.min(family.weights))


@kernel
def newton_direction(family, work):
    """Write M^-1 (pull - lam w u) to `direction`, and what it takes from the pull."""
    k = work.counts[0]
    status = factor_bent(family, work)
    if status != OK:
        return status
    for a in range(work.counts[1]):
        limit = family.lam * family.weights[work.groups[a]]
        for i in range(work.offsets[a], work.offsets[a + 1]):
            slope = limit * work.units[i]
            slope += math.copysign(family.lam * family.l1, work.units[i])
            work.direction[i] = work.pull[i] - slope
    apply_root(family, work, work.direction[:k])
    solve_bent(family, work, work.direction[:k])
    apply_root(family, work, work.direction[:k])
    for i in range(k):
        work.bent_pull[i] = dot(work.gram_active[i, :k], work.direction[:k])
    return OK


@kernel
def proximal_step(family, share, work):
    """Go a share of the direction from `kept`, whose pull is `pull`, and take proximal steps."""
    for a in range(work.counts[1]):
        group = work.groups[a]
        scale = 1.0 / family.steps[group]
        for i in range(work.offsets[a], work.offsets[a + 1]):
            pull = work.pull[i] - share * work.bent_pull[i]
            work.step[i] = work.kept[i] + share * work.direction[i] + scale * pull
        limit = family.lam * family.weights[group]
        set_group(work, a, work.step, limit * scale, family.lam * family.l1 * scale)


@kernel
def sweep(family, work):
    """Take a proximal step in each working group in turn: never uphill."""
    k = work.counts[0]
    for a in range(work.counts[1]):
        group = work.groups[a]
        scale = 1.0 / family.steps[group]
        for i in range(work.offsets[a], work.offsets[a + 1]):
            pull = work.rhs[i] - dot(work.gram_active[i, :k], work.coef[:k])
            work.step[i] = work.coef[i] + scale * pull
        limit = family.lam * family.weights[group]
        set_group(work, a, work.step, limit * scale, family.lam * family.l1 * scale)


@kernel
def lower(family, half_y_sq, violation, value, work):
    """Move from the present point to a better one; gives (violation, objective).

    Newton's step is shortened until the objective falls; if none of its parts does, sweeps do.
    """
    k = work.counts[0]
    for i in range(k):
        work.kept[i] = work.coef[i]
    shortest = SHORTEST if newton_direction(family, work) == OK else 2.0
    pull, share = work.pull[:k].copy(), 1.0
    while share >= shortest:
        proximal_step(family, share, work)
        update_pull(work)
        now, reached = worst_violation(family, work), working_objective(family, work)
        # The penalty cannot exceed the objective: where it does, rounding made a fall of a rise.
        is_sound = penalty_of(family, work) <= 1.001 * (reached + half_y_sq)
        if is_sound and (reached < value or (violation < NEAR and now < 0.5 * violation)):
            return now, reached
        assign(pull, work.pull[:k])
        share *= 0.25
    for a in range(work.counts[1]):
        set_group(work, a, work.kept, 0.0, 0.0)
    for _ in range(SWEEPS):
        sweep(family, work)
    update_pull(work)
    return worst_violation(family, work), working_objective(family, work)


@kernel
def settle(family, half_y_sq, slack, work):
    """Minimise over the working set; return the status."""
    update_pull(work)
    violation, value = worst_violation(family, work), working_objective(family, work)
    for _ in range(MAX_STEPS):
        if violation <= slack:
            return OK
        before = violation
        violation, value = lower(family, half_y_sq, violation, value, work)
        if violation > 0.5 * before and violation <= slack + rounding_floor(family, work):
            return OK
    return NOT_CONVERGED


@kernel
def find_violators(family, starts, threshold, work):
    """List groups outside the working set whose pull passes `threshold` * lam w; return how many.

    Also returns the largest pull found there in units of lam w.
    """
    count, largest, soft = 0, 0.0, family.lam * family.l1
    for group in range(work.place.size):
        if work.place[group] < 0:
            size = excess(work.corr, starts[group], starts[group + 1], soft)
            share = size / (family.lam * family.weights[group])
            largest = max(largest, share)
            if share > threshold:
                work.entering[count] = group
                count += 1
    return count, largest


@kernel
def admit(family, slack, y, work):
    """Let the worst violators in, by their first proximal step; gives (how many, status)."""
    threshold = 1.0 + slack
    count, largest = find_violators(family, family.starts, threshold, work)
    while count > 4 + work.counts[1]:  # a flood of groups would mostly leave again
        if largest - threshold < 1e-3 * largest:
            break
        threshold += 0.3 * (largest - threshold)
        count, largest = find_violators(family, family.starts, threshold, work)
    for e in range(count):
        group = work.entering[e]
        if not append_group(family.Xt, family.gram, family.starts, group, y, work):
            return count, (OK if e > 0 else CAPACITY)
        a = work.counts[1] - 1
        scale = 1.0 / family.steps[group]
        for i in range(work.offsets[a], work.offsets[a + 1]):
            work.step[i] = scale * work.corr[work.columns[i]]
        limit = family.lam * family.weights[group]
        set_group(work, a, work.step, limit * scale, family.lam * family.l1 * scale)
    return count, OK


@kernel
def correlations(family, y, work):
    """Write the residual and all correlations."""
    k = work.counts[0]
    assign(y, work.residual)
    subtract_rows(family.Xt, work.columns, work.coef, k, work.residual)
    if family.gram.size > 0:
        assign(work.z, work.corr)
        subtract_rows(family.gram, work.columns, work.coef, k, work.corr)
    else:
        correlate(family.Xt, work.residual, work.corr)


@kernel
def relax_groups(family, y, work):
    """Move `work` to the solution at y; z, if kept, must hold X'y. CAPACITY: more room."""
    largest = 0.0
    for i in range(work.counts[0]):
        column = work.columns[i]
        work.rhs[i] = work.z[column] if work.z.size > 0 else dot(family.Xt[column], y)
        largest = max(largest, abs(work.rhs[i]))
    if work.z.size > 0:
        largest = np.max(np.abs(work.z))
    lowest, half_y_sq = family.lam * np.min(family.weights), 0.5 * dot(y, y)
    work.counts[3] = 0
    for rounds in range(MAX_ROUNDS):
        slack = family.accuracy + ROUNDING * largest / lowest
        status = settle(family, half_y_sq, slack, work)
        if status != OK:
            return status
        drop_zero_groups(work)
        correlations(family, y, work)
        entered, status = admit(family, slack, y, work)
        if status != OK:
            return status
        if entered == 0:
            work.counts[2] = rounds + 1
            return OK
        if work.z.size == 0:
            for i in range(work.counts[0]):
                largest = max(largest, abs(work.rhs[i]))
    return NOT_CONVERGED
