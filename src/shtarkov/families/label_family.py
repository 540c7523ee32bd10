# mypy: allow-untyped-defs, allow-untyped-calls
"""Sparse classifiers as a compiled family: the design, the loss and the weights at one penalty.

Objective: sum_i loss(y_i (x_i'w + b)) + lam * |w|_1 + half ridge * |w|^2, no 1/n; b only with an
intercept, which is the last column of ones and carries no penalty. `LabelWork` is the memory of its
solver (`families.svm_solve`), moved from one vector of labels to the next.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import bare_kernel, kernel
from shtarkov.families.active_work import assign, dot
from shtarkov.families.svm_losses import HINGE
from shtarkov.types import Floats, Ints, Status

OK = int(Status.OK)
CAPACITY = int(Status.CAPACITY)
# Returned beside the statuses by a solve that was given up because the minimum is above its limit.
ABOVE_LIMIT = -1
# The largest part by which ties of the hinge are parted.
SPREAD = 8e-10
# Columns looked at between two looks at all.
SHORT_LIST = 16
# Digits of sines this far down have no pattern: evenly spread parts would have equal differences.
NOISE = 43758.5453


class LabelFamily(NamedTuple):
    """A design and a loss at one penalty.

    Attributes
    ----------
    Xt : (P, N) the columns as rows; P = D, or D + 1 with the intercept's ones last
    loss : code of the loss (`families.svm_losses`)
    n_free : 1 with an intercept, else 0
    lam, ridge : weights of the l1 norm and of half the squares
    lengths_sq : (P,) squared lengths of the columns
    """

    Xt: Floats
    loss: int
    n_free: int
    lam: float
    ridge: float
    lengths_sq: Floats


class Vertex(NamedTuple):
    """Margin rows of the hinge's linear programme (`families.hinge_vertex`).

    Attributes
    ----------
    rows, pins : (capacity,) margin rows, as many as active columns, and the labels they are pinned
        to the margin of
    place : (N,) a row's place among them, or -1
    inverse : (capacity, capacity) inverse of their block of the active columns
    block, image, breaks, walked : scratch; the last move's length is left in `walked`
    pulls, lengths : (SHORT_LIST,) listed columns' correlations and squared lengths of their edges
    kinks, ease : (N,), (P,) factors near one on margins and penalties, which part ties
    """

    rows: Ints
    pins: Floats
    place: Ints
    inverse: Floats
    block: Floats
    image: Floats
    breaks: Floats
    walked: Floats
    pulls: Floats
    lengths: Floats
    kinks: Floats
    ease: Floats


class LabelWork(NamedTuple):
    """The solver's memory; every array is overwritten in place.

    `counts` holds (k, solves of the last call, whether `chol` fits `gram`, changes of `gram` since
    it was made afresh, rounds of the last call). The leading k entries of `active`, `signs`,
    `coef`, `gradient` and `direction` are in use; signs are 0 for the intercept. `values`
    holds (primal, dual, loss, norm, half squares, stiffness) of the last solution. Rows: `scores`
    are x_i'w + b, `multipliers` those of the loss, `signed` their product with the labels,
    `centres` the smoothed hinge's, `weights` the curvatures `gram` was made with. The hinge without
    a ridge has no use for `gram` and `chol`, which are empty: its face is the `vertex`, whose
    inverse is what FACTORED and CHANGES then speak of.
    """

    active: Ints
    signs: Floats
    coef: Floats
    gradient: Floats
    direction: Floats
    gram: Floats
    chol: Floats
    position: Ints
    corr: Floats
    entering: Ints
    scores: Floats
    multipliers: Floats
    signed: Floats
    centres: Floats
    weights: Floats
    shift: Floats
    scratch: Floats
    values: Floats
    counts: Ints
    vertex: Vertex


PRIMAL, DUAL, LOSS, NORM, HALF_SQUARES, STIFFNESS = range(6)
K, SOLVES, FACTORED, CHANGES, ROUNDS = range(5)


@kernel
def has_vertices(family):
    """Return whether the problem is a linear programme, solved from vertex to vertex."""
    return family.loss == HINGE and family.ridge == 0.0


@kernel
def spread(size, sign):
    """Return factors that leave one by different parts of `SPREAD`."""
    factors = np.ones(size)
    for i in range(size):
        factors[i] += sign * SPREAD * ((NOISE * math.sin(i + 1.0)) % 1.0)
    return factors


@kernel
def new_vertex(n_columns, n, capacity):
    """Return a vertex without margin rows."""
    return Vertex(
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
        np.full(n, -1, np.int64),
        np.zeros((capacity, capacity)),
        np.zeros((capacity, capacity)),
        np.zeros(capacity),
        np.zeros(n + capacity),
        np.zeros(1),
        np.zeros(SHORT_LIST),
        np.zeros(SHORT_LIST),
        spread(n, 1.0),
        spread(n_columns, -1.0),
    )


@kernel
def new_label_work(family, capacity):
    """Return the work of w = 0, with room for `capacity` active columns."""
    n_columns, n = family.Xt.shape
    capacity = min(capacity, n_columns)
    in_vertex = capacity if has_vertices(family) else 0
    in_gram = capacity - in_vertex
    work = LabelWork(
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros((in_gram, in_gram)),
        np.zeros((in_gram, in_gram)),
        np.full(n_columns, -1, np.int64),
        np.zeros(n_columns),
        np.zeros(n_columns, np.int64),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(6),
        np.zeros(5, np.int64),
        new_vertex(n_columns, n, in_vertex),
    )
    if family.n_free == 1:
        append_column(family, n_columns - 1, 0.0, work)
    return work


@bare_kernel
def copy_label_work(source, destination):
    """Copy the solution and its curvatures; scratch and correlations are left alone."""
    for i in range(destination.counts[K]):
        destination.position[destination.active[i]] = -1
    k = source.counts[K]
    for i in range(k):
        destination.active[i] = source.active[i]
        destination.signs[i] = source.signs[i]
        destination.coef[i] = source.coef[i]
        destination.position[source.active[i]] = i
    copy_corner(source.gram, k, destination.gram)
    copy_corner(source.chol, k, destination.chol)
    copy_vertex(source.vertex, destination.vertex, k)
    assign(source.scores, destination.scores)
    assign(source.multipliers, destination.multipliers)
    assign(source.signed, destination.signed)
    assign(source.centres, destination.centres)
    assign(source.weights, destination.weights)
    assign(source.values, destination.values)
    assign(source.counts, destination.counts)


@bare_kernel
def copy_corner(source, k, destination):
    """Copy the leading k x k block of a matrix, unless the matrix is empty."""
    if source.size > 0:
        for i in range(k):
            for j in range(k):
                destination[i, j] = source[i, j]


@bare_kernel
def copy_vertex(source, destination, k):
    """Copy k margin rows and their inverse."""
    assign(source.place, destination.place)
    copy_corner(source.inverse, k, destination.inverse)
    for p in range(min(k, source.rows.size)):
        destination.rows[p] = source.rows[p]
        destination.pins[p] = source.pins[p]


@kernel
def append_column(family, column, sign, work):
    """Put one column at the end of the active set, coefficient zero, and extend a held `gram`."""
    k = work.counts[K]
    if k == work.active.size:
        return CAPACITY
    if work.gram.size > 0:
        values = family.Xt[column]
        for i in range(values.size):
            work.scratch[i] = work.weights[i] * values[i]
        for a in range(k):
            work.gram[k, a] = dot(family.Xt[work.active[a]], work.scratch)
        work.gram[k, k] = dot(values, work.scratch)
    work.active[k] = column
    work.signs[k] = sign
    work.coef[k] = 0.0
    work.position[column] = k
    work.counts[K] = k + 1
    work.counts[FACTORED] = 0
    return OK


@kernel
def drop_column(place, work):
    """Take one column out of the active set; the others keep their order."""
    k = work.counts[K]
    work.position[work.active[place]] = -1
    for a in range(place + 1, k):
        work.active[a - 1] = work.active[a]
        work.signs[a - 1] = work.signs[a]
        work.coef[a - 1] = work.coef[a]
        work.gradient[a - 1] = work.gradient[a]
        work.direction[a - 1] = work.direction[a]
        work.position[work.active[a - 1]] = a - 1
        for b in range(place):
            work.gram[a - 1, b] = work.gram[a, b]
        for b in range(place + 1, a + 1):
            work.gram[a - 1, b - 1] = work.gram[a, b]
    work.counts[K] = k - 1
    work.counts[FACTORED] = 0
