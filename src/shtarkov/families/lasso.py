# mypy: allow-untyped-defs, allow-untyped-calls
"""The Lasso and, with a ridge, the Elastic Net as a compiled family.

Objective: half the squared residual + lam * |beta|_1 + half lam2 * |beta|^2 (no 1/n), sigma = 1.

On a cell (A, s): X_A'r = lam s + lam2 beta_A, so beta_A = (H + lam2 I)^-1 (X_A'y - lam s). Without
ridge, given cell and residual, the |beta_j| are independent exponentials of rate `weight`: the
fibre move redraws them. With ridge the residual determines beta and the fibre is a point.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import facts, protocol
from shtarkov.families import observables as obs
from shtarkov.families.active_set import relax as relax_active_set
from shtarkov.families.active_work import (
    assign,
    copy_state,
    correlate,
    dot,
    make_work,
    subtract_rows,
    update_residual,
)
from shtarkov.linalg.cholesky import cholesky, log_det_factored, solve_factored, solve_lower
from shtarkov.types import Fit, Floats, Status

OK = int(Status.OK)


class LassoFamily(NamedTuple):
    """A reduced design at one penalty.

    Attributes
    ----------
    Xt : (D, n) the columns of X as rows
    gram : (D, D) X'X, or (0, 0) when it is not held
    lam : weight of the l1 norm
    ridge_ratio, ridge : lam2 = ridge_ratio * lam + ridge; both zero for the Lasso
    """

    Xt: Floats
    gram: Floats
    lam: float
    ridge_ratio: float
    ridge: float


@kernel
def ridge_weight(family):
    """Return lam2."""
    return family.ridge_ratio * family.lam + family.ridge


@kernel
def l1_and_square(work):
    """Return |beta|_1 and |beta|^2."""
    norm, square = 0.0, 0.0
    for i in range(work.counts[0]):
        norm += abs(work.coef[i])
        square += work.coef[i] * work.coef[i]
    return norm, square


@protocol.with_lam.register(LassoFamily)
def _with_lam(family, lam):
    return LassoFamily(family.Xt, family.gram, lam, family.ridge_ratio, family.ridge)


@protocol.new_work.register(LassoFamily)
def _new_work(family, capacity):
    n_features, n = family.Xt.shape
    return make_work(n, n_features, family.gram.shape[0], min(n_features, capacity))


@protocol.copy_work.register(LassoFamily)
def _copy_work(family, source, destination):
    copy_state(source, destination)


@protocol.image.register(LassoFamily)
def _image(family, v, out):
    if out.size > 0:
        correlate(family.Xt, v, out)


@protocol.relax.register(LassoFamily)
def _relax(family, y, work):
    return relax_active_set(family.Xt, family.gram, family.lam, ridge_weight(family), y, work)


@protocol.potential.register(LassoFamily)
def _potential(family, weight, work):
    norm, square = l1_and_square(work)
    residual_sq = dot(work.residual, work.residual)
    return 0.5 * residual_sq + weight * norm + 0.5 * ridge_weight(family) * square


@protocol.write_force.register(LassoFamily)
def _write_force(family, weight, y, work, force_out, image_out):
    k = work.counts[0]
    assign(work.residual, force_out)
    if image_out.size > 0:
        assign(work.corr, image_out)
    if weight == family.lam:
        return
    # gradient of |beta|_1 in y: X_A (H + lam2 I)^-1 s
    for i in range(k):
        work.target[i] = (family.lam - weight) * work.signs[i]
    solve_factored(work.chol, k, work.target)
    subtract_rows(family.Xt, work.active, work.target, k, force_out)
    if image_out.size > 0:
        subtract_rows(family.gram, work.active, work.target, k, image_out)


@protocol.refresh_fibre.register(LassoFamily)
def _refresh_fibre(family, weight, y, work, rng):
    if ridge_weight(family) > 0.0:
        return
    k = work.counts[0]
    for i in range(k):
        drawn = work.signs[i] * rng.standard_exponential() / weight
        work.target[i] = work.coef[i] - drawn
        work.coef[i] = drawn
    subtract_rows(family.Xt, work.active, work.target, k, y)
    if work.z.size > 0:
        subtract_rows(family.gram, work.active, work.target, k, work.z)


@kernel
def degrees_of_freedom(lam2, work):
    """Return tr(H (H + lam2 I)^-1) = k - lam2 |L^-1|_F^2, L the factor of H + lam2 I."""
    k = work.counts[0]
    if lam2 == 0.0:
        return float(k)
    inverse_sq = 0.0
    for i in range(k):
        for j in range(k):
            work.target[j] = 0.0
        work.target[i] = 1.0
        solve_lower(work.chol, k, work.target)
        for j in range(i, k):
            inverse_sq += work.target[j] * work.target[j]
    return k - lam2 * inverse_sq


@kernel
def sign_energy(work):
    """Return s'(H + lam2 I)^-1 s."""
    k = work.counts[0]
    for i in range(k):
        work.target[i] = work.signs[i]
    solve_lower(work.chol, k, work.target)
    return dot(work.target[:k], work.target[:k])


@kernel
def log_volume(lam2, work):
    """Return -ln J_cons = ln det(H + lam2 I) - half ln det H; infinite where k exceeds n."""
    k = work.counts[0]
    log_det_bent = log_det_factored(work.chol, k)
    if lam2 == 0.0:
        return 0.5 * log_det_bent
    gram = work.gram_active[:k, :k].copy()
    for i in range(k):
        gram[i, i] -= lam2
    if cholesky(gram, k, gram) != OK:
        return math.inf
    return log_det_bent - 0.5 * log_det_factored(gram, k)


@kernel
def worst_condition(lam, lam2, work):
    """Return the largest violation of the optimality conditions in units of lam."""
    worst = 0.0
    for j in range(work.corr.size):
        if work.position[j] < 0:
            worst = max(worst, abs(work.corr[j]) - lam)
    for i in range(work.counts[0]):
        wanted = lam * work.signs[i] + lam2 * work.coef[i]
        worst = max(worst, abs(work.corr[work.active[i]] - wanted))
    return worst / lam


@protocol.observe.register(LassoFamily)
def _observe(family, weight, work, row_out):
    lam2 = ridge_weight(family)
    norm, square = l1_and_square(work)
    residual_sq = dot(work.residual, work.residual)
    penalty = family.lam * norm + 0.5 * lam2 * square
    row_out[obs.K] = work.counts[0]
    row_out[obs.DF] = degrees_of_freedom(lam2, work)
    row_out[obs.PENALTY] = penalty
    row_out[obs.SLOPE] = family.lam * (norm + 0.5 * family.ridge_ratio * square)
    row_out[obs.FIT_RESIDUAL] = family.lam * norm + lam2 * square
    row_out[obs.RESIDUAL_SQ] = residual_sq
    row_out[obs.ENVELOPE] = 0.5 * residual_sq + penalty
    row_out[obs.NORM] = norm
    row_out[obs.SIGN_ENERGY] = sign_energy(work)
    row_out[obs.LOG_VOLUME] = log_volume(lam2, work)
    row_out[obs.KKT_RESIDUAL] = worst_condition(family.lam, lam2, work)


@protocol.mark_active.register(LassoFamily)
def _mark_active(family, work, row_out):
    for i in range(work.counts[0]):
        row_out[work.active[i]] = 1


@protocol.solve.register(LassoFamily)
def _solve(family, y, start):
    protocol.image(family, y, start.z)
    work, status = start, protocol.relax(family, y, start)
    update_residual(family.Xt, y, work)
    k = work.counts[0]
    norm, square = l1_and_square(work)
    lam2 = ridge_weight(family)
    penalty = family.lam * norm + 0.5 * lam2 * square
    coef = np.zeros(family.Xt.shape[0])
    for i in range(k):
        coef[work.active[i]] = work.coef[i]
    return Fit(
        coef,
        work.active[:k].copy(),
        work.signs[:k].copy(),
        work.residual.copy(),
        0.5 * dot(work.residual, work.residual) + penalty,
        penalty,
        degrees_of_freedom(lam2, work),
        status,
    )


@protocol.penalty_value.register(LassoFamily)
def _penalty_value(family, coef):
    return family.lam * np.sum(np.abs(coef)) + 0.5 * ridge_weight(family) * np.sum(coef * coef)


@protocol.penalty_curvature.register(LassoFamily)
def _penalty_curvature(family, fit):
    return ridge_weight(family) * np.eye(fit.active.size)


@protocol.log_likelihood.register(LassoFamily)
def _log_likelihood(family, y, fit):
    return -0.5 * (np.sum(fit.residual * fit.residual) + y.size * math.log(2.0 * math.pi))


@protocol.kkt_residual.register(LassoFamily)
def _kkt_residual(family, y, fit):
    corr = family.Xt @ (y - family.Xt.T @ fit.coef)
    lam2 = ridge_weight(family)
    worst = 0.0
    for j in range(corr.size):
        if fit.coef[j] == 0.0:
            violation = abs(corr[j]) - family.lam
        else:
            wanted = family.lam * np.sign(fit.coef[j]) + lam2 * fit.coef[j]
            violation = abs(corr[j] - wanted)
        worst = max(worst, violation)
    return worst / family.lam


@protocol.lam_max.register(LassoFamily)
def _lam_max(family, y):
    return np.max(np.abs(family.Xt @ y))


@facts.facts_of.register
def _facts(family: LassoFamily) -> facts.Facts:
    """Without ridge the fibre move redraws the fitted part; with one the flow must cross it.

    Its width in data space is |x| / lam, or less where the ridge confines it:
    sqrt((|x|^2 + lam2) / lam2).
    """
    n_features, n = family.Xt.shape
    ridge, width = float(ridge_weight(family)), 1.0
    if ridge > 0.0:
        square = float(np.median(np.einsum("ij,ij->i", family.Xt, family.Xt)))
        width = min(math.sqrt(square) / family.lam, math.sqrt((square + ridge) / ridge))
    return facts.Facts(n, n_features, width, ridge == 0.0, 2.0 * n_features * n)


@facts.relax_work.register
def _relax_work(family: LassoFamily, n_active: float) -> float:
    n_features, n = family.Xt.shape
    correlating = n_features * (n_active + 4.0) if family.gram.size else n_features * n
    return correlating + n * (n_active + 4.0)


@facts.at_penalties.register
def _at_penalties(family: LassoFamily, lam: float, lam2: float) -> LassoFamily:
    return LassoFamily(family.Xt, family.gram, float(lam), 0.0, float(lam2))
