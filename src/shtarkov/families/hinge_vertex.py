# mypy: allow-untyped-defs, allow-untyped-calls
"""Vertices of the hinge's linear programme: as many rows on the margin as columns are active.

At a vertex the margin rows S and active columns A determine everything: X_SA w = y_S gives the
coefficients, rows off the margin have multiplier 1 (inside) or 0 (outside), and those of the margin
rows make the active columns correlate to +-lam. The inverse of X_SA is held.

Ties (equal rows or columns, whole numbers) would leave the solution open, and a simplex method
circling. So margins are put at 1 + kinks and penalties at lam * ease, different for every row and
column by parts of `SPREAD`: the optimal vertex is then one, whatever vertex the search started at,
and so are the scores read off it, as the exact ratio of two labelings needs. At the end the margin
rows are put at 1 itself; what the spread costs stays in the duality gap.
"""

from __future__ import annotations

from shtarkov._jit import bare_kernel, reduction_kernel
from shtarkov.families.active_work import correlate_some, subtract_rows
from shtarkov.families.label_family import CHANGES, FACTORED, K
from shtarkov.linalg.square_inverse import inverse_times, invert, times_inverse
from shtarkov.types import Status

OK = int(Status.OK)
# Exchanges of rows and columns before the inverse is made afresh.
AFRESH_AFTER = 100


@bare_kernel
def clear_vertex(work):
    """Take all columns and margin rows away."""
    for a in range(work.counts[K]):
        work.position[work.active[a]] = -1
    for i in range(work.scores.size):
        work.vertex.place[i] = -1
    work.counts[K] = 0
    work.counts[CHANGES] = 0
    work.counts[FACTORED] = 1


@bare_kernel
def start_vertex(family, y, work):
    """Put `work` at w = 0, the intercept where a row of the larger class is on the margin."""
    clear_vertex(work)
    if family.n_free == 0:
        return
    n_positive = 0
    for i in range(y.size):
        n_positive += 1 if y[i] > 0.0 else 0
    sign = 1.0 if 2 * n_positive > y.size else -1.0
    row = 0
    while y[row] != sign:
        row += 1
    column = family.Xt.shape[0] - 1
    work.active[0], work.signs[0], work.position[column] = column, 0.0, 0
    pin_row(row, 0, sign, work)
    work.vertex.inverse[0, 0] = 1.0
    work.counts[K] = 1


@bare_kernel
def pin_row(row, place, label, work):
    """Note a row as the margin row of this place, on the margin of `label`."""
    work.vertex.rows[place] = row
    work.vertex.pins[place] = label
    work.vertex.place[row] = place


@bare_kernel
def renew_inverse(family, work):
    """Make the inverse of the margin rows' block afresh; return the status."""
    k, vertex = work.counts[K], work.vertex
    for a in range(k):
        for p in range(k):
            vertex.block[p, a] = family.Xt[work.active[a], vertex.rows[p]]
    work.counts[CHANGES] = 0
    return invert(vertex.block, k, vertex.inverse)


@bare_kernel
def write_scores(family, work):
    """Write the scores from the coefficients."""
    k = work.counts[K]
    for i in range(work.scores.size):
        work.scores[i] = 0.0
    for a in range(k):
        work.gradient[a] = -work.coef[a]
    subtract_rows(family.Xt, work.active, work.gradient, k, work.scores)


@reduction_kernel
def side_multipliers(y, scores, kinks, multipliers, signed):
    """Write the multipliers of rows off the margin (those on it are solved for afterwards)."""
    for i in range(y.size):
        held = 1.0 if y[i] * scores[i] < kinks[i] else 0.0
        multipliers[i] = held
        signed[i] = y[i] * held


@bare_kernel
def stand_at_vertex(family, y, work):
    """Write coefficients and scores of the vertex, and the multipliers of rows off the margin."""
    k, vertex = work.counts[K], work.vertex
    for p in range(k):
        vertex.image[p] = vertex.pins[p] * vertex.kinks[vertex.rows[p]]
    inverse_times(vertex.inverse, vertex.image, k, work.coef)
    write_scores(family, work)
    side_multipliers(y, work.scores, vertex.kinks, work.multipliers, work.signed)


@bare_kernel
def solve_multipliers(family, work):
    """Write the signed multipliers of the margin rows.

    They are corrected by what the active columns' correlations lack, so errors do not add up.
    """
    k, vertex = work.counts[K], work.vertex
    correlate_some(family.Xt, work.active, k, work.signed, work.gradient)
    for a in range(k):
        wanted = work.signs[a] * family.lam * vertex.ease[work.active[a]]
        work.gradient[a] = wanted - work.gradient[a]
    times_inverse(work.gradient, vertex.inverse, k, vertex.image)
    for p in range(k):
        work.signed[vertex.rows[p]] += vertex.image[p]


@bare_kernel
def read_multipliers(y, work):
    """Write the multipliers of the margin rows from the signed ones, free of rounding outside."""
    for p in range(work.counts[K]):
        row = work.vertex.rows[p]
        work.multipliers[row] = min(1.0, max(0.0, y[row] * work.signed[row]))
        work.signed[row] = y[row] * work.multipliers[row]


@bare_kernel
def settle_on_margin(family, work):
    """Put the margin rows at 1 itself, refined once."""
    k, vertex = work.counts[K], work.vertex
    for p in range(k):
        vertex.image[p] = vertex.pins[p]
    inverse_times(vertex.inverse, vertex.image, k, work.coef)
    write_scores(family, work)
    for p in range(k):
        vertex.image[p] = vertex.pins[p] - work.scores[vertex.rows[p]]
    inverse_times(vertex.inverse, vertex.image, k, work.gradient)
    for a in range(k):
        work.coef[a] += work.gradient[a]
    write_scores(family, work)
