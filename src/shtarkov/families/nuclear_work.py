# mypy: allow-untyped-defs, allow-untyped-calls
"""The nuclear-norm family on a diagonal design, the solver's memory, and one proximal step.

Any design is brought to half |Y - S B|^2 + lam |B|_*, S diagonal: with X = P S Q' (thin), Y becomes
P'Y and B = Q B'. Rotations do not change the nuclear norm, and coefficients outside the rows of X
only add to it, so nothing is lost and a product with X costs one pass over B.

A proximal step from Z soft-thresholds the singular values of Z + S (Y - S Z) / L at lam / L, with
L the largest square in S. It gives lam times an element G of the norm's subdifferential at B with
S R = lam G - (L - S^2)(Z - B) for the residual R = Y - S B, so that |S R|_op is at most
lam + |(L - S^2)(Z - B)|: the residual scaled back to lam is feasible for the dual, and the duality
gap needs no second decomposition.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.types import Floats, Ints, Status

OK = int(Status.OK)
NOT_FINITE = int(Status.NOT_FINITE)
# Places in `NuclearWork.numbers`.
OBJECTIVE, GAP, VIOLATION, NORM = range(4)


class NuclearFamily(NamedTuple):
    """A design at one penalty.

    Attributes
    ----------
    scales : (p,) positive singular values of the design, descending
    basis : (P, p) its right singular vectors: the user's coefficients are basis @ B
    n_targets : q, columns of the data
    lam : weight of the nuclear norm
    """

    scales: Floats
    basis: Floats
    n_targets: int
    lam: float


class NuclearWork(NamedTuple):
    """The solver's memory between data vectors; every array is overwritten in place.

    Attributes
    ----------
    coef, trial : (p, q) the estimate, and the point of the next step
    left, right : (m, p) and (m, q), m = min(p, q): singular vectors of the estimate as rows
    values : (m,) its singular values, descending; the first `counts[0]` are positive
    dual : (m,) singular values of S'r along the same vectors: lam where the estimate's is positive
    residual : (p q,) y - S B, row by row
    z : (0,) this family carries no image
    counts : rank, steps of the last solve
    numbers : see OBJECTIVE, GAP, VIOLATION, NORM
    """

    coef: Floats
    trial: Floats
    left: Floats
    right: Floats
    values: Floats
    dual: Floats
    residual: Floats
    z: Floats
    counts: Ints
    numbers: Floats


@kernel
def make_work(p, q):
    """Return empty work: the estimate is zero."""
    m = min(p, q)
    return NuclearWork(
        np.zeros((p, q)),
        np.zeros((p, q)),
        np.zeros((m, p)),
        np.zeros((m, q)),
        np.zeros(m),
        np.zeros(m),
        np.zeros(p * q),
        np.zeros(0),
        np.zeros(2, np.int64),
        np.zeros(4),
    )


@kernel
def copy_matrix(source, destination):
    """Copy a matrix entry by entry."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            destination[i, j] = source[i, j]


@kernel
def copy_state(source, destination):
    """Copy everything but the scratch."""
    copy_matrix(source.coef, destination.coef)
    copy_matrix(source.left, destination.left)
    copy_matrix(source.right, destination.right)
    for i in range(source.values.size):
        destination.values[i] = source.values[i]
        destination.dual[i] = source.dual[i]
    for i in range(source.residual.size):
        destination.residual[i] = source.residual[i]
    for i in range(source.counts.size):
        destination.counts[i] = source.counts[i]
    for i in range(source.numbers.size):
        destination.numbers[i] = source.numbers[i]


@kernel
def gradient_point(family, y, point, step):
    """Return Z + S (Y - S Z) / L, the matrix a proximal step decomposes; None is finite if y is."""
    p, q = point.shape
    moved = np.empty((p, q))
    for a in range(p):
        s = family.scales[a]
        for b in range(q):
            moved[a, b] = point[a, b] + s * (y[a * q + b] - s * point[a, b]) / step
    return moved


@kernel
def keep_decomposition(lam, step, left, values, right, work):
    """Write singular vectors, thresholded values and the dual's values; the rank and the norm."""
    rank, norm = 0, 0.0
    for i in range(values.size):
        work.values[i] = max(values[i] - lam / step, 0.0)
        work.dual[i] = min(values[i] * step, lam)
        norm += work.values[i]
        if work.values[i] > 0.0:
            rank += 1
        for a in range(left.shape[0]):
            work.left[i, a] = left[a, i]
        for b in range(right.shape[1]):
            work.right[i, b] = right[i, b]
    work.counts[0] = rank
    work.numbers[NORM] = norm


@kernel
def compose(work, rank):
    """Write the estimate from its singular values and vectors."""
    p, q = work.coef.shape
    for a in range(p):
        for b in range(q):
            work.coef[a, b] = 0.0
        for i in range(rank):
            weight = work.values[i] * work.left[i, a]
            for b in range(q):
                work.coef[a, b] += weight * work.right[i, b]


@kernel
def certify(family, y, point, step, work):
    """Write residual, objective, the bound on how far the dual is violated, and the gap."""
    p, q = work.coef.shape
    residual_sq, along, violation_sq = 0.0, 0.0, 0.0
    for a in range(p):
        s = family.scales[a]
        for b in range(q):
            r = y[a * q + b] - s * work.coef[a, b]
            work.residual[a * q + b] = r
            residual_sq += r * r
            along += y[a * q + b] * r
            miss = (step - s * s) * (point[a, b] - work.coef[a, b])
            violation_sq += miss * miss
    violation = math.sqrt(violation_sq)
    shrink = family.lam / (family.lam + violation)
    objective = 0.5 * residual_sq + family.lam * work.numbers[NORM]
    work.numbers[OBJECTIVE] = objective
    work.numbers[VIOLATION] = violation
    work.numbers[GAP] = objective - shrink * along + 0.5 * shrink * shrink * residual_sq


@kernel
def proximal_step(family, y, point, work):
    """Move `work` to the proximal step from `point`; NOT_FINITE if it cannot be decomposed."""
    step = family.scales[0] * family.scales[0]
    moved = gradient_point(family, y, point, step)
    total = 0.0
    for value in moved.flat:
        total += abs(value)
    if not math.isfinite(total):  # the decomposition would raise
        return NOT_FINITE
    left, values, right = np.linalg.svd(moved, False)
    keep_decomposition(family.lam, step, left, values, right, work)
    compose(work, work.counts[0])
    certify(family, y, point, step, work)
    return OK
