# mypy: allow-untyped-defs, allow-untyped-calls
"""What the samplers ask of the Group Lasso: the second part of `families.protocol`.

Degrees of freedom and volume factor carry the curvature of the norm (THEORY section 5): with
M = H + blkdiag(lam w_g (I - uu') / |beta_g|) over the active groups,

    df = tr(H M^-1),     log_volume = ln det M - half ln det H.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.active_work import assign, correlate, dot, subtract_rows
from shtarkov.families.group_fibre import refresh_lengths
from shtarkov.families.group_lasso import GroupLassoFamily, kept_places, norm_of
from shtarkov.families.group_newton import (
    apply_root,
    bent_trace,
    factor_bent,
    log_det_bent,
    solve_bent,
)
from shtarkov.families.group_solve import relax_groups, worst_violation
from shtarkov.families.group_work import copy_group_state, excess, make_group_work
from shtarkov.linalg.cholesky import cholesky, log_det_factored, solve_lower
from shtarkov.types import Status

OK = int(Status.OK)


@kernel
def write_weighted_units(family, work, out):
    """Write J^1/2 times the gradient of the norm, w_g u_g + l1 s."""
    for a in range(work.counts[1]):
        weight = family.weights[work.groups[a]]
        for i in range(work.offsets[a], work.offsets[a + 1]):
            out[i] = weight * work.units[i] + math.copysign(family.l1, work.units[i])
    apply_root(family, work, out[: work.counts[0]])


@protocol.with_lam.register(GroupLassoFamily)
def _with_lam(family, lam):
    return GroupLassoFamily(
        family.Xt,
        family.gram,
        lam,
        family.starts,
        family.members,
        family.weights,
        family.l1,
        family.steps,
        family.reach,
        family.touching,
        family.accuracy,
    )


@protocol.new_work.register(GroupLassoFamily)
def _new_work(family, capacity):
    n_features, n = family.Xt.shape
    room = min(n_features, capacity)
    return make_group_work(n, n_features, family.weights.size, family.gram.shape[0], room)


@protocol.copy_work.register(GroupLassoFamily)
def _copy_work(family, source, destination):
    copy_group_state(source, destination)


@protocol.image.register(GroupLassoFamily)
def _image(family, v, out):
    if out.size > 0:
        correlate(family.Xt, v, out)


@protocol.relax.register(GroupLassoFamily)
def _relax(family, y, work):
    return relax_groups(family, y, work)


@protocol.potential.register(GroupLassoFamily)
def _potential(family, weight, work):
    return 0.5 * dot(work.residual, work.residual) + weight * norm_of(family, work)


@protocol.write_force.register(GroupLassoFamily)
def _write_force(family, weight, y, work, force_out, image_out):
    k = work.counts[0]
    assign(work.residual, force_out)
    if image_out.size > 0:
        assign(work.corr, image_out)
    if weight == family.lam or k == 0:
        return
    # gradient of the norm in y: X_A M^-1 (w u + l1 s)
    factor_bent(family, work)
    write_weighted_units(family, work, work.step)
    solve_bent(family, work, work.step[:k])
    apply_root(family, work, work.step[:k])
    for i in range(k):
        work.step[i] *= family.lam - weight
    subtract_rows(family.Xt, work.columns, work.step, k, force_out)
    if image_out.size > 0:
        subtract_rows(family.gram, work.columns, work.step, k, image_out)


@protocol.refresh_fibre.register(GroupLassoFamily)
def _refresh_fibre(family, weight, y, work, rng):
    # Where the lengths reach no further than the noise, the flow crosses them for less
    # (benchmarks/group_lasso.py prints both); nor is M inverted where its factor is block-sparse.
    if family.reach > weight and family.touching.size == 0:
        refresh_lengths(family, weight, y, work, rng)


@kernel
def norm_loss(family, work):
    """Return v'M^-1 v, v the norm's gradient: minus its slope in lam; B must be factored."""
    k = work.counts[0]
    write_weighted_units(family, work, work.step)
    solve_lower(work.chol, k, work.step)
    return dot(work.step[:k], work.step[:k])


@kernel
def log_wide_volume(family, work):
    """Return -ln J_cons where more columns are active than the data have dimensions.

    The estimate then moves along n of k directions: -half ln det(X_A M^-2 X_A').
    """
    k, n = work.counts[0], work.residual.size
    moved, square = np.empty((n, k)), np.empty((n, n))
    for i in range(n):
        for j in range(k):
            moved[i, j] = family.Xt[work.columns[j], i]
        apply_root(family, work, moved[i])
        solve_bent(family, work, moved[i])
        apply_root(family, work, moved[i])
        for j in range(i + 1):
            square[i, j] = dot(moved[i], moved[j])
    if cholesky(square, n, square) != OK:
        return math.inf
    return -0.5 * log_det_factored(square, n)


@kernel
def log_volume(family, work):
    """Return -ln J_cons; infinite where the active columns are dependent. B must be factored."""
    places = kept_places(family, work)
    k = places.size
    if k > work.residual.size:
        return log_wide_volume(family, work)
    log_det = log_det_bent(family, work)
    for i in range(k):
        for j in range(i + 1):
            work.bent[i, j] = work.gram_active[places[i], places[j]]
    if cholesky(work.bent, k, work.chol) != OK:
        return math.inf
    return log_det - 0.5 * log_det_factored(work.chol, k)


@kernel
def worst_condition(family, work):
    """Return the largest violation of the optimality conditions in units of lam w_g."""
    worst = 0.0
    for group in range(family.weights.size):
        if work.place[group] < 0:
            soft = family.lam * family.l1
            size = excess(work.corr, family.starts[group], family.starts[group + 1], soft)
            worst = max(worst, size / (family.lam * family.weights[group]) - 1.0)
    for i in range(work.counts[0]):
        work.pull[i] = work.corr[work.columns[i]]
    return max(worst, worst_violation(family, work))


@protocol.observe.register(GroupLassoFamily)
def _observe(family, weight, work, row_out):
    norm = norm_of(family, work)
    residual_sq = dot(work.residual, work.residual)
    factor_bent(family, work)
    row_out[obs.K] = kept_places(family, work).size
    row_out[obs.DF] = work.counts[0] - bent_trace(family, work)
    row_out[obs.PENALTY] = family.lam * norm
    row_out[obs.SLOPE] = family.lam * norm
    row_out[obs.FIT_RESIDUAL] = family.lam * norm
    row_out[obs.RESIDUAL_SQ] = residual_sq
    row_out[obs.ENVELOPE] = 0.5 * residual_sq + family.lam * norm
    row_out[obs.NORM] = norm
    row_out[obs.SIGN_ENERGY] = norm_loss(family, work)
    row_out[obs.LOG_VOLUME] = log_volume(family, work)
    row_out[obs.KKT_RESIDUAL] = worst_condition(family, work)


@protocol.mark_active.register(GroupLassoFamily)
def _mark_active(family, work, row_out):
    for i in kept_places(family, work):
        row_out[family.members[work.columns[i]]] = 1
