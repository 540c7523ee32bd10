# mypy: allow-untyped-defs, allow-untyped-calls
"""The active-set solver's memory, and the upkeep of its factor as columns enter and leave.

`ActiveWork` is kept between data vectors, so that the next solve starts warm. It holds the active
columns, their signs and coefficients, their Gram matrix (plus lam2 on the diagonal) and its
Cholesky factor, and the correlations z = X'y and c = X'r.

Two ways to the correlations: with the full Gram matrix at hand, z moves linearly with y and
c = z - G_A coef costs D k; without it (`gram` and z are empty) c = X'(y - X_A coef) costs N D and
z is needed on the active columns only (`rhs`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.linalg.cholesky import cholesky_append, cholesky_drop
from shtarkov.types import Floats, Ints, Status

OK = int(Status.OK)


class ActiveWork(NamedTuple):
    """The solver's memory between data vectors; every array is overwritten in place.

    `counts` holds (k, factor updates since the last fresh factor, rounds of the last solve, number
    of columns watched between full checks). The leading k entries of `active`, `signs`, `coef` and
    the leading lower triangles of `gram_active` and `chol` are in use, as are those of `rhs`, which
    is X_A'y. `position` maps a column to its place in `active`, or -1. `ridge` holds the one lam2
    that is on the diagonal of `gram_active`.
    """

    active: Ints
    signs: Floats
    coef: Floats
    rhs: Floats
    target: Floats
    keep: Ints
    gram_active: Floats
    chol: Floats
    position: Ints
    z: Floats
    corr: Floats
    entering: Ints
    watched: Ints
    residual: Floats
    ridge: Floats
    counts: Ints


@kernel
def make_work(n, n_features, image_size, capacity):
    """Return empty work for n data dimensions, with room for `capacity` active columns."""
    return ActiveWork(
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity, np.int64),
        np.zeros((capacity, capacity)),
        np.zeros((capacity, capacity)),
        np.full(n_features, -1, np.int64),
        np.zeros(image_size),
        np.zeros(n_features),
        np.zeros(n_features, np.int64),
        np.zeros(n_features, np.int64),
        np.zeros(n),
        np.zeros(1),
        np.zeros(4, np.int64),
    )


@kernel
def assign(source, destination):
    """Copy a vector (a loop compiles in a tenth of the time of a checked slice assignment)."""
    for i in range(source.size):
        destination[i] = source[i]


@kernel
def copy_state(source, destination):
    """Copy the active set, its factor and the correlations; scratch is left alone."""
    k = source.counts[0]
    for i in range(destination.counts[0]):
        destination.position[destination.active[i]] = -1
    for i in range(k):
        destination.active[i] = source.active[i]
        destination.signs[i] = source.signs[i]
        destination.coef[i] = source.coef[i]
        destination.position[source.active[i]] = i
        for j in range(i + 1):
            destination.chol[i, j] = source.chol[i, j]
            destination.gram_active[i, j] = source.gram_active[i, j]
    destination.counts[0] = k
    destination.counts[1] = source.counts[1]
    destination.ridge[0] = source.ridge[0]
    assign(source.z, destination.z)
    assign(source.corr, destination.corr)
    assign(source.residual, destination.residual)


@reduction_kernel
def dot(a, b):
    """Return the inner product of two contiguous vectors."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@reduction_kernel
def subtract_rows(rows, index, weights, k, out):
    """Subtract sum_i weights[i] * rows[index[i]] from `out`, four rows at a time."""
    i = 0
    while i + 4 <= k:
        r0, r1, r2, r3 = rows[index[i]], rows[index[i + 1]], rows[index[i + 2]], rows[index[i + 3]]
        w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
        for j in range(out.size):
            out[j] -= w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
        i += 4
    while i < k:
        r0, w0 = rows[index[i]], weights[i]
        for j in range(out.size):
            out[j] -= w0 * r0[j]
        i += 1


@reduction_kernel
def correlate_some(rows, index, k, v, out):
    """Write the inner products of k listed rows with v, four at a time."""
    i = 0
    while i + 4 <= k:
        r0, r1, r2, r3 = rows[index[i]], rows[index[i + 1]], rows[index[i + 2]], rows[index[i + 3]]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for j in range(v.size):
            t0 += r0[j] * v[j]
            t1 += r1[j] * v[j]
            t2 += r2[j] * v[j]
            t3 += r3[j] * v[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = t0, t1, t2, t3
        i += 4
    while i < k:
        out[i] = dot(rows[index[i]], v)
        i += 1


@kernel
def correlate(Xt, v, out):
    """Write X'v."""
    np.dot(Xt, v, out)


@kernel
def update_residual(Xt, y, work):
    """Write r = y - X_A coef."""
    assign(y, work.residual)
    subtract_rows(Xt, work.active, work.coef, work.counts[0], work.residual)


@kernel
def update_correlations(Xt, gram, y, work):
    """Write c = X'r: D k from Gram rows, N D from the residual when no Gram matrix is held."""
    if gram.size > 0:
        assign(work.z, work.corr)
        subtract_rows(gram, work.active, work.coef, work.counts[0], work.corr)
    else:
        update_residual(Xt, y, work)
        correlate(Xt, work.residual, work.corr)


@kernel
def update_rhs(Xt, y, work):
    """Write X_A'y for the active columns."""
    for i in range(work.counts[0]):
        column = work.active[i]
        work.rhs[i] = work.z[column] if work.z.size > 0 else dot(Xt[column], y)


@kernel
def refactor(first, work):
    """Make the rows of the factor from `first` on afresh from the held active Gram matrix."""
    for i in range(first, work.counts[0]):
        status = cholesky_append(work.chol, i, work.gram_active[i], work.gram_active[i, i])
        if status != OK:
            return status
    if first == 0:
        work.counts[1] = 0
    return OK


@kernel
def clear(work):
    """Empty the active set."""
    for i in range(work.counts[0]):
        work.position[work.active[i]] = -1
    work.counts[0] = 0
    work.counts[1] = 0


@kernel
def renew(Xt, gram, lam2, work):
    """Make the factor afresh, with lam2 on its diagonal; empty the active set if that fails."""
    for i in range(work.counts[0]):
        column = work.active[i]
        square = gram[column, column] if gram.size > 0 else dot(Xt[column], Xt[column])
        work.gram_active[i, i] = square + lam2
    work.ridge[0] = lam2
    if refactor(0, work) != OK:
        clear(work)


@kernel
def append(Xt, gram, lam2, y, column, sign, work):
    """Put one column at the end of the active set with coefficient zero."""
    k = work.counts[0]
    row = work.gram_active[k]
    if gram.size > 0:
        for i in range(k):
            row[i] = gram[work.active[i], column]
        row[k] = gram[column, column] + lam2
    else:
        for i in range(k):
            row[i] = dot(Xt[work.active[i]], Xt[column])
        row[k] = dot(Xt[column], Xt[column]) + lam2
    status = cholesky_append(work.chol, k, row, row[k])
    if status != OK:
        return status
    work.active[k] = column
    work.signs[k] = sign
    work.coef[k] = 0.0
    work.rhs[k] = work.z[column] if work.z.size > 0 else dot(Xt[column], y)
    work.position[column] = k
    work.counts[0] = k + 1
    return OK


@kernel
def compress(first, work):
    """Close the gaps of the columns whose `keep` is zero; return how many columns are left."""
    kept = first
    for i in range(first, work.counts[0]):
        if work.keep[i] == 0:
            work.position[work.active[i]] = -1
            continue
        work.active[kept] = work.active[i]
        work.signs[kept] = work.signs[i]
        work.coef[kept] = work.coef[i]
        work.rhs[kept] = work.rhs[i]
        work.position[work.active[i]] = kept
        column = 0
        for j in range(i + 1):
            if work.keep[j] != 0:
                work.gram_active[kept, column] = work.gram_active[i, j]
                column += 1
        kept += 1
    return kept


@kernel
def drop_unkept(work):
    """Take the columns whose `keep` is zero out of the active set and mend the factor.

    One column leaves by Givens rotations; several by making the rows behind the first gap afresh,
    which costs less than a rotation sweep for each.
    """
    k = work.counts[0]
    first, dropped = -1, 0
    for i in range(k):
        if work.keep[i] == 0:
            dropped += 1
            if first < 0:
                first = i
    if dropped == 0:
        return OK
    work.counts[0] = compress(first, work)
    if dropped == 1 and first < k - 1:
        cholesky_drop(work.chol, k, first)
        work.counts[1] += 1
        return OK
    return refactor(first, work)


@kernel
def drop(work, position):
    """Take one column out of the active set."""
    for i in range(work.counts[0]):
        work.keep[i] = 1
    work.keep[position] = 0
    return drop_unkept(work)
