# mypy: allow-untyped-defs, allow-untyped-calls
"""The Newton direction from the rows' side of V_SVM, for a ridge and few support rows.

(X_A'W X_A + R)^-1 g = R^-1 g - R^-1 X_A'W^1/2 (I + W^1/2 X_A R^-1 X_A' W^1/2)^-1 W^1/2 X_A R^-1 g
with the ridge R: for unit weights the bracket's inverse is the paper's M11. Costs |S|^2 k + |S|^3
where the columns' side costs k^2 |S| + k^3.
"""

from __future__ import annotations

import math

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.label_family import K
from shtarkov.linalg.cholesky import cholesky, solve_factored


@kernel
def count_support(work):
    """Return how many rows have curvature."""
    n_support = 0
    for i in range(work.weights.size):
        if work.weights[i] > 0.0:
            n_support += 1
    return n_support


@kernel
def support_rows(family, work, n_support):
    """Return W^1/2 X_SA, one support row after another."""
    k = work.counts[K]
    rows = np.empty((n_support, k))
    s = 0
    for i in range(work.weights.size):
        if work.weights[i] > 0.0:
            root = math.sqrt(work.weights[i])
            for a in range(k):
                rows[s, a] = root * family.Xt[work.active[a], i]
            s += 1
    return rows


@kernel
def dual_direction(family, work):
    """Write minus (gram + ridge I)^-1 gradient by the rows' side; return the factor's status."""
    k = work.counts[K]
    rows = support_rows(family, work, count_support(work))
    n_support = rows.shape[0]
    system = rows @ rows.T / family.ridge
    for s in range(n_support):
        system[s, s] += 1.0
    status = cholesky(system, n_support, system)
    pulled = rows @ work.gradient[:k] / family.ridge
    solve_factored(system, n_support, pulled)
    back = rows.T @ pulled
    for a in range(k):
        work.direction[a] = (back[a] - work.gradient[a]) / family.ridge
    return status
