# mypy: allow-untyped-defs, allow-untyped-calls
"""What certifies a sparse classifier: the objective, the dual value, the columns that violate.

The dual point is the multipliers, scaled into the polytope |X'(y a)| <= lam when there is no ridge.
"""

from __future__ import annotations

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.families.label_family import DUAL, HALF_SQUARES, LOSS, NORM, PRIMAL, K
from shtarkov.families.svm_losses import dual_value, loss_value


@kernel
def write_primal(family, y, work):
    """Write the objective at the present coefficients, and its parts."""
    loss = 0.0
    for i in range(y.size):
        loss += loss_value(family.loss, y[i] * work.scores[i])
    norm, squares = 0.0, 0.0
    for a in range(work.counts[K]):
        if work.signs[a] != 0.0:
            norm += abs(work.coef[a])
            squares += work.coef[a] * work.coef[a]
    work.values[LOSS] = loss
    work.values[NORM] = norm
    work.values[HALF_SQUARES] = 0.5 * squares
    work.values[PRIMAL] = loss + family.lam * norm + 0.5 * family.ridge * squares


@kernel
def class_scales(family, y, work):
    """Return factors for both classes, at most one, that make the signed multipliers sum to 0."""
    if family.n_free == 0:
        return 1.0, 1.0
    positive, negative = 0.0, 0.0
    for i in range(y.size):
        if y[i] > 0.0:
            positive += work.multipliers[i]
        else:
            negative += work.multipliers[i]
    least = min(positive, negative)
    return least / max(positive, 1e-300), least / max(negative, 1e-300)


@reduction_kernel
def ridge_conjugate(corr, n_penalised, lam, ridge):
    """Return sum_j max(0, |c_j| - lam)^2 / (2 ridge)."""
    total = 0.0
    for j in range(n_penalised):
        excess = max(0.0, abs(corr[j]) - lam)
        total += excess * excess
    return 0.5 * total / ridge


@reduction_kernel
def largest_size(values, n):
    """Return the largest absolute value of the first n entries."""
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(values[j]))
    return largest


@kernel
def write_dual(family, y, work):
    """Write the dual value of the multipliers, made feasible; `corr` must be theirs."""
    n_penalised = work.corr.size - family.n_free
    first, second = class_scales(family, y, work)
    shrink, paid = 1.0, 0.0
    if family.ridge > 0.0:
        paid = ridge_conjugate(work.corr, n_penalised, family.lam, family.ridge)
    else:
        shrink = min(1.0, family.lam / max(largest_size(work.corr, n_penalised), 1e-300))
    total = 0.0
    for i in range(y.size):
        scale = shrink * (first if y[i] > 0.0 else second)
        total += dual_value(family.loss, scale * work.multipliers[i])
    work.values[DUAL] = total - paid


@kernel
def list_violators(family, threshold, work):
    """List the inactive columns whose correlation passes `threshold`; return how many."""
    found = 0
    for j in range(work.corr.size - family.n_free):
        if abs(work.corr[j]) > threshold and work.position[j] < 0:
            work.entering[found] = j
            found += 1
    return found


@kernel
def list_worst(family, threshold, most, work):
    """List the inactive columns whose correlation passes `threshold`, of many about `most`."""
    found = list_violators(family, threshold, work)
    while found > most:
        largest = largest_size(work.corr, work.corr.size - family.n_free)
        threshold += 0.3 * (largest - threshold)
        found = list_violators(family, threshold, work)
    return found
