# mypy: allow-untyped-defs, allow-untyped-calls
"""Exact motion of the Lasso and Elastic Net estimate along a line in (y, lam), event by event.

Objective: half the squared residual + lam * |beta|_1 + half lam2 * |beta|^2 (no 1/n), lam2 fixed.

While the cell (A, s) stays, beta_A = (H + lam2 I)^-1 (X_A'y - lam s) and the correlations
c = X'(y - X beta) are linear in the length t walked. An event ends that: a coefficient meets zero
and its column leaves, or a correlation meets +-lam and its column enters. `families.homotopy_y`
walks in y, `families.homotopy_lam` in lam; the steps both take are here.

Several columns can be at a wall at once (ties). Which of them are active just behind it is a linear
complementarity problem in their rates, solved by switching the violator of least index until none
is left (Murty's rule: it cannot cycle when the columns are independent). A tied column that depends
on the active ones stays tied for as long as they are active, so it is put to sleep: the
fit does not need it. It wakes when an active column leaves.

Slow twin: `families.active_set`, which solves at one point from any start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_set import REFACTOR_EVERY, RELATIVE_SLACK, solve_face
from shtarkov.families.active_work import (
    append,
    assign,
    correlate,
    drop,
    refactor,
    subtract_rows,
    update_correlations,
    update_rhs,
)
from shtarkov.families.pricing import ROUNDING_SLACK
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.types import Floats, Ints, Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
CAPACITY = int(Status.CAPACITY)
SINGULAR_GRAM = int(Status.SINGULAR_GRAM)

# Events between two recomputations of coefficients and correlations from the factor.
REFRESH_EVERY = 8
# A correlation that nears its wall more slowly than this share of the fastest rate is at rest.
RATE_FLOOR = 1e-11
# Coefficients below this share of the largest are at their wall.
COEF_TIE = 1e-12
# Switches at one tie, and events on one line, after which the input is not a finite problem.
MAX_SWITCHES = 500
EVENTS_PER_COLUMN = 200


class Walk(NamedTuple):
    """The direction of a walk and how correlations move along it, per unit of length.

    Attributes
    ----------
    y_slope : (n,) how y moves; empty when it rests
    z_slope : (D,) X'y_slope
    corr_slope : (D,) how the correlations move
    fit_slope : (n,) scratch
    asleep : (D,) 1 for columns at their wall that depend on the active ones
    n_events : (1,) events since the last refresh
    """

    y_slope: Floats
    z_slope: Floats
    corr_slope: Floats
    fit_slope: Floats
    asleep: Ints
    n_events: Ints


@kernel
def make_walk(n, n_features, moves_data):
    """Return a walk at rest."""
    return Walk(
        np.zeros(n if moves_data else 0),
        np.zeros(n_features),
        np.zeros(n_features),
        np.zeros(n),
        np.zeros(n_features, np.int64),
        np.zeros(1, np.int64),
    )


@kernel
def wall_slack(lam, largest_image):
    """Return how far rounding may put a correlation from its wall; largest_image is max |X'y|."""
    return RELATIVE_SLACK * lam + ROUNDING_SLACK * largest_image


@kernel
def max_events(work):
    """Return the number of events after which a walk is given up."""
    return EVENTS_PER_COLUMN * (work.position.size + work.residual.size) + 1000


@kernel
def set_slopes(Xt, gram, lam_slope, walk, work):
    """Write the rates of the coefficients to `target` and those of the correlations."""
    k = work.counts[0]
    for i in range(k):
        work.target[i] = walk.z_slope[work.active[i]] - lam_slope * work.signs[i]
    solve_factored(work.chol, k, work.target)
    if gram.size > 0:
        assign(walk.z_slope, walk.corr_slope)
        subtract_rows(gram, work.active, work.target, k, walk.corr_slope)
        return
    for i in range(walk.fit_slope.size):
        walk.fit_slope[i] = 0.0
    subtract_rows(Xt, work.active, work.target, k, walk.fit_slope)
    correlate(Xt, walk.fit_slope, walk.corr_slope)
    for j in range(walk.corr_slope.size):
        walk.corr_slope[j] += walk.z_slope[j]


@kernel
def rate_floor(lam_slope, walk):
    """Return the rate towards a wall below which a correlation counts as at rest."""
    largest = 0.0
    for j in range(walk.z_slope.size):
        largest = max(largest, abs(walk.z_slope[j]))
    return RATE_FLOOR * (abs(lam_slope) + largest)


@kernel
def next_wall(lam, lam_slope, walk, work):
    """Return the length to the next event and its column; infinite and -1 when there is none."""
    step, column = np.inf, -1
    floor = rate_floor(lam_slope, walk)
    for j in range(work.corr.size):
        if work.position[j] >= 0 or walk.asleep[j] != 0:
            continue
        rate = walk.corr_slope[j] - lam_slope
        if rate > floor and lam - work.corr[j] < step * rate:
            step, column = max(lam - work.corr[j], 0.0) / rate, j
        rate = -walk.corr_slope[j] - lam_slope
        if rate > floor and lam + work.corr[j] < step * rate:
            step, column = max(lam + work.corr[j], 0.0) / rate, j
    for i in range(work.counts[0]):
        rate = -work.signs[i] * work.target[i]
        size = max(work.signs[i] * work.coef[i], 0.0)
        if rate > 0.0 and size < step * rate:
            step, column = size / rate, work.active[i]
    return step, column


@kernel
def advance(step, y, walk, work):
    """Move everything `step` along the walk, inside the cell."""
    for i in range(work.counts[0]):
        work.coef[i] += step * work.target[i]
    for j in range(work.corr.size):
        work.corr[j] += step * walk.corr_slope[j]
    if walk.y_slope.size == 0:
        return
    for i in range(y.size):
        y[i] += step * walk.y_slope[i]
    for j in range(work.z.size):
        work.z[j] += step * walk.z_slope[j]
    for i in range(work.counts[0]):
        work.rhs[i] += step * walk.z_slope[work.active[i]]


@kernel
def refresh(Xt, gram, lam, y, work):
    """Recompute the coefficients of the cell and the correlations: rounding does not add up."""
    if work.counts[1] > REFACTOR_EVERY:
        status = refactor(0, work)
        if status != OK:
            return status
    update_rhs(Xt, y, work)
    solve_face(lam, work)
    for i in range(work.counts[0]):
        work.coef[i] = work.target[i]
    update_correlations(Xt, gram, y, work)
    return OK


@kernel
def switch(Xt, gram, lam, lam2, y, column, walk, work):
    """Let a column at its wall leave or enter the active set."""
    place = work.position[column]
    if place >= 0:
        work.corr[column] = lam * work.signs[place]
        for j in range(walk.asleep.size):
            walk.asleep[j] = 0
        return drop(work, place)
    k = work.counts[0]
    sign = 1.0 if work.corr[column] > 0.0 else -1.0
    if lam2 == 0.0 and k >= work.residual.size:
        walk.asleep[column] = 1
        return OK
    if k == work.active.size:
        return CAPACITY
    status = append(Xt, gram, lam2, y, column, sign, work)
    if status == SINGULAR_GRAM:
        walk.asleep[column] = 1
        return OK
    return status


@kernel
def least_violator(lam, lam_slope, slack, walk, work):
    """Return the first column at a wall it is about to cross, or -1."""
    floor = rate_floor(lam_slope, walk)
    largest = 0.0
    for i in range(work.counts[0]):
        largest = max(largest, abs(work.coef[i]))
    for j in range(work.corr.size):
        place = work.position[j]
        if place >= 0:
            sign = work.signs[place]
            if sign * work.coef[place] <= COEF_TIE * largest and sign * work.target[place] < 0.0:
                return j
        elif walk.asleep[j] == 0 and abs(work.corr[j]) >= lam - slack:
            sign = 1.0 if work.corr[j] > 0.0 else -1.0
            if sign * walk.corr_slope[j] - lam_slope > floor:
                return j
    return -1


@kernel
def turn(Xt, gram, lam, lam_slope, lam2, y, slack, column, walk, work):
    """Switch `column` (-1: none), then whatever else is tied, and set the rates behind the wall."""
    for _ in range(MAX_SWITCHES):
        if column >= 0:
            status = switch(Xt, gram, lam, lam2, y, column, walk, work)
            if status != OK:
                return status
        set_slopes(Xt, gram, lam_slope, walk, work)
        column = least_violator(lam, lam_slope, slack, walk, work)
        if column < 0:
            return OK
    return NOT_CONVERGED


@kernel
def pass_event(Xt, gram, lam, lam_slope, lam2, y, slack, column, walk, work):
    """Turn at an event the walk has just reached, refreshing every so often."""
    walk.n_events[0] += 1
    if walk.n_events[0] >= REFRESH_EVERY:
        walk.n_events[0] = 0
        status = refresh(Xt, gram, lam, y, work)
        if status != OK:
            return status
    return turn(Xt, gram, lam, lam_slope, lam2, y, slack, column, walk, work)
