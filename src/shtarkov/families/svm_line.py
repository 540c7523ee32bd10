# mypy: allow-untyped-defs, allow-untyped-calls
"""Minimise the objective along a direction of the face, exactly, and move there.

Along w + t d the (smoothed) objective is convex in t: piecewise quadratic, or smooth for the
logistic loss, with a kink wherever a coefficient meets zero. Its derivative rises with t, so the
minimum is where it changes sign; when that happens at a kink the coefficient stops at zero and
leaves the active set.
"""

from __future__ import annotations

import numpy as np

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.families.label_family import FACTORED, STIFFNESS, K, drop_column
from shtarkov.families.svm_losses import HINGE, LOGISTIC, logistic_multiplier

# The derivative left at the end of a search, as a share of the one at its start. On a quadratic
# piece the full step leaves rounding only; the logistic loss needs no exact search.
EXACT_SHARE = 1e-6
SMOOTH_SHARE = 0.1
ROOT_SHARE = 1e-3
MAX_ROOT_STEPS = 80


@kernel
def loss_slope(family, t, y, work):
    """Return the derivative of the summed (smoothed) loss at t."""
    if family.loss == LOGISTIC:
        return logistic_slope(t, y, work.scores, work.shift)
    # Multiplier clip(centre + stiffness (1 - m), 0, cap): one loop without branches.
    stiffness, cap = 1.0, np.inf
    if family.loss == HINGE:
        stiffness, cap = work.values[STIFFNESS], 1.0
    return clipped_slope(t, stiffness, cap, y, work.scores, work.shift, work.centres)


@reduction_kernel
def logistic_slope(t, y, scores, shift):
    """Return the derivative of the summed logistic loss at t."""
    total = 0.0
    for i in range(y.size):
        change = y[i] * shift[i]
        total -= change * logistic_multiplier(y[i] * scores[i] + t * change)
    return total


@reduction_kernel
def clipped_slope(t, stiffness, cap, y, scores, shift, centres):
    """Return the derivative of a summed loss whose multiplier is linear between 0 and `cap`."""
    total = 0.0
    for i in range(y.size):
        change = y[i] * shift[i]
        margin = y[i] * scores[i] + t * change
        total -= change * min(cap, max(0.0, centres[i] + stiffness * (1.0 - margin)))
    return total


@kernel
def penalty_slope(family, t, work):
    """Return the derivative of the penalty at t, on the signs as they are held."""
    total = 0.0
    for a in range(work.counts[K]):
        if work.signs[a] != 0.0:
            moved = work.coef[a] + t * work.direction[a]
            total += (family.lam * work.signs[a] + family.ridge * moved) * work.direction[a]
    return total


@kernel
def slope(family, t, y, work):
    """Return the derivative of the objective at t."""
    return loss_slope(family, t, y, work) + penalty_slope(family, t, work)


@kernel
def next_wall(after, work):
    """Return where the next coefficient meets zero after `after`, and which; 2 and -1 if none."""
    nearest, which = 2.0, -1
    for a in range(work.counts[K]):
        if work.signs[a] * work.direction[a] < 0.0 and work.coef[a] != 0.0:
            t = -work.coef[a] / work.direction[a]
            if after <= t < nearest and work.signs[a] * work.coef[a] > 0.0:
                nearest, which = t, a
    return nearest, which


@kernel
def root(family, low, high, slope_low, slope_high, enough, y, work):
    """Return a zero of the rising derivative between `low` and `high` (Illinois false position)."""
    t = high
    side = 0
    for _ in range(MAX_ROOT_STEPS):
        t = (low * slope_high - high * slope_low) / (slope_high - slope_low)
        value = slope(family, t, y, work)
        if abs(value) <= enough:
            break
        if value > 0.0:
            high, slope_high = t, value
            if side == 1:
                slope_low *= 0.5
            side = 1
        else:
            low, slope_low = t, value
            if side == -1:
                slope_high *= 0.5
            side = -1
    return t


@kernel
def find_step(family, y, slope_start, work):
    """Return the step in (0, 1] that minimises the objective, and the coefficient it stops at.

    Coefficients passed on the way have their sign (and so their penalty) turned.
    """
    share = SMOOTH_SHARE if family.loss == LOGISTIC else EXACT_SHARE
    low, slope_low = 0.0, slope_start
    while True:
        wall, which = next_wall(low, work)
        high = min(wall, 1.0)
        slope_high = slope(family, high, y, work)
        if slope_high > -share * slope_start:
            enough = ROOT_SHARE * abs(slope_start)
            return root(family, low, high, slope_low, slope_high, enough, y, work), -1
        if wall > 1.0:
            return 1.0, -1
        jump = 2.0 * family.lam * abs(work.direction[which])
        if slope_high + jump >= 0.0:
            return wall, which
        work.signs[which] = -work.signs[which]
        low, slope_low = wall, slope_high + jump


@kernel
def move_along(family, y, slope_start, work):
    """Move coefficients and scores to the minimum along `direction`."""
    t, stopped = find_step(family, y, slope_start, work)
    for a in range(work.counts[K]):
        work.coef[a] += t * work.direction[a]
    for i in range(y.size):
        work.scores[i] += t * work.shift[i]
    if stopped >= 0:
        drop_column(stopped, work)
        work.counts[FACTORED] = 0
    return t
