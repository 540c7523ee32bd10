# mypy: allow-untyped-defs, allow-untyped-calls
"""From one vertex of the hinge's linear programme to a better one.

A vertex is left along an edge: one margin row is released, or one column enters, while the other
margin rows stay where they are. Along the edge the objective is convex and piecewise linear, with a
kink wherever a row meets its margin or a coefficient meets zero; the walk passes kinks until the
next would lead uphill (the long step of Barrodale and Roberts, 1973). The row or column of that
kink takes the place of what was released.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import bare_kernel, reduction_kernel
from shtarkov.families.active_work import subtract_rows
from shtarkov.families.hinge_vertex import pin_row
from shtarkov.families.label_family import CHANGES, K
from shtarkov.linalg.square_inverse import (
    border,
    inverse_times,
    replace_column,
    replace_row,
    times_inverse,
    unborder,
)
from shtarkov.types import Status

OK = int(Status.OK)
CAPACITY = int(Status.CAPACITY)
NOT_FINITE = int(Status.NOT_FINITE)
# Changes of scores and coefficients below this share of the largest are rounding.
NEGLIGIBLE = 1e-9


@bare_kernel
def release_row(family, y, place, rising, work):
    """Turn along the edge on which a margin row's margin rises or falls; return the slope."""
    vertex, k = work.vertex, work.counts[K]
    row = vertex.rows[place]
    turn = y[row] if rising else -y[row]
    for a in range(k):
        work.direction[a] = -turn * vertex.inverse[a, place]
    # On the margin of its old label a flipped row is inside, on whichever side.
    inside = not rising or vertex.pins[place] != y[row]
    held = 1.0 if inside else 0.0
    excess = y[row] * work.signed[row] - held
    vertex.place[row] = -1
    work.multipliers[row] = held
    work.signed[row] = y[row] * held
    for i in range(work.shift.size):
        work.shift[i] = 0.0
    subtract_rows(family.Xt, work.active, work.direction, k, work.shift)
    for a in range(k):
        work.direction[a] = -work.direction[a]
    return excess if rising else -excess


@bare_kernel
def enter_column(family, column, sign, correlation, work):
    """Turn along the edge on which a column enters with this sign; return the slope."""
    vertex, k = work.vertex, work.counts[K]
    values = family.Xt[column]
    for p in range(k):
        vertex.image[p] = sign * values[vertex.rows[p]]
    for i in range(work.shift.size):
        work.shift[i] = sign * values[i]
    inverse_times(vertex.inverse, vertex.image, k, work.direction)
    subtract_rows(family.Xt, work.active, work.direction, k, work.shift)
    for a in range(k):
        work.direction[a] = -work.direction[a]
    return family.lam * vertex.ease[column] - sign * correlation


@reduction_kernel
def row_kinks(y, scores, shift, multipliers, kinks, breaks):
    """Write how far along the edge each row meets its margin, infinity for those that do not."""
    total = 0.0
    for i in range(y.size):
        total += shift[i] * shift[i]
    least = NEGLIGIBLE * math.sqrt(total / y.size)
    for i in range(y.size):
        rise = y[i] * shift[i]
        meets = (2.0 * multipliers[i] - 1.0) * rise > least
        room = (kinks[i] - y[i] * scores[i]) / (rise if meets else 1.0)
        breaks[i] = max(room, 0.0) if meets else np.inf


@reduction_kernel
def coef_kinks(coef, direction, signs, k, breaks):
    """Write how far along the edge each coefficient meets zero, infinity for those that do not."""
    for a in range(k):
        fall = -signs[a] * direction[a]
        room = signs[a] * coef[a] / (fall if fall > 0.0 else 1.0)
        breaks[a] = max(room, 0.0) if fall > 0.0 else np.inf


@bare_kernel
def list_kinks(y, work):
    """Write how far along the edge each row meets its margin and each coefficient zero."""
    vertex, n = work.vertex, y.size
    for p in range(work.counts[K]):
        row = vertex.rows[p]
        if vertex.place[row] >= 0:  # stays on its margin
            work.shift[row] = 0.0
    row_kinks(y, work.scores, work.shift, work.multipliers, vertex.kinks, vertex.breaks)
    coef_kinks(work.coef, work.direction, work.signs, work.counts[K], vertex.breaks[n:])


@bare_kernel
def nearest(values, size):
    """Return the place of the smallest of the first `size` values."""
    best = 0
    for i in range(1, size):
        if values[i] < values[best]:
            best = i
    return best


@bare_kernel
def walk_edge(family, y, slope, work):
    """Move along the edge until the next kink would lead uphill; return its place, -1 if none."""
    vertex, n, k = work.vertex, y.size, work.counts[K]
    list_kinks(y, work)
    while True:
        best = nearest(vertex.breaks, n + k)
        t = vertex.breaks[best]
        if t == np.inf:
            return -1
        if best < n:
            slope += abs(work.shift[best])
        else:
            column = work.active[best - n]
            slope += 2.0 * family.lam * vertex.ease[column] * abs(work.direction[best - n])
        if slope >= 0.0:
            break
        vertex.breaks[best] = np.inf
        if best < n:
            work.multipliers[best] = 1.0 - work.multipliers[best]
            work.signed[best] = y[best] * work.multipliers[best]
        else:
            work.signs[best - n] = -work.signs[best - n]
    for i in range(n):
        work.scores[i] += t * work.shift[i]
    for a in range(k):
        work.coef[a] += t * work.direction[a]
    vertex.walked[0] = t
    return best


@bare_kernel
def row_image(family, row, work):
    """Write the product of a row with the inverse."""
    k = work.counts[K]
    for a in range(k):
        work.gradient[a] = family.Xt[work.active[a], row]
    times_inverse(work.gradient, work.vertex.inverse, k, work.vertex.image)


@bare_kernel
def forget_column(place, work):
    """Take a column out of the list of active ones; the last takes its place."""
    last = work.counts[K] - 1
    work.position[work.active[place]] = -1
    if place != last:
        work.active[place] = work.active[last]
        work.signs[place] = work.signs[last]
        work.coef[place] = work.coef[last]
        work.position[work.active[place]] = place
    work.counts[K] = last


@bare_kernel
def note_column(column, sign, coef, place, work):
    """Write a column into a place of the list of active ones."""
    work.active[place] = column
    work.signs[place] = sign
    work.coef[place] = coef
    work.position[column] = place


@bare_kernel
def pivot_on_row(family, y, place, rising, work):
    """Release a margin row and go to the end of its edge; return the status."""
    vertex, k, n = work.vertex, work.counts[K], y.size
    slope = release_row(family, y, place, rising, work)
    stop = walk_edge(family, y, slope, work)
    if stop < 0:
        return NOT_FINITE
    work.counts[CHANGES] += 1
    if stop < n:
        row_image(family, stop, work)
        replace_row(vertex.inverse, k, place, vertex.image)
        pin_row(stop, place, y[stop], work)
        return OK
    unborder(vertex.inverse, k, place, stop - n)
    if place != k - 1:
        pin_row(vertex.rows[k - 1], place, vertex.pins[k - 1], work)
    forget_column(stop - n, work)
    return OK


@bare_kernel
def pivot_on_column(family, y, column, correlation, work):
    """Let a column enter and go to the end of its edge; return the status."""
    vertex, k, n = work.vertex, work.counts[K], y.size
    if k == work.active.size:
        return CAPACITY
    sign = 1.0 if correlation > 0.0 else -1.0
    slope = enter_column(family, column, sign, correlation, work)
    stop = walk_edge(family, y, slope, work)
    if stop < 0:
        return NOT_FINITE
    work.counts[CHANGES] += 1
    for a in range(k):  # the inverse times the column that enters
        work.direction[a] *= -sign
    coef = sign * vertex.walked[0]
    if stop >= n:
        place = stop - n
        replace_column(vertex.inverse, k, place, work.direction)
        work.position[work.active[place]] = -1
        note_column(column, sign, coef, place, work)
        return OK
    row_image(family, stop, work)
    border(vertex.inverse, k, vertex.image, work.direction, sign * work.shift[stop])
    note_column(column, sign, coef, k, work)
    pin_row(stop, k, y[stop], work)
    work.counts[K] = k + 1
    return OK
