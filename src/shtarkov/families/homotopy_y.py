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
from shtarkov.families.active_work import assign, clear, correlate, update_residual
from shtarkov.families.homotopy import (
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


@kernel
def finish(Xt, gram, lam, y, walk, work):
    """Put image, coefficients, correlations and residual at the end of the walk, exactly."""
    for j in range(work.z.size):
        work.z[j] = walk.z_slope[j]
    status = refresh(Xt, gram, lam, y, work)
    update_residual(Xt, y, work)
    return status


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
            assign(image, walk.z_slope)
            return finish(Xt, gram, lam, y_to, walk, work), n_events
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
