# mypy: allow-untyped-defs, allow-untyped-calls
"""The estimate at one data vector: proximal steps, with a Newton step between them.

A proximal step settles the rank; a Newton step on the matrices of that rank then converges
quadratically, and the next proximal step brings the result back to a soft-thresholded matrix with a
certified duality gap (`nuclear_work`). A Newton step that raises the objective is thrown away and
a proximal step taken from the best point, which always lowers it. On a design whose singular values
are all equal the first step is exact. Slow twin: proximal steps alone, run very long (tests).
"""

from __future__ import annotations

from shtarkov._jit import kernel
from shtarkov.families.nuclear_tangent import add_tangent, core_gram, descent_rhs, solve_tangent
from shtarkov.families.nuclear_work import (
    GAP,
    NORM,
    OBJECTIVE,
    VIOLATION,
    copy_matrix,
    proximal_step,
)
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
# Relative duality gap; a tenth of what is promised. Where a small penalty on a long design puts it
# below rounding, a violation of the dual of so many units of rounding is all there is to reach.
GAP_TOLERANCE = 1e-11
ROUNDING_UNITS = 64.0 * 2.220446049250313e-16
MAX_STEPS = 2000
# An objective within this share of the last has not risen, but for rounding.
ROUNDING = 1e-13


@kernel
def newton_point(family, work):
    """Write the Newton step from the estimate into `trial`."""
    rank = work.counts[0]
    copy_matrix(work.coef, work.trial)
    if rank == 0:
        return
    core = core_gram(family, work, rank)
    tangent = solve_tangent(family, work, core, descent_rhs(family, work, rank))
    add_tangent(work, rank, tangent, work.trial)


@kernel
def is_solved(family, work):
    """Say whether the gap is closed, or the dual is violated by rounding alone."""
    if work.numbers[GAP] <= GAP_TOLERANCE * work.numbers[OBJECTIVE]:
        return True
    unit = ROUNDING_UNITS * family.scales[0] * family.scales[0] * work.numbers[NORM]
    return work.numbers[VIOLATION] <= unit


@kernel
def relax_nuclear(family, y, work):
    """Move `work` to the estimate at y, starting from the one it holds; return the status."""
    copy_matrix(work.coef, work.trial)
    best = work.coef.copy()
    least = 0.0
    for step in range(MAX_STEPS):
        status = proximal_step(family, y, work.trial, work)
        if status != OK:
            return status
        if step > 0 and work.numbers[OBJECTIVE] > least * (1.0 + ROUNDING):
            copy_matrix(best, work.trial)
            status = proximal_step(family, y, work.trial, work)
            if status != OK:
                return status
        work.counts[1] = step + 1
        if is_solved(family, work):
            return OK
        least = work.numbers[OBJECTIVE]
        copy_matrix(work.coef, best)
        newton_point(family, work)
    return NOT_CONVERGED
