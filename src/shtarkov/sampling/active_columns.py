# mypy: allow-untyped-defs, allow-untyped-calls
"""What the geometry of a proposal asks of a family: its active columns, their Gram factor, lam2.

The Lasso and the Elastic Net keep a list of active columns and the factor of their bent Gram
matrix; the Group Lasso keeps whole groups and the Gram matrix itself.
"""

from __future__ import annotations

import numpy as np

from shtarkov._jit import generic
from shtarkov.families.group_lasso import GroupLassoFamily
from shtarkov.families.lasso import LassoFamily, ridge_weight
from shtarkov.linalg.cholesky import OK, cholesky


@generic
def active_rows(family, work):
    """Return a list whose first counts[0] entries are the active columns' rows in family.Xt."""


@generic
def weight_of_squares(family):
    """Return lam2, the weight of half the squared coefficients."""


@generic
def factor_gram(family, work, bent, chol_out):
    """Write the factor of H, or of H + lam2 I if `bent`; return the status."""


@generic
def active_curvature(family, work):
    """Return the (k, k) second derivative of the penalty on the active coefficients."""


@generic
def wanted_pull(family, work, i):
    """Return entry i of the penalty's gradient, which X_A'r must equal."""


@active_rows.register(LassoFamily)
def _lasso_rows(family, work):
    return work.active


@weight_of_squares.register(LassoFamily)
def _lasso_squares(family):
    return ridge_weight(family)


@factor_gram.register(LassoFamily)
def _lasso_gram(family, work, bent, chol_out):
    k = work.counts[0]
    lam2 = ridge_weight(family)
    if bent or lam2 == 0.0:
        for i in range(k):
            for j in range(i + 1):
                chol_out[i, j] = work.chol[i, j]
        return OK
    gram = work.gram_active[:k, :k].copy()
    for i in range(k):
        gram[i, i] -= lam2
    return cholesky(gram, k, chol_out)


@active_curvature.register(LassoFamily)
def _lasso_curvature(family, work):
    return ridge_weight(family) * np.eye(work.counts[0])


@wanted_pull.register(LassoFamily)
def _lasso_pull(family, work, i):
    return family.lam * work.signs[i] + ridge_weight(family) * work.coef[i]


@active_rows.register(GroupLassoFamily)
def _group_rows(family, work):
    return work.columns


@weight_of_squares.register(GroupLassoFamily)
def _group_squares(family):
    return 0.0


@factor_gram.register(GroupLassoFamily)
def _group_gram(family, work, bent, chol_out):
    return cholesky(work.gram_active, work.counts[0], chol_out)


@active_curvature.register(GroupLassoFamily)
def _group_curvature(family, work):
    k = work.counts[0]
    curvature = np.zeros((k, k))
    for a in range(work.counts[1]):
        scale = family.lam * family.weights[work.groups[a]] / work.norms[a]
        for i in range(work.offsets[a], work.offsets[a + 1]):
            for j in range(work.offsets[a], work.offsets[a + 1]):
                curvature[i, j] = -scale * work.units[i] * work.units[j]
            curvature[i, i] += scale
    return curvature


@wanted_pull.register(GroupLassoFamily)
def _group_pull(family, work, i):
    a = 0
    while work.offsets[a + 1] <= i:
        a += 1
    return family.lam * family.weights[work.groups[a]] * work.units[i]
