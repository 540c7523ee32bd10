# mypy: allow-untyped-defs, allow-untyped-calls
"""The exact sparse classifier at a vector of labels, warm-started, with its duality gap.

Objective: sum_i loss(y_i f_i) + lam * |w|_1 + half ridge * |w|^2, no 1/n. Without a ridge the hinge
is a linear programme and goes from vertex to vertex (`hinge_solve`). Otherwise columns whose
correlation with the signed multipliers passes lam enter; the face is settled (`svm_face`), for the
hinge by moving the centres of its smoothed form to the multipliers until they stay; and so on until
no column violates (`svm_certificate`). Slow twin: linear programming (tests).

A call may carry a `limit`: as soon as the dual value passes it the minimum is known to lie above,
and the call ends with ABOVE_LIMIT (a proposal is then rejected without being solved).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import correlate
from shtarkov.families.hinge_solve import relax_hinge
from shtarkov.families.label_family import (
    ABOVE_LIMIT,
    DUAL,
    FACTORED,
    PRIMAL,
    ROUNDS,
    SOLVES,
    STIFFNESS,
    K,
    append_column,
    drop_column,
    has_vertices,
)
from shtarkov.families.svm_certificate import list_worst, write_dual, write_primal
from shtarkov.families.svm_face import settle_face, update_multipliers, update_scores
from shtarkov.families.svm_losses import HINGE
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
NOT_FINITE = int(Status.NOT_FINITE)
CAPACITY = int(Status.CAPACITY)

MAX_ROUNDS = 500
# A correlation violates when it passes lam by more than this share.
RELATIVE_SLACK = 1e-10
# Gap, relative to 1 + the objective, below which small violations no longer matter.
GAP_TOLERANCE = 1e-11
# The same once this many rounds have not reached it: degenerate hinges creep.
LOOSE_GAP, LOOSE_ROUNDS = 5e-9, 60
# Largest move of a centre, and largest share of the hinge the smoothing may still bend.
CENTRE_TOLERANCE = 1e-9
FIRST_STIFFNESS = 4.0
STIFFER = 4.0
# The score of every row when all labels agree and there is an intercept.
ONE_CLASS_SCORE = 2.0
LARGEST_STIFFNESS = 4096.0


@kernel
def recentre(y, work):
    """Move the centres to the multipliers and stiffen; return the largest move."""
    moved = 0.0
    for i in range(y.size):
        moved = max(moved, abs(work.multipliers[i] - work.centres[i]))
        work.centres[i] = work.multipliers[i]
    work.values[STIFFNESS] = min(LARGEST_STIFFNESS, STIFFER * work.values[STIFFNESS])
    return moved


@kernel
def admit_violators(family, work):
    """Let violating columns in, of many the worst; return how many, or -1 for want of room."""
    threshold = family.lam * (1.0 + RELATIVE_SLACK)
    n_entering = list_worst(family, threshold, 8 + work.counts[K], work)
    for e in range(n_entering):
        column = work.entering[e]
        sign = 1.0 if work.corr[column] > 0.0 else -1.0
        if append_column(family, column, sign, work) != OK:
            return -1
    return n_entering


@kernel
def is_one_class(y):
    """Return whether all labels agree."""
    n_positive = 0
    for i in range(y.size):
        n_positive += 1 if y[i] > 0.0 else 0
    return n_positive == 0 or n_positive == y.size


@kernel
def settle_one_class(family, y, work):
    """Write the limit for labels that agree, which an intercept fits at no cost with w = 0.

    The intercept is then not unique (nor finite, for the logistic loss); scores must be a function
    of the labels alone, so it is given a value.
    """
    for a in range(work.counts[K] - 1, -1, -1):
        if work.signs[a] != 0.0:
            drop_column(a, work)
    work.coef[0] = y[0] * ONE_CLASS_SCORE
    for i in range(y.size):
        work.scores[i] = work.coef[0]
        work.multipliers[i] = 0.0
        work.signed[i] = 0.0
        work.centres[i] = 0.0
    for v in range(work.values.size):
        work.values[v] = 0.0
    work.counts[FACTORED] = 0
    return OK


@kernel
def relax_labels(family, y, limit, work):
    """Move `work` to the exact solution at the labels y; return the status, or ABOVE_LIMIT.

    CAPACITY: give more room. ABOVE_LIMIT leaves `work` between solutions, fit for a warm start.
    """
    if family.n_free == 1 and is_one_class(y):
        return settle_one_class(family, y, work)
    if has_vertices(family):
        return relax_hinge(family, y, limit, work)
    work.counts[SOLVES] = 0
    work.values[STIFFNESS] = FIRST_STIFFNESS
    for rounds in range(MAX_ROUNDS):
        work.counts[ROUNDS] = rounds + 1
        status = settle_face(family, y, work)
        if status != OK:
            return status
        update_scores(family, work)
        correlate(family.Xt, work.signed, work.corr)
        write_primal(family, y, work)
        write_dual(family, y, work)
        if work.values[DUAL] > limit:
            return ABOVE_LIMIT
        if not math.isfinite(work.values[PRIMAL]):
            return NOT_FINITE
        gap = work.values[PRIMAL] - work.values[DUAL]
        tolerance = GAP_TOLERANCE if rounds < LOOSE_ROUNDS else LOOSE_GAP
        if gap <= tolerance * (1.0 + work.values[PRIMAL]):
            return OK
        admitted = admit_violators(family, work)
        if admitted < 0:
            return CAPACITY
        if admitted == 0 and (family.loss != HINGE or recentre(y, work) <= CENTRE_TOLERANCE):
            return OK
    return NOT_CONVERGED


@kernel
def start_at_zero(family, y, work):
    """Put `work` at w = 0, b = 0."""
    for a in range(work.counts[K]):
        work.position[work.active[a]] = -1
    work.counts[:] = 0
    for i in range(y.size):
        work.scores[i] = 0.0
        work.centres[i] = 1.0 if family.loss == HINGE else 0.0
        work.weights[i] = 0.0
    if family.n_free == 1:
        append_column(family, family.Xt.shape[0] - 1, 0.0, work)
    update_multipliers(family, y, work)


@kernel
def coef_of(family, work):
    """Return the (P,) coefficients, the intercept last when there is one."""
    coef = np.zeros(family.Xt.shape[0])
    for a in range(work.counts[K]):
        coef[work.active[a]] = work.coef[a]
    return coef
