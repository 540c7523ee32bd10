# mypy: allow-untyped-defs, allow-untyped-calls
"""Heights of rays for any family: the envelope is solved for at points of the ray.

With g(u) = n_dim u - E(e^u y) - half e^2u orthogonal_sq, computes the log of
max_u exp g / integral of exp g du (sigma = 1), as `complexity.rays` does for the Lasso without
solving. g is concave and its slope, n_dim - e^u <y, r(e^u y)> - e^2u orthogonal_sq, comes with
every solve: between two points g is their cubic (Hermite), integrated by Gauss-Legendre. Points are
a fixed share of 1 / sqrt(n_dim) apart, which is at least the integrand's width / sqrt(2), and each
solve starts from the last. Nothing depends on the length of y.
Slow twins: `complexity.rays`, and points ten times as close (tests/oracle/test_solved_rays.py).
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import protocol
from shtarkov.families.active_work import dot
from shtarkov.types import Status

OK = int(Status.OK)
NOT_CONVERGED = int(Status.NOT_CONVERGED)
# A direction is left once the integrand is below exp(-DROP) of its largest value and falling.
DROP = 14.0
# Distance of two points in units of 1 / sqrt(n_dim).
SPACING = 0.5
MAX_POINTS = 100_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
# Points at which the cubic is asked for its maximum: flat there, so a few are enough.
_PROBES = np.linspace(0.0, 1.0, 9)


@kernel
def cubic(share, length, left, left_slope, right, right_slope):
    """Return the Hermite cubic at a share of the way between two points."""
    rest = 1.0 - share
    ends = rest * rest * (1.0 + 2.0 * share) * left + share * share * (3.0 - 2.0 * share) * right
    return ends + length * share * rest * (rest * left_slope - share * right_slope)


@kernel
def add_piece(length, left, left_slope, right, right_slope, best, total):
    """Add one piece of the ray; gives (best, total)."""
    for i in range(_NODES.size):
        share = 0.5 * (1.0 + _NODES[i])
        value = cubic(share, length, left, left_slope, right, right_slope)
        total += 0.5 * length * _WEIGHTS[i] * math.exp(value)
    for i in range(_PROBES.size):
        best = max(best, cubic(_PROBES[i], length, left, left_slope, right, right_slope))
    return best, total


@kernel
def solve_on_ray(family, n_dim, y, image, orthogonal_sq, u, work, point):
    """Solve at e^u y; gives (g, its slope, status)."""
    scale = math.exp(u)
    for i in range(y.size):
        point[i] = scale * y[i]
    for j in range(image.size):
        work.z[j] = scale * image[j]
    status = protocol.relax(family, point, work)
    across = scale * scale * orthogonal_sq
    value = n_dim * u - protocol.potential(family, family.lam, work) - 0.5 * across
    return value, n_dim - dot(point, work.residual) - across, status


@kernel
def integrate_direction(family, n_dim, y, image, orthogonal_sq, start, step, best, total, work):
    """Integrate from u = 0 outwards; `start` is (g, slope) there. Gives (best, total, status)."""
    point = np.empty(y.size)
    offset, left, left_slope, u = start[0], 0.0, start[1], 0.0
    for _ in range(MAX_POINTS):
        u += step
        right, right_slope, status = solve_on_ray(
            family, n_dim, y, image, orthogonal_sq, u, work, point
        )
        if status != OK:
            return best, total, status
        right -= offset
        if step > 0.0:
            best, total = add_piece(step, left, left_slope, right, right_slope, best, total)
        else:
            best, total = add_piece(-step, right, right_slope, left, left_slope, best, total)
        left, left_slope = right, right_slope
        if step * right_slope < 0.0 and right < best - DROP:
            return best, total, OK
    return best, total, NOT_CONVERGED


@kernel
def log_height(family, n_dim, y, orthogonal_sq, work, spare):
    """Return the log of max / integral along the ray through y, and the status.

    The first point is brought near the mode: from there the sums neither overflow nor take long.
    """
    point, image = np.empty(y.size), np.empty(work.z.size)
    protocol.image(family, y, image)
    scale = math.sqrt(n_dim / (dot(y, y) + orthogonal_sq))  # the mode if no column is active
    near = scale * y
    image *= scale
    across = scale * scale * orthogonal_sq
    value, slope, status = solve_on_ray(family, n_dim, near, image, across, 0.0, work, point)
    if status != OK:
        return math.nan, status
    protocol.copy_work(family, work, spare)
    start, step = (value, slope), SPACING / math.sqrt(n_dim)
    best, total, status = integrate_direction(
        family, n_dim, near, image, across, start, step, 0.0, 0.0, spare
    )
    if status != OK:
        return math.nan, status
    protocol.copy_work(family, work, spare)
    best, total, status = integrate_direction(
        family, n_dim, near, image, across, start, -step, best, total, spare
    )
    return best - math.log(total), status


@kernel
def log_heights(family, n_dim, data, orthogonal_sq, first, out, work, spare):
    """Fill `out` for the data vectors from `first` on; gives (first one not done, status)."""
    for i in range(first, data.shape[0]):
        height, status = log_height(family, n_dim, data[i], orthogonal_sq[i], work, spare)
        if status != OK:
            return i, status
        out[i] = height
    return data.shape[0], OK
