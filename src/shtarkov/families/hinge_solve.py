# mypy: allow-untyped-defs, allow-untyped-calls
"""The hinge without a ridge at a vector of labels: a primal simplex method from where it was.

Flipping labels leaves the coefficients a vertex, of another objective. Margin rows whose label
flipped are released first; then, as long as there are any, margin rows whose multiplier has left
[0, 1] and columns whose correlation has passed lam, by what their edges promise (slope over
length: steepest edge). All correlations are looked at only when those of a short list are settled.
Slow twin: linear programming (tests).
"""

from __future__ import annotations

from shtarkov._jit import bare_kernel, inlined_kernel, kernel
from shtarkov.families.active_work import correlate, correlate_some
from shtarkov.families.hinge_pivot import pivot_on_column, pivot_on_row
from shtarkov.families.hinge_vertex import (
    AFRESH_AFTER,
    read_multipliers,
    renew_inverse,
    settle_on_margin,
    solve_multipliers,
    stand_at_vertex,
    start_vertex,
)
from shtarkov.families.label_family import (
    ABOVE_LIMIT,
    CHANGES,
    DUAL,
    FACTORED,
    PRIMAL,
    ROUNDS,
    SHORT_LIST,
    SOLVES,
    K,
)
from shtarkov.families.svm_certificate import write_dual, write_primal
from shtarkov.linalg.square_inverse import column_squares, inverse_times
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
CAPACITY = int(Status.CAPACITY)
# Multipliers and, in units of lam, correlations may pass their bounds by this: more than rounding,
# less than ties are parted by.
SLACK = 1e-12
GAP_TOLERANCE = 1e-9
MAX_PIVOTS = 20_000


@bare_kernel
def worst_row(family, y, work):
    """Return the margin row whose release promises most, by its place, and what it promises.

    That is the squared slope of its edge over the edge's squared length, in scores.
    """
    vertex, k = work.vertex, work.counts[K]
    for a in range(k):
        work.gradient[a] = family.lengths_sq[work.active[a]]
    column_squares(vertex.inverse, work.gradient, k, vertex.image)
    best, place = 0.0, -1
    for p in range(k):
        held = y[vertex.rows[p]] * work.signed[vertex.rows[p]]
        excess = max(-held, held - 1.0)
        if excess > SLACK and excess * excess > best * vertex.image[p]:
            best, place = excess * excess / vertex.image[p], p
    return best, place


@bare_kernel
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


@bare_kernel
def list_columns(family, work):
    """List the columns whose correlation passes their own eased penalty, of many the worst.

    By what is passed, not by the correlation: tied columns differ by less than penalties are eased.
    """
    threshold = SLACK * family.lam
    while True:
        found, largest = 0, 0.0
        for j in range(work.corr.size - family.n_free):
            over = abs(work.corr[j]) - family.lam * work.vertex.ease[j]
            if over > threshold and work.position[j] < 0:
                work.entering[found] = j
                found += 1
                largest = max(largest, over)
        if found <= SHORT_LIST or largest - threshold < 1e-6 * largest:
            return min(found, SHORT_LIST)
        threshold += 0.3 * (largest - threshold)


@bare_kernel
def measure_edges(family, n_listed, work):
    """Write the squared lengths, in scores, of the edges on which listed columns would enter."""
    vertex, k = work.vertex, work.counts[K]
    for e in range(n_listed):
        column = work.entering[e]
        for p in range(k):
            vertex.image[p] = family.Xt[column, vertex.rows[p]]
        inverse_times(vertex.inverse, vertex.image, k, work.direction)
        length = family.lengths_sq[column]
        for a in range(k):
            length += family.lengths_sq[work.active[a]] * work.direction[a] * work.direction[a]
        vertex.lengths[e] = length


@bare_kernel
def worst_column(family, n_listed, work):
    """Return the listed column that promises most, its correlation and what it promises."""
    vertex = work.vertex
    correlate_some(family.Xt, work.entering, n_listed, work.signed, vertex.pulls)
    best, listed = 0.0, -1
    for e in range(n_listed):
        column = work.entering[e]
        over = abs(vertex.pulls[e]) - family.lam * vertex.ease[column]
        if over > SLACK * family.lam and work.position[column] < 0:
            promise = over * over / vertex.lengths[e]
            if promise > best:
                best, listed = promise, e
    return best, listed


@bare_kernel
def settle_listed(family, y, n_listed, work):
    """Pivot until all margin rows and listed columns keep their bounds; return the status."""
    while work.counts[SOLVES] < MAX_PIVOTS:
        of_row, place = worst_row(family, y, work)
        of_column, listed = worst_column(family, n_listed, work)
        if place < 0 and listed < 0:
            return OK
        if of_column > of_row:
            column, pull = work.entering[listed], work.vertex.pulls[listed]
            status = pivot_on_column(family, y, column, pull, work)
        else:
            row = work.vertex.rows[place]
            status = pivot_on_row(family, y, place, y[row] * work.signed[row] < 0.0, work)
        if status != OK:
            return status
        solve_multipliers(family, work)
        work.counts[SOLVES] += 1
    return NOT_CONVERGED


@inlined_kernel
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
        if status != OK:
            return status
        if n_listed > 0 and work.counts[SOLVES] == pivots:
            return OK
        work.counts[ROUNDS] += 1
        read_multipliers(y, work)
        correlate(family.Xt, work.signed, work.corr)
        write_dual(family, y, work)
        if work.values[DUAL] > limit:
            return ABOVE_LIMIT
        n_listed = list_columns(family, work)
        if n_listed == 0:
            return OK
        measure_edges(family, n_listed, work)
    return status


@kernel
def certify(family, y, work):
    """Write the solution of the present vertex; return whether its gap is closed, as a status."""
    settle_on_margin(family, work)
    write_primal(family, y, work)
    write_dual(family, y, work)
    gap = work.values[PRIMAL] - work.values[DUAL]
    return OK if gap <= GAP_TOLERANCE * (1.0 + work.values[PRIMAL]) else NOT_CONVERGED


@kernel
def relax_hinge(family, y, limit, work):
    """Move `work` to the best vertex at the labels y; return the status, or ABOVE_LIMIT.

    Where rounding has spoilt the vertex, the search starts once more from w = 0; and where no
    column is active, as the intercept is then open when the classes balance, and must not depend on
    where the search came from.
    """
    is_warm = work.counts[FACTORED] == 1
    if is_warm and work.counts[CHANGES] > AFRESH_AFTER:
        is_warm = renew_inverse(family, work) == OK
    while True:
        if not is_warm:
            start_vertex(family, y, work)
        status = improve_vertex(family, y, limit, work)
        if status == OK:
            status = certify(family, y, work)
        is_open = family.n_free == 1 and work.counts[K] == 1
        if not is_warm or (status in (OK, ABOVE_LIMIT, CAPACITY) and not is_open):
            return status
        is_warm = False
