# mypy: allow-untyped-defs, allow-untyped-calls
"""The group solver's memory, and its upkeep as groups enter and leave the working set.

`GroupWork` is kept between data vectors, so that the next solve starts warm. It holds the working
groups with their coefficients, split into length and direction, the Gram matrix of their columns,
and the correlations z = X'y and c = X'r. As for the Lasso (`families.active_work`), with the full
Gram matrix at hand z moves linearly with y and c = z - G_A coef costs D k; without it c costs N D.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_work import assign, dot
from shtarkov.types import Floats, Ints


class GroupWork(NamedTuple):
    """The solver's memory between data vectors; every array is overwritten in place.

    `counts` holds (k columns, m groups, rounds of the last solve, factorisations of the last
    solve). Group number a of the working set is `groups[a]` and has the places `offsets[a]` to
    `offsets[a + 1]` in `columns`, `coef`, `units` (coef / |coef| of its group), `rhs` (X_A'y) and
    `pull` (X_A'r); `norms[a]` is the length of its coefficients. `place` maps a group to its number
    or -1. `gram_active` is symmetric and in use up to k by k. `bent` and `chol` are the Newton
    matrix and its lower factor, where they were last made. `kept`, `direction` (a step,
    `bent_pull` what it takes from `pull`) and `step` are scratch.
    """

    groups: Ints
    place: Ints
    offsets: Ints
    columns: Ints
    coef: Floats
    units: Floats
    norms: Floats
    rhs: Floats
    pull: Floats
    kept: Floats
    direction: Floats
    bent_pull: Floats
    step: Floats
    gram_active: Floats
    bent: Floats
    chol: Floats
    entering: Ints
    z: Floats
    corr: Floats
    residual: Floats
    counts: Ints


@kernel
def make_group_work(n, n_features, n_groups, image_size, capacity):
    """Return empty work for n data dimensions, with room for `capacity` active columns."""
    room = min(n_groups, capacity)
    return GroupWork(
        np.zeros(room, np.int64),
        np.full(n_groups, -1, np.int64),
        np.zeros(room + 1, np.int64),
        np.zeros(capacity, np.int64),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(room),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros(capacity),
        np.zeros((capacity, capacity)),
        np.zeros((capacity, capacity)),
        np.zeros((capacity, capacity)),
        np.zeros(n_groups, np.int64),
        np.zeros(image_size),
        np.zeros(n_features),
        np.zeros(n),
        np.zeros(4, np.int64),
    )


@kernel
def copy_group_state(source, destination):
    """Copy the working set, its Gram matrix and the correlations; scratch is left alone."""
    for a in range(destination.counts[1]):
        destination.place[destination.groups[a]] = -1
    k, m = source.counts[0], source.counts[1]
    for a in range(m):
        destination.groups[a] = source.groups[a]
        destination.place[source.groups[a]] = a
        destination.norms[a] = source.norms[a]
        destination.offsets[a + 1] = source.offsets[a + 1]
    for i in range(k):
        destination.columns[i] = source.columns[i]
        destination.coef[i] = source.coef[i]
        destination.units[i] = source.units[i]
        destination.pull[i] = source.pull[i]
        for j in range(k):
            destination.gram_active[i, j] = source.gram_active[i, j]
    assign(source.counts, destination.counts)
    assign(source.z, destination.z)
    assign(source.corr, destination.corr)
    assign(source.residual, destination.residual)


@kernel
def length(v, first, last):
    """Return the length of v[first:last]."""
    total = 0.0
    for i in range(first, last):
        total += v[i] * v[i]
    return math.sqrt(total)


@kernel
def excess(v, first, last, soft):
    """Return the length of v[first:last] with each entry shrunk towards zero by `soft`."""
    total = 0.0
    for i in range(first, last):
        over = max(abs(v[i]) - soft, 0.0)
        total += over * over
    return math.sqrt(total)


@kernel
def set_group(work, a, v, threshold, soft):
    """Set group a's coefficients to v, entries shrunk by `soft`, the rest by `threshold` in length.

    A zero group has no direction: its units are zero.
    """
    first, last = work.offsets[a], work.offsets[a + 1]
    size = excess(v, first, last, soft)
    work.norms[a] = max(size - threshold, 0.0)
    for i in range(first, last):
        over = math.copysign(max(abs(v[i]) - soft, 0.0), v[i])
        work.units[i] = over / size if work.norms[a] > 0.0 else 0.0
        work.coef[i] = work.norms[a] * work.units[i]


@kernel
def append_group(Xt, gram, starts, group, y, work):
    """Put a group with zero coefficients at the end of the working set; say if there was room."""
    k, m = work.counts[0], work.counts[1]
    size = starts[group + 1] - starts[group]
    if k + size > work.columns.size:
        return False
    work.groups[m] = group
    work.place[group] = m
    work.norms[m] = 0.0
    for new in range(k, k + size):
        column = starts[group] + new - k
        work.columns[new] = column
        work.coef[new] = 0.0
        work.units[new] = 0.0
        work.rhs[new] = work.z[column] if work.z.size > 0 else dot(Xt[column], y)
        for i in range(new + 1):
            other = work.columns[i]
            product = gram[other, column] if gram.size > 0 else dot(Xt[other], Xt[column])
            work.gram_active[new, i] = product
            work.gram_active[i, new] = product
    work.offsets[m + 1] = k + size
    work.counts[0] = k + size
    work.counts[1] = m + 1
    return True


@kernel
def move_column(work, source, destination):
    """Move what is kept of one working column to an earlier place."""
    work.columns[destination] = work.columns[source]
    work.coef[destination] = work.coef[source]
    work.units[destination] = work.units[source]
    work.rhs[destination] = work.rhs[source]
    work.pull[destination] = work.pull[source]
    work.kept[destination] = source


@kernel
def drop_zero_groups(work):
    """Take the groups whose coefficients are zero out of the working set."""
    k, m = 0, 0
    for a in range(work.counts[1]):
        group, first, last = work.groups[a], work.offsets[a], work.offsets[a + 1]
        work.place[group] = -1
        if work.norms[a] > 0.0:
            work.groups[m] = group
            work.place[group] = m
            work.norms[m] = work.norms[a]
            for i in range(first, last):
                move_column(work, i, k)
                k += 1
            m += 1
            work.offsets[m] = k
    if k < work.counts[0]:
        for i in range(k):
            for j in range(k):
                work.gram_active[i, j] = work.gram_active[int(work.kept[i]), int(work.kept[j])]
    work.counts[0] = k
    work.counts[1] = m
