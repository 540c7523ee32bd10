# mypy: allow-untyped-defs, allow-untyped-calls
"""The nuclear norm as a compiled family: matrix denoising and reduced-rank regression.

Objective: half |Y - S B|^2 + lam |B|_*, sigma = 1, S the design's singular values (`nuclear_work`).
The data vector is Y row by row. `k` counts the rank. The residual alone does not say what B is: B
may be U A V' for any positive semidefinite A (`nuclear_fibre`).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import facts, protocol
from shtarkov.families import observables as obs
from shtarkov.families.active_work import assign, dot
from shtarkov.families.nuclear_fibre import refresh_singular_values
from shtarkov.families.nuclear_solve import relax_nuclear
from shtarkov.families.nuclear_tangent import add_tangent, core_gram, direction_rhs, solve_tangent
from shtarkov.families.nuclear_volume import df_and_volume, has_equal_scales
from shtarkov.families.nuclear_work import (
    NORM,
    VIOLATION,
    NuclearFamily,
    copy_state,
    make_work,
)
from shtarkov.types import Fit

__all__ = ["NuclearFamily"]


@protocol.with_lam.register(NuclearFamily)
def _with_lam(family, lam):
    return NuclearFamily(family.scales, family.basis, family.n_targets, lam)


@protocol.new_work.register(NuclearFamily)
def _new_work(family, capacity):
    return make_work(family.scales.size, family.n_targets)


@protocol.copy_work.register(NuclearFamily)
def _copy_work(family, source, destination):
    copy_state(source, destination)


@protocol.image.register(NuclearFamily)
def _image(family, v, out):
    pass


@protocol.relax.register(NuclearFamily)
def _relax(family, y, work):
    return relax_nuclear(family, y, work)


@protocol.potential.register(NuclearFamily)
def _potential(family, weight, work):
    return 0.5 * dot(work.residual, work.residual) + weight * work.numbers[NORM]


@kernel
def norm_gradient(family, work):
    """Return the coefficients' derivative B' of B along the gradient of the norm: M^-1 U V'."""
    direction = np.zeros(work.coef.shape)
    rank = work.counts[0]
    if rank > 0:
        core = core_gram(family, work, rank)
        tangent = solve_tangent(family, work, core, direction_rhs(work, rank))
        add_tangent(work, rank, tangent, direction)
    return direction


@protocol.write_force.register(NuclearFamily)
def _write_force(family, weight, y, work, force_out, image_out):
    assign(work.residual, force_out)
    if weight == family.lam:
        return
    direction = norm_gradient(family, work)
    p, q = direction.shape
    for a in range(p):
        for b in range(q):
            force_out[a * q + b] += (weight - family.lam) * family.scales[a] * direction[a, b]


@protocol.refresh_fibre.register(NuclearFamily)
def _refresh_fibre(family, weight, y, work, rng):
    refresh_singular_values(family, weight, y, work, rng)


@kernel
def norm_loss(family, work):
    """Return minus the slope of the norm in lam: <U V', M^-1 U V'>."""
    if has_equal_scales(family):
        return work.counts[0] / (family.scales[0] * family.scales[0])
    direction, total = norm_gradient(family, work), 0.0
    for i in range(work.counts[0]):
        total += dot(work.left[i], np.dot(direction, work.right[i]))
    return total


@protocol.observe.register(NuclearFamily)
def _observe(family, weight, work, row_out):
    norm = work.numbers[NORM]
    residual_sq = dot(work.residual, work.residual)
    df, log_volume = df_and_volume(family, work)
    fitted = 0.0
    p, q = work.coef.shape
    for a in range(p):
        for b in range(q):
            fitted += family.scales[a] * work.coef[a, b] * work.residual[a * q + b]
    row_out[obs.K] = work.counts[0]
    row_out[obs.DF] = df
    row_out[obs.PENALTY] = family.lam * norm
    row_out[obs.SLOPE] = family.lam * norm
    row_out[obs.FIT_RESIDUAL] = fitted
    row_out[obs.RESIDUAL_SQ] = residual_sq
    row_out[obs.ENVELOPE] = 0.5 * residual_sq + family.lam * norm
    row_out[obs.NORM] = norm
    row_out[obs.SIGN_ENERGY] = norm_loss(family, work)
    row_out[obs.LOG_VOLUME] = log_volume
    row_out[obs.KKT_RESIDUAL] = work.numbers[VIOLATION] / family.lam


@protocol.mark_active.register(NuclearFamily)
def _mark_active(family, work, row_out):
    for i in range(work.counts[0]):
        row_out[i] = 1


@protocol.solve.register(NuclearFamily)
def _solve(family, y, start):
    status = protocol.relax(family, y, start)
    rank = start.counts[0]
    penalty = family.lam * start.numbers[NORM]
    return Fit(
        np.dot(family.basis, start.coef).ravel(),
        np.arange(rank),
        start.values[:rank].copy(),
        start.residual.copy(),
        0.5 * dot(start.residual, start.residual) + penalty,
        penalty,
        df_and_volume(family, start)[0],
        status,
    )


@protocol.penalty_value.register(NuclearFamily)
def _penalty_value(family, coef):
    matrix = coef.copy().reshape(family.basis.shape[0], family.n_targets)
    return family.lam * np.sum(np.linalg.svd(matrix, False)[1])


@protocol.log_likelihood.register(NuclearFamily)
def _log_likelihood(family, y, fit):
    return -0.5 * (np.sum(fit.residual * fit.residual) + y.size * math.log(2.0 * math.pi))


@kernel
def pull_back(family, residual):
    """Return S r as a (p, q) matrix."""
    p, q = family.scales.size, family.n_targets
    pulled = np.empty((p, q))
    for a in range(p):
        for b in range(q):
            pulled[a, b] = family.scales[a] * residual[a * q + b]
    return pulled


@protocol.kkt_residual.register(NuclearFamily)
def _kkt_residual(family, y, fit):
    # G = S r / lam is a subgradient of the norm at B when |G| <= 1 and <G, B> = |B|_*.
    p, q = family.scales.size, family.n_targets
    coef = np.dot(family.basis.T, fit.coef.copy().reshape(family.basis.shape[0], q))
    residual = y.copy()
    for a in range(p):
        for b in range(q):
            residual[a * q + b] -= family.scales[a] * coef[a, b]
    pulled = pull_back(family, residual)
    largest = np.linalg.svd(pulled, False)[1][0]
    norm = np.sum(np.linalg.svd(coef, False)[1])
    slack = abs(family.lam * norm - np.sum(pulled * coef)) / max(norm, 1e-300)
    return max(largest - family.lam, slack if norm > 0.0 else 0.0) / family.lam


@protocol.lam_max.register(NuclearFamily)
def _lam_max(family, y):
    return np.linalg.svd(pull_back(family, y), False)[1][0]


@facts.facts_of.register
def _facts(family: NuclearFamily) -> facts.Facts:
    """Count one column of a recording for each singular value of the estimate, largest first."""
    p, q = family.scales.size, family.n_targets
    return facts.Facts(p * q, min(p, q), 1.0, False, 0.0)


@facts.relax_work.register
def _relax_work(family: NuclearFamily, n_active: float) -> float:
    p, q = family.scales.size, family.n_targets
    decomposition = 20.0 * p * q * min(p, q)
    # Some forty conjugate gradient steps of a Newton step, four products each.
    return decomposition + 160.0 * n_active * (p + q) * min(p, q)
