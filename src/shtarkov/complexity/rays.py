# mypy: allow-untyped-defs, allow-untyped-calls
"""The integral of the density along the ray through a data vector: what an unknown scale costs.

With t = e^u and g(u) = n_dim u - E(e^u y) - half e^2u orthogonal_sq, computes the log of
max_u exp g / integral of exp g du (sigma = 1, objective as in `families.active_set`). g is concave,
because E is convex with its minimum at zero. E(t y) = t^2 E_{lam / t}(y) when lam2 does not change,
so one walk in lam gives E on the whole ray: a quadratic in t between breakpoints, integrated there
by Gauss-Legendre pieces far shorter than g's width. Nothing depends on the length of y.
Slow twin: one solve per point of a fine grid (tests/oracle/test_noise_scale.py).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.active_set import relax
from shtarkov.families.active_work import copy_state, correlate, dot
from shtarkov.families.homotopy import NOT_CONVERGED, OK, make_walk, max_events, wall_slack
from shtarkov.families.homotopy_lam import segment_quadratic, start_walk, walk_segment
from shtarkov.families.homotopy_y import solve_along_data

# A direction is left once the integrand is below exp(-DROP) of its largest value and falling:
# what is cut off is below 1e-5 of the integral.
DROP = 14.0
# Length of a piece in units of 1 / sqrt(n_dim), which is at least the integrand's width / sqrt(2).
PIECE = 0.5
MAX_PIECES = 100_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)


@kernel
def integrate_piece(n_dim, square, linear, offset, start, stop):
    """Integrate exp(n_dim u - square e^2u - linear e^u - offset) over one short piece."""
    half, middle = 0.5 * (stop - start), 0.5 * (stop + start)
    total = 0.0
    for i in range(_NODES.size):
        u = middle + half * _NODES[i]
        t = math.exp(u)
        total += _WEIGHTS[i] * math.exp(n_dim * u - (square * t + linear) * t - offset)
    return abs(half) * total


@kernel
def segment_mode(n_dim, square, linear, offset, start, stop):
    """Return the largest exponent on a segment if it lies inside, else minus infinity."""
    t = 2.0 * n_dim / (linear + math.sqrt(linear * linear + 8.0 * square * n_dim))
    u = math.log(t)
    if not min(start, stop) <= u <= max(start, stop):
        return -math.inf
    return n_dim * u - (square * t + linear) * t - offset


@kernel
def integrate_segment(n_dim, square, linear, offset, start, stop, direction, best, total):
    """Add a segment; gives (best, total, whether the rest of this direction is negligible)."""
    best = max(best, segment_mode(n_dim, square, linear, offset, start, stop))
    length = PIECE / math.sqrt(n_dim)
    u = start
    for _ in range(MAX_PIECES):
        end = u + direction * length
        last = direction * (stop - end) <= 0.0
        if last:
            end = stop
        total += integrate_piece(n_dim, square, linear, offset, u, end)
        u = end
        t = math.exp(u)
        value = n_dim * u - (square * t + linear) * t - offset
        best = max(best, value)
        rising = direction * (n_dim - (2.0 * square * t + linear) * t) > 0.0
        if not rising and value < best - DROP:
            return best, total, True
        if last:
            return best, total, False
    return best, math.nan, True


@kernel
def log_ratio(numerator, denominator):
    """Return ln(numerator / denominator), infinite where one of them is zero or infinite."""
    if denominator == 0.0:
        return math.inf
    ratio = numerator / denominator
    return math.log(ratio) if ratio > 0.0 else -math.inf


@kernel
def integrate_direction(
    Xt, gram, kappa, lam2, n_dim, y, orthogonal_sq, offset, lam_slope, best, total, work
):
    """Integrate from t = 1 outwards: up in t is down in lam; gives (best, total, status)."""
    n_features, n = Xt.shape
    walk = make_walk(n, n_features, False)
    y_sq = dot(y, y)
    slack = wall_slack(kappa, np.max(np.abs(work.z)) if work.z.size > 0 else math.sqrt(y_sq))
    limit = 0.0 if lam_slope < 0.0 else math.inf
    lam, u = kappa, 0.0
    status = start_walk(Xt, gram, lam, lam_slope, lam2, y, slack, walk, work)
    for _ in range(max_events(work)):
        if status != OK:
            return best, total, status
        terms = segment_quadratic(lam, lam_slope, y_sq, work)
        lam, status = walk_segment(Xt, gram, lam, lam_slope, limit, lam2, y, slack, walk, work)
        square, linear = terms.e0 + 0.5 * orthogonal_sq, terms.e1 * kappa
        shift = offset + terms.e2 * kappa * kappa
        end = log_ratio(kappa, lam)
        best, total, done = integrate_segment(
            n_dim, square, linear, shift, u, end, -lam_slope, best, total
        )
        if done:
            return best, total, OK
        u = end
    return best, total, NOT_CONVERGED


@kernel
def log_height(Xt, gram, kappa, lam2, n_dim, y, orthogonal_sq, work, spare):
    """Return the log of max / integral along the ray through y, and the status."""
    if work.z.size > 0:
        correlate(Xt, y, work.z)
    status = relax(Xt, gram, kappa, lam2, y, work)
    if status == NOT_CONVERGED:
        status, _ = solve_along_data(Xt, gram, kappa, lam2, y, work)
    if status != OK:
        return math.nan, status
    copy_state(work, spare)
    envelope = 0.5 * dot(y, work.residual) + 0.5 * orthogonal_sq
    for i in range(work.counts[0]):
        envelope += 0.5 * kappa * abs(work.coef[i])
    best, total, status = integrate_direction(
        Xt, gram, kappa, lam2, n_dim, y, orthogonal_sq, -envelope, 1.0, 0.0, 0.0, spare
    )
    if status != OK:
        return math.nan, status
    copy_state(work, spare)
    best, total, status = integrate_direction(
        Xt, gram, kappa, lam2, n_dim, y, orthogonal_sq, -envelope, -1.0, best, total, spare
    )
    return best - math.log(total), status


@kernel
def log_heights(Xt, gram, kappa, lam2, n_dim, data, orthogonal_sq, first, out, work, spare):
    """Fill `out` for the data vectors from `first` on; gives (first one not done, status)."""
    for i in range(first, data.shape[0]):
        height, status = log_height(
            Xt, gram, kappa, lam2, n_dim, data[i], orthogonal_sq[i], work, spare
        )
        if status != OK:
            return i, status
        out[i] = height
    return data.shape[0], OK
