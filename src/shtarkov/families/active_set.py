# mypy: allow-untyped-defs, allow-untyped-calls
"""The exact Lasso and Elastic Net estimate at a moved data vector, warm-started.

Objective: half the squared residual + lam * |beta|_1 + half lam2 * |beta|^2 (no 1/n).

The active set A and its signs s are kept from the last data vector. A round solves the face (A, s),
drops every coefficient of the wrong sign until none is left, checks all correlations and lets the
violators in. That settles in two to five rounds, but it can cycle; from round `WALLED_FROM` on the
descent walks from the last point and stops at each sign wall, where the blocking coefficient
leaves. Then the objective falls strictly from round to round, and as there are finitely many faces
the loop ends at the exact solution, whatever the start.

Correlations come from z = X'y and Gram rows (D k multiplications a round) when the Gram matrix is
held, and from the residual (N D) when it is not. Slow twin: `families.homotopy`.
"""

from __future__ import annotations

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import (
    append,
    dot,
    drop,
    drop_unkept,
    renew,
    update_residual,
    update_rhs,
)
from shtarkov.families.pricing import ROUNDING_SLACK, choose_entering, worst_violator
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
SINGULAR_GRAM = int(Status.SINGULAR_GRAM)
CAPACITY = int(Status.CAPACITY)

# Rounds of "solve the face, add violators". Two to five are usual; a start from scratch at a small
# penalty may take tens. Beyond this the problem is not finite or not scaled.
MAX_ROUNDS = 1000
# From this round on the descent is the monotone one, which cannot cycle.
WALLED_FROM = 6
# Rotations of the factor after which it is made afresh: each loses about one ulp.
REFACTOR_EVERY = 64
# A correlation violates when it passes lam by more than this share of lam plus rounding in z.
RELATIVE_SLACK = 1e-12


@kernel
def solve_face(lam, work):
    """Write the minimum of the face's quadratic, (H + lam2 I)^-1 (X_A'y - lam s), to `target`."""
    k = work.counts[0]
    for i in range(k):
        work.target[i] = work.rhs[i] - lam * work.signs[i]
    solve_factored(work.chol, k, work.target)


@kernel
def descend_in_blocks(lam, work):
    """Solve the face and drop all coefficients of the wrong sign, until the signs agree."""
    while True:
        solve_face(lam, work)
        wrong = 0
        for i in range(work.counts[0]):
            work.keep[i] = 1
            if work.signs[i] * work.target[i] <= 0.0:
                work.keep[i] = 0
                wrong += 1
        if wrong == 0:
            for i in range(work.counts[0]):
                work.coef[i] = work.target[i]
            return OK
        status = drop_unkept(work)
        if status != OK:
            return status


@kernel
def first_wall(work):
    """Return the step in [0, 1] to `target` at which a coefficient meets zero; which, or -1."""
    step, blocking = 1.0, -1
    for i in range(work.counts[0]):
        size = work.signs[i] * work.coef[i]
        goal = work.signs[i] * work.target[i]
        if goal <= 0.0 and (blocking < 0 or size < step * (size - goal)):
            step, blocking = size / max(size - goal, 1e-300), i
    return min(max(step, 0.0), 1.0), blocking


@kernel
def descend_to_walls(lam, work):
    """Walk to the face's minimum, dropping each coefficient met at its sign wall: never uphill."""
    while True:
        solve_face(lam, work)
        step, blocking = first_wall(work)
        for i in range(work.counts[0]):
            work.coef[i] += step * (work.target[i] - work.coef[i])
        if blocking < 0:
            return OK
        status = drop(work, blocking)
        if status != OK:
            return status


@kernel
def exchange(Xt, gram, lam2, y, column, sign, work):
    """Let a column enter that depends on the active ones: one of those must leave.

    X_j = X_A w, so beta_j up by t and beta_A down by t w leaves the fit alone and lowers the l1
    norm (the column violates); the first active coefficient to meet zero makes room.
    """
    k = work.counts[0]
    for i in range(k):
        work.target[i] = dot(Xt[column], Xt[work.active[i]])
    solve_factored(work.chol, k, work.target)
    blocking, step = -1, np.inf
    for i in range(k):
        slope = sign * work.target[i] * work.signs[i]
        if slope > 0.0 and abs(work.coef[i]) < step * slope:
            step, blocking = abs(work.coef[i]) / slope, i
    if blocking < 0:
        return SINGULAR_GRAM
    for i in range(k):
        work.coef[i] -= sign * step * work.target[i]
    status = drop(work, blocking)
    if status == OK:
        status = append(Xt, gram, lam2, y, column, sign, work)
        work.coef[work.counts[0] - 1] = sign * step
    return status


@kernel
def admit(Xt, gram, lam2, y, n_entering, work):
    """Let the listed violators in; one that depends on the active columns replaces one."""
    admitted = 0
    room = work.residual.size if lam2 == 0.0 else work.position.size
    for e in range(n_entering):
        if work.counts[0] >= room:  # more columns than dimensions are dependent
            break
        if work.counts[0] == work.active.size:
            return OK if admitted > 0 else CAPACITY
        column = work.entering[e]
        sign = 1.0 if work.corr[column] > 0.0 else -1.0
        if append(Xt, gram, lam2, y, column, sign, work) == OK:
            admitted += 1
    if admitted == 0:
        column = worst_violator(n_entering, work)
        sign = 1.0 if work.corr[column] > 0.0 else -1.0
        return exchange(Xt, gram, lam2, y, column, sign, work)
    return OK


@kernel
def relax(Xt, gram, lam, lam2, y, work):
    """Move `work` to the exact solution at y; z, if kept, must hold X'y. CAPACITY: more room."""
    status = OK
    if work.counts[1] > REFACTOR_EVERY or work.ridge[0] != lam2:
        renew(Xt, gram, lam2, work)
    update_rhs(Xt, y, work)
    slack = RELATIVE_SLACK * lam
    if work.z.size > 0:  # c = z - G_A coef carries the rounding of z
        slack += ROUNDING_SLACK * np.max(np.abs(work.z))
    work.counts[3] = 0
    for rounds in range(MAX_ROUNDS):
        if status == OK:
            if rounds < WALLED_FROM:
                status = descend_in_blocks(lam, work)
            else:
                status = descend_to_walls(lam, work)
        if status != OK:
            return status
        n_entering = choose_entering(Xt, gram, lam, slack, y, work)
        if n_entering == 0:
            work.counts[2] = rounds + 1
            update_residual(Xt, y, work)
            return OK
        status = admit(Xt, gram, lam2, y, n_entering, work)
    return NOT_CONVERGED
