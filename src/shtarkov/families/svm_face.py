# mypy: allow-untyped-defs, allow-untyped-calls
"""Minimise the objective over the active columns with their signs: Newton steps on a face.

On fixed support rows S and active columns A the objective is a quadratic with matrix
X_SA'X_SA + ridge I (the Schur complement of the paper's V_SVM), so a Newton step solves a k x k
system whatever N and D are; with a ridge and fewer support rows than columns the other side, M11,
is smaller and is used (`svm_dual_side`). The line search is exact, so the objective falls from step
to step and, as there are finitely many pieces, the steps end at the minimum.
"""

from __future__ import annotations

import math

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.families.active_work import dot, subtract_rows
from shtarkov.families.label_family import (
    CHANGES,
    FACTORED,
    SOLVES,
    STIFFNESS,
    K,
    drop_column,
)
from shtarkov.families.svm_dual_side import count_support, dual_direction
from shtarkov.families.svm_line import move_along, penalty_slope
from shtarkov.families.svm_losses import HINGE, LOGISTIC, SQUARED_HINGE, curvature, multiplier
from shtarkov.linalg.cholesky import cholesky, solve_factored
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
NOT_FINITE = int(Status.NOT_FINITE)

# Largest gradient left on a face.
FACE_TOLERANCE = 1e-10
MAX_STEPS = 500
# Steps of a call that may drop several columns at once without a line search: after a flip that
# settles the signs in two or three solves where stopping at each wall takes one solve a column.
FREE_STEPS = 4
# Added to the diagonal, relative to a column's squared length: dependent columns then move along
# their null space until one meets zero, and well-conditioned ones lose one digit in ten.
PROXIMAL = 1e-10
# Row changes of `gram` before it is made afresh: each leaves about one ulp.
AFRESH_AFTER = 200
# No score moves further than this in one step: a flat direction would otherwise be followed to
# where nothing is known of the margins.
LONGEST_SHIFT = 100.0


@kernel
def update_multipliers(family, y, work):
    """Write the multipliers at the present scores, and their products with the labels."""
    stiffness = work.values[STIFFNESS]
    for i in range(y.size):
        margin = y[i] * work.scores[i]
        held = multiplier(family.loss, stiffness, margin, work.centres[i])
        work.multipliers[i] = held
        work.signed[i] = y[i] * held


@kernel
def update_gradient(family, work):
    """Write the gradient of the active coefficients; return its largest size.

    In units of lam, or for the intercept of the number of rows.
    """
    worst = 0.0
    for a in range(work.counts[K]):
        pull, unit = -dot(family.Xt[work.active[a]], work.signed), float(work.scores.size)
        if work.signs[a] != 0.0:
            pull += family.lam * work.signs[a] + family.ridge * work.coef[a]
            unit = family.lam
        work.gradient[a] = pull
        worst = max(worst, abs(pull) / unit)
    return worst


@kernel
def update_scores(family, work):
    """Write the scores afresh from the coefficients."""
    for i in range(work.scores.size):
        work.scores[i] = 0.0
    k = work.counts[K]
    for a in range(k):
        work.direction[a] = -work.coef[a]
    subtract_rows(family.Xt, work.active, work.direction, k, work.scores)


@reduction_kernel
def weighted_dot(a, b, weights):
    """Return sum_i weights_i a_i b_i."""
    total = 0.0
    for i in range(a.size):
        total += weights[i] * a[i] * b[i]
    return total


@kernel
def gram_afresh(family, work):
    """Write X_A' diag(weights) X_A."""
    for a in range(work.counts[K]):
        column = family.Xt[work.active[a]]
        for i in range(column.size):
            work.scratch[i] = work.weights[i] * column[i]
        for b in range(a + 1):
            work.gram[a, b] = dot(family.Xt[work.active[b]], work.scratch)
    work.counts[CHANGES] = 0


@kernel
def change_row_weight(family, row, change, work):
    """Add change * x x' of one row to `gram`."""
    k = work.counts[K]
    for a in range(k):
        work.direction[a] = family.Xt[work.active[a], row]
    for a in range(k):
        factor = change * work.direction[a]
        target = work.gram[a]
        for b in range(a + 1):
            target[b] += factor * work.direction[b]


@kernel
def update_gram(family, work):
    """Bring `gram` to the present curvatures: row by row while few changed, else afresh."""
    stiffness, n = work.values[STIFFNESS], work.scores.size
    changed = 0
    for i in range(n):
        work.shift[i] = curvature(family.loss, stiffness, work.multipliers[i])
        if work.shift[i] != work.weights[i]:
            changed += 1
    if changed == 0:
        return
    work.counts[FACTORED] = 0
    work.counts[CHANGES] += changed
    few = 8 * changed < n and work.counts[CHANGES] < AFRESH_AFTER
    for i in range(n):
        if work.shift[i] != work.weights[i]:
            if few:
                change_row_weight(family, i, work.shift[i] - work.weights[i], work)
            work.weights[i] = work.shift[i]
    if not few:
        gram_afresh(family, work)


@kernel
def mean_curvature(family, work):
    """Return the curvature of a row on the loss's steep part: the scale of the proximal term."""
    if family.loss == LOGISTIC:
        return 0.25
    return 1.0 if family.loss == SQUARED_HINGE else work.values[STIFFNESS]


@kernel
def factor_gram(family, work):
    """Factor gram + ridge I + the proximal term."""
    k = work.counts[K]
    scale = PROXIMAL * mean_curvature(family, work)
    for a in range(k):
        for b in range(a):
            work.chol[a, b] = work.gram[a, b]
        ridge = family.ridge if work.signs[a] != 0.0 else 0.0
        added = ridge + scale * family.lengths_sq[work.active[a]]
        work.chol[a, a] = work.gram[a, a] + added
    status = cholesky(work.chol, k, work.chol)
    work.counts[FACTORED] = 1 if status == OK else 0
    return status


@kernel
def drop_misdirected(work):
    """Drop columns at zero that would move against their sign; return whether there were any."""
    found = False
    for a in range(work.counts[K] - 1, -1, -1):
        if work.coef[a] == 0.0 and work.signs[a] * work.direction[a] < 0.0:
            drop_column(a, work)
            found = True
    return found


@kernel
def newton_direction(family, work):
    """Write the Newton direction of the face, from whichever side of V_SVM is smaller."""
    k = work.counts[K]
    while True:
        if family.ridge > 0.0 and family.n_free == 0 and count_support(work) < k:
            status = dual_direction(family, work)
        else:
            status = OK if work.counts[FACTORED] == 1 else factor_gram(family, work)
            for a in range(k):
                work.direction[a] = -work.gradient[a]
            solve_factored(work.chol, k, work.direction)
        if status != OK or not drop_misdirected(work):
            return status
        k = work.counts[K]


@kernel
def write_shift(family, work):
    """Write the change of the scores per unit step; shorten the direction if it is extreme."""
    k = work.counts[K]
    for i in range(work.shift.size):
        work.shift[i] = 0.0
    subtract_rows(family.Xt, work.active, work.direction, k, work.shift)
    largest = 0.0
    for i in range(work.shift.size):
        largest = max(largest, abs(work.shift[i]))
    factor = 1.0 if largest <= LONGEST_SHIFT else LONGEST_SHIFT / largest
    for i in range(work.shift.size):
        work.shift[i] *= -factor
    for a in range(k):
        work.direction[a] *= factor
    return math.isfinite(largest)


@kernel
def stop_at_zero(work):
    """Turn the direction of coefficients that would change sign to zero; return whether any did."""
    found = False
    for a in range(work.counts[K]):
        if work.signs[a] * (work.coef[a] + work.direction[a]) < 0.0:
            work.direction[a] = -work.coef[a]
            found = True
    return found


@kernel
def step_and_drop(work):
    """Take the whole step and drop what it brought to zero, uphill or not."""
    for i in range(work.scores.size):
        work.scores[i] += work.shift[i]
    for a in range(work.counts[K] - 1, -1, -1):
        work.coef[a] += work.direction[a]
        if work.signs[a] * work.coef[a] <= 0.0 and work.signs[a] != 0.0:
            drop_column(a, work)


@kernel
def settle_face(family, y, work):
    """Minimise the (smoothed) objective over the active columns; return the status."""
    for _ in range(MAX_STEPS):
        update_multipliers(family, y, work)
        if update_gradient(family, work) <= FACE_TOLERANCE:
            return OK
        update_gram(family, work)
        status = newton_direction(family, work)
        if status != OK:
            return status
        crossing = family.loss != HINGE and work.counts[SOLVES] < FREE_STEPS and stop_at_zero(work)
        if not write_shift(family, work):
            return NOT_FINITE
        work.counts[SOLVES] += 1
        if crossing:
            step_and_drop(work)
            continue
        slope_start = penalty_slope(family, 0.0, work) - dot_signed(work)
        if slope_start >= 0.0:  # rounding is all that is left
            return OK
        move_along(family, y, slope_start, work)
    return NOT_CONVERGED


@kernel
def dot_signed(work):
    """Return minus the derivative of the loss along the direction."""
    return dot(work.signed, work.shift)
