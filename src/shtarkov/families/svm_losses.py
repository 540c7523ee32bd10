# mypy: allow-untyped-defs, allow-untyped-calls
"""The losses of labels as functions of the margin m = y f, with their multipliers.

hinge max(0, 1 - m); squared hinge, half of its square; logistic ln(1 + exp(-m)). The multiplier is
minus the derivative in m; it lies in [0, 1], or in [0, inf) for the squared hinge.

The hinge has no curvature. With a ridge, its solver minimises the smoothed hinge
max over a in [0, 1] of a (1 - m) - (a - centre)^2 / (2 stiffness), whose multiplier is
clip(centre + stiffness (1 - m), 0, 1), and moves the centres to the multipliers (the proximal point
method on the dual, which ends at the hinge's own solution). With stiffness 1, centre 0 and no upper
end the same formula is the squared hinge: one piecewise quadratic serves both.
"""

from __future__ import annotations

import math

from shtarkov._jit import kernel

HINGE = 0
SQUARED_HINGE = 1
LOGISTIC = 2
LOSS_CODES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}


@kernel
def loss_value(loss, margin):
    """Return the loss at a margin."""
    if loss == LOGISTIC:
        if margin > 0.0:
            return math.log1p(math.exp(-margin))
        return math.log1p(math.exp(margin)) - margin
    slack = max(0.0, 1.0 - margin)
    return slack if loss == HINGE else 0.5 * slack * slack


@kernel
def logistic_multiplier(margin):
    """Return 1 / (1 + exp(margin)) without overflow."""
    if margin > 0.0:
        decayed = math.exp(-margin)
        return decayed / (1.0 + decayed)
    return 1.0 / (1.0 + math.exp(margin))


@kernel
def multiplier(loss, stiffness, margin, centre):
    """Return minus the derivative of the (smoothed) loss."""
    if loss == LOGISTIC:
        return logistic_multiplier(margin)
    if loss == SQUARED_HINGE:
        return max(0.0, 1.0 - margin)
    return min(1.0, max(0.0, centre + stiffness * (1.0 - margin)))


@kernel
def curvature(loss, stiffness, held):
    """Return the second derivative of the (smoothed) loss where its multiplier is `held`."""
    if loss == LOGISTIC:
        return held * (1.0 - held)
    if loss == SQUARED_HINGE:
        return 1.0 if held > 0.0 else 0.0
    return stiffness if 0.0 < held < 1.0 else 0.0


@kernel
def dual_value(loss, held):
    """Return minus the conjugate loss at minus a multiplier: its part of the dual objective."""
    if loss == LOGISTIC:
        total = 0.0
        if held > 0.0:
            total -= held * math.log(held)
        if held < 1.0:
            total -= (1.0 - held) * math.log1p(-held)
        return total
    return held if loss == HINGE else held - 0.5 * held * held


def multiplier_at_zero(loss: int) -> float:
    """Return the multiplier of a row whose score is zero."""
    return 0.5 if loss == LOGISTIC else 1.0
