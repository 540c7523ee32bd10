# mypy: allow-untyped-defs, allow-untyped-calls
"""The fibre move of the nuclear norm: new singular values for the estimate, the residual kept.

A residual r whose S'r has lam as a singular value r times, with vectors U, V, belongs to all
estimates U A V', A positive semidefinite. In the coordinates (residual, A) the volume of data space
is det M(A) det T(A), M the second derivative (`nuclear_tangent`) and T the polar decomposition's
factor, so under the luckiness law with weight w the conditional density of A is

    exp(-w tr A) det M(A) prod_{i<j} (theta_i + theta_j) prod_i theta_i^(p + q - 2r),

theta the eigenvalues of A; in the eigenvalues alone there is also prod_{i<j} |theta_i - theta_j|.
On the identity design this is the density of singular values given those below lam. The moves are
Metropolis steps on ln theta, all at once and one at a time; their scale depends on the rank only,
which they do not change. Which one is drawn at random: the places of the values are those of a
sorted decomposition, made anew by the next solve, and a sweep in that order would have no reverse
once two values have changed places. Rotations of A are left to the flow.
"""

from __future__ import annotations

import math

from shtarkov._jit import kernel
from shtarkov.families.nuclear_volume import has_equal_scales, log_det_second_derivative
from shtarkov.families.nuclear_work import NORM, OBJECTIVE, compose

# Steps of a random walk on the logarithm of a value with about so many factors (Gelman, Roberts and
# Gilks 1996), and how many such steps are taken.
STEP = 2.4
ALL_AT_ONCE = 2
# Beyond this size of the determinant the values are moved all at once only: it would cost more than
# the flow.
LARGEST_SINGLE = 40


@kernel
def log_density(family, weight, work):
    """Return the log of the conditional density of ln theta, up to a constant."""
    rank = work.counts[0]
    p, q = work.coef.shape
    total = log_det_second_derivative(family, work)
    for i in range(rank):
        theta = work.values[i]
        total += (p + q - 2 * rank + 1) * math.log(theta) - weight * theta
        for j in range(i):
            other = work.values[j]
            total += math.log(theta + other) + math.log(abs(theta - other))
    return total


@kernel
def try_scaling(family, weight, work, first, last, scale, present, rng):
    """Scale values first ... last - 1 by one factor or put them back; return the density."""
    factor = math.exp(scale * rng.standard_normal())
    for i in range(first, last):
        work.values[i] *= factor
    proposed = log_density(family, weight, work)
    if math.isfinite(proposed) and rng.random() < math.exp(min(0.0, proposed - present)):
        return proposed
    for i in range(first, last):
        work.values[i] /= factor
    return present


@kernel
def shift_data(family, before, y, work):
    """Compose the estimate again and move y by as much as the fit moved."""
    p, q = work.coef.shape
    norm, rank = 0.0, work.counts[0]
    for i in range(rank):
        norm += work.values[i]
    work.numbers[OBJECTIVE] += family.lam * (norm - work.numbers[NORM])
    work.numbers[NORM] = norm
    compose(work, rank)
    for a in range(p):
        for b in range(q):
            y[a * q + b] += family.scales[a] * (work.coef[a, b] - before[a, b])


@kernel
def refresh_singular_values(family, weight, y, work, rng):
    """Move the singular values of the estimate given the residual; `y` follows."""
    rank = work.counts[0]
    if rank == 0:
        return
    p, q = work.coef.shape
    present = log_density(family, weight, work)
    if not math.isfinite(present):
        return
    before = work.coef.copy()
    together = STEP / math.sqrt(rank * (p + q - rank))
    for _ in range(ALL_AT_ONCE):
        present = try_scaling(family, weight, work, 0, rank, together, present, rng)
    if has_equal_scales(family) or rank * work.values.size <= LARGEST_SINGLE:
        single = STEP / math.sqrt(p + q - 1)
        for _ in range(rank):
            i = int(rank * rng.random())
            present = try_scaling(family, weight, work, i, i + 1, single, present, rng)
    shift_data(family, before, y, work)
