# mypy: allow-untyped-defs, allow-untyped-calls
"""The hinge without a ridge at a vector of labels: a primal simplex method from where it was.

Flipping labels leaves the coefficients a vertex, of another objective. Margin rows whose label
flipped are released first; then, as long as there are any, margin rows whose multiplier has left
[0, 1] and columns whose correlation has passed lam, whichever has passed by more. All correlations
are looked at only when those of a short list are settled. Slow twin: linear programming (tests).
"""

from __future__ import annotations

from shtarkov._jit import kernel
from shtarkov.families.active_work import correlate, dot
from shtarkov.families.hinge_pivot import pivot_on_column, pivot_on_row
from shtarkov.families.hinge_vertex import (
    AFRESH_AFTER,
    renew_inverse,
    settle_on_margin,
    solve_multipliers,
    stand_at_vertex,
    start_vertex,
)
from shtarkov.families.label_family import (
    CHANGES,
    DUAL,
    FACTORED,
    PRIMAL,
    ROUNDS,
    SOLVES,
    SPREAD,
    K,
)
from shtarkov.families.svm_certificate import list_worst, write_dual, write_primal
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
CAPACITY = int(Status.CAPACITY)
ABOVE_LIMIT = -1
# Multipliers and, in units of lam, correlations may pass their bounds by this.
SLACK = 1e-11
GAP_TOLERANCE = 1e-9
MAX_PIVOTS = 20_000
# Columns looked at between two looks at all.
SHORT_LIST = 16


@kernel
def worst_row(y, work):
    """Return how far the worst multiplier of a margin row is outside [0, 1], and its place."""
    worst, place = SLACK, -1
    for p in range(work.counts[K]):
        row = work.vertex.rows[p]
        held = y[row] * work.signed[row]
        excess = max(-held, held - 1.0)
        if excess > worst:
            worst, place = excess, p
    return worst, place


@kernel
def release_flipped(family, y, work):
    """Release the margin rows whose label is not the one they are pinned with."""
    vertex = work.vertex
    p = 0
    while p < work.counts[K]:
        row = vertex.rows[p]
        if vertex.pins[p] == y[row]:
            p += 1
            continue
        rising = y[row] * work.signed[row] < 1.0
        status = pivot_on_row(family, y, p, rising, work)
        if status != OK:
            return status
        solve_multipliers(family, work)
        p = 0
    return OK


@kernel
def worst_column(family, n_listed, work):
    """Return how far, in units of lam, the worst listed column is over, it and its correlation."""
    worst, column, correlation = SLACK, -1, 0.0
    for e in range(n_listed):
        j = work.entering[e]
        if work.position[j] >= 0:
            continue
        pull = dot(family.Xt[j], work.signed)
        over = abs(pull) / family.lam - work.vertex.ease[j]
        if over > worst:
            worst, column, correlation = over, j, pull
    return worst, column, correlation


@kernel
def settle_listed(family, y, n_listed, work):
    """Pivot until all margin rows and listed columns keep their bounds; return the status."""
    while work.counts[SOLVES] < MAX_PIVOTS:
        excess, place = worst_row(y, work)
        over, column, correlation = worst_column(family, n_listed, work)
        if place < 0 and column < 0:
            return OK
        if over > excess:
            status = pivot_on_column(family, y, column, correlation, work)
        else:
            row = work.vertex.rows[place]
            status = pivot_on_row(family, y, place, y[row] * work.signed[row] < 0.0, work)
        if status != OK:
            return status
        solve_multipliers(family, work)
        work.counts[SOLVES] += 1
    return NOT_CONVERGED


@kernel
def improve_vertex(family, y, limit, work):
    """Go from the present vertex to the best; return the status, or ABOVE_LIMIT."""
    work.counts[SOLVES], work.counts[ROUNDS] = 0, 0
    stand_at_vertex(family, y, work)
    solve_multipliers(family, work)
    status = release_flipped(family, y, work)
    n_listed = 0
    while status == OK:
        pivots = work.counts[SOLVES]
        status = settle_listed(family, y, n_listed, work)
        if status != OK or (n_listed > 0 and work.counts[SOLVES] == pivots):
            return status
        work.counts[ROUNDS] += 1
        correlate(family.Xt, work.signed, work.corr)
        write_dual(family, y, work)
        if work.values[DUAL] > limit:
            return ABOVE_LIMIT
        n_listed = list_worst(family, family.lam * (1.0 - SPREAD), SHORT_LIST, work)
        if n_listed == 0:
            return OK
    return status


@kernel
def solve_from(family, y, limit, work):
    """Go to the best vertex and certify it; return the status, or ABOVE_LIMIT."""
    status = improve_vertex(family, y, limit, work)
    if status != OK:
        return status
    settle_on_margin(family, y, work)
    write_primal(family, y, work)
    write_dual(family, y, work)
    gap = work.values[PRIMAL] - work.values[DUAL]
    return OK if gap <= GAP_TOLERANCE * (1.0 + work.values[PRIMAL]) else NOT_CONVERGED


@kernel
def relax_hinge(family, y, limit, work):
    """Move `work` to the best vertex at the labels y; return the status, or ABOVE_LIMIT.

    Where rounding has spoilt the vertex, the search starts once more from w = 0.
    """
    is_warm = work.counts[FACTORED] == 1
    if is_warm and work.counts[CHANGES] > AFRESH_AFTER:
        is_warm = renew_inverse(family, work) == OK
    if is_warm:
        status = solve_from(family, y, limit, work)
        if status == OK or status == ABOVE_LIMIT or status == CAPACITY:
            return status
    start_vertex(family, y, work)
    return solve_from(family, y, limit, work)
