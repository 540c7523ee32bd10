# mypy: allow-untyped-defs, allow-untyped-calls
"""The exact Lasso and Elastic Net estimate followed along a segment of data vectors.

Objective: half the squared residual + lam * |beta|_1 + half lam2 * |beta|^2 (no 1/n). At y = 0 the
estimate is zero, so walking from there to y solves from scratch, in as many events as columns enter
or leave on the way, with no iteration that has to converge: the fallback of
`families.active_set.relax`, and its slow twin.
"""

from __future__ import annotations

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import (
    assign,
    clear,
    correlate,
    drop_unkept,
    update_correlations,
    update_residual,
)
from shtarkov.families.homotopy import (
    COEF_TIE,
    NOT_CONVERGED,
    OK,
    advance,
    make_walk,
    max_events,
    next_wall,
    pass_event,
    refresh,
    turn,
    wall_slack,
)
from shtarkov.linalg.cholesky import solve_factored

# Corrections of the last coefficients: a cell near singularity needs more than one.
MAX_REFINEMENTS = 5
# A column asleep because it depends on the active ones to working precision may pass its wall by
# what working precision leaves open; by more than this share of lam it is an error.
LARGEST_VIOLATION = 1e-6


@kernel
def refine(Xt, gram, lam, lam2, y, work):
    """Correct the coefficients by what their correlations miss; returns how much that was."""
    largest = 0.0
    for i in range(work.counts[0]):
        missing = work.corr[work.active[i]] - lam * work.signs[i]
        work.target[i] = missing - lam2 * work.coef[i]
        largest = max(largest, abs(work.target[i]))
    solve_factored(work.chol, work.counts[0], work.target)
    for i in range(work.counts[0]):
        work.coef[i] += work.target[i]
    update_correlations(Xt, gram, y, work)
    return largest


@kernel
def drop_spent(work):
    """Mark and take out coefficients at zero, or past it by rounding; gives (how many, status)."""
    spent, largest = 0, 0.0
    for i in range(work.counts[0]):
        largest = max(largest, abs(work.coef[i]))
    for i in range(work.counts[0]):
        work.keep[i] = 1
        if work.signs[i] * work.coef[i] <= COEF_TIE * largest:
            work.keep[i] = 0
            spent += 1
    return spent, drop_unkept(work)


@kernel
def finish(Xt, gram, lam, lam2, y, slack, work):
    """Solve the last cell at the end of the walk to full accuracy, and check it."""
    while True:
        status = refresh(Xt, gram, lam, y, work)
        if status != OK:
            return status
        spent, status = drop_spent(work)
        if status != OK:
            return status
        if spent == 0:
            break
    for _ in range(MAX_REFINEMENTS):
        if refine(Xt, gram, lam, lam2, y, work) <= slack:
            break
    update_residual(Xt, y, work)
    for j in range(work.corr.size):
        if work.position[j] < 0 and abs(work.corr[j]) > lam * (1.0 + LARGEST_VIOLATION) + slack:
            return NOT_CONVERGED
    return OK


@kernel
def follow_data(Xt, gram, lam, lam2, y_from, y_to, work):
    """Move `work` from the solution at y_from to the one at y_to; gives (status, events).

    `work.z`, if kept, must hold the image of y_from. CAPACITY: give more room and start again.
    """
    n_features, n = Xt.shape
    walk = make_walk(n, n_features, True)
    y = y_from.copy()
    for i in range(n):
        walk.y_slope[i] = y_to[i] - y_from[i]
    correlate(Xt, walk.y_slope, walk.z_slope)
    image = np.zeros(n_features)
    correlate(Xt, y_to, image)
    slack = wall_slack(lam, np.max(np.abs(image)) + np.max(np.abs(walk.z_slope)))
    status, done, n_events = turn(Xt, gram, lam, 0.0, lam2, y, slack, -1, walk, work), 0.0, 0
    while status == OK:
        step, column = next_wall(lam, 0.0, walk, work)
        if column < 0 or done + step >= 1.0:
            if work.z.size > 0:
                assign(image, work.z)
            return finish(Xt, gram, lam, lam2, y_to, slack, work), n_events
        advance(step, y, walk, work)
        done, n_events = done + step, n_events + 1
        status = pass_event(Xt, gram, lam, 0.0, lam2, y, slack, column, walk, work)
        if n_events > max_events(work):
            return NOT_CONVERGED, n_events
    return status, n_events


@kernel
def solve_along_data(Xt, gram, lam, lam2, y, work):
    """Solve at y from scratch; gives (status, events). What `work` held before is forgotten."""
    clear(work)
    work.ridge[0] = lam2
    for j in range(work.corr.size):
        work.corr[j] = 0.0
    for j in range(work.z.size):
        work.z[j] = 0.0
    return follow_data(Xt, gram, lam, lam2, np.zeros(y.size), y, work)
