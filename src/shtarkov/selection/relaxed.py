"""Relaxed coefficients: on the support a penalty lam chose, the Lasso with a smaller penalty tau.

Minimises half |y - X_A b|^2 + tau |b|_1 + half lam2 |b|^2 over the columns of a support (no 1/n):
the free code's coefficients (THEORY section 4b), near least squares for strong signals and near the
Lasso for weak ones. It is Meinshausen's relaxed Lasso, with nothing held fixed but the support:
signs are those of the optimum and a coefficient may become zero. Holding the signs of the fit at
lam would solve another problem whose answer can leave its own cell; the two agree unless a sign
changes between lam and tau. At tau = lam the fit at lam comes back. Exact, by the family's solver.
Slow twin: scikit-learn's Lasso on the support's columns (tests/unit/selection/test_relaxed.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.build import check_lams, check_non_negative
from shtarkov.families.lasso import LassoFamily
from shtarkov.types import Floats


def relaxed_coefficients(
    X: ArrayLike, y: ArrayLike, support: ArrayLike, tau: float, *, lam2: float = 0.0
) -> Floats:
    """Fit the columns of a support with penalty `tau`.

    Parameters
    ----------
    X : (n, D) reduced columns, `Design.X`
    y : (n,) reduced data, `ReducedResponse.y`
    support : columns that may be non-zero: the active set of the fit at lam
    tau : positive weight of their absolute values, in the units of lam
    lam2 : weight of half their squares, for the Elastic Net

    Returns
    -------
    (D,) coefficients, zero outside the support
    """
    only: Floats = relaxed_path(X, y, support, [tau], lam2=lam2)[0]
    return only


def relaxed_path(
    X: ArrayLike, y: ArrayLike, support: ArrayLike, taus: ArrayLike, *, lam2: float = 0.0
) -> Floats:
    """Fit the columns of a support at several penalties, each solve starting from the last.

    Parameters
    ----------
    X, y, support, lam2 : as for `relaxed_coefficients`
    taus : (m,) positive penalties in any order

    Returns
    -------
    (m, D) coefficients, in the order of `taus`
    """
    columns = np.asarray(X, dtype=np.float64)
    data = np.ascontiguousarray(y, dtype=np.float64)
    ridge = check_non_negative(lam2, "lam2")
    grid = check_lams(taus)
    if columns.ndim != 2 or data.shape != columns.shape[:1]:
        msg = f"X must be (n, D) and y (n,); got shapes {columns.shape} and {data.shape}"
        raise InvalidProblem(msg)
    chosen = np.unique(np.asarray(support, dtype=np.int64))
    coef: Floats = np.zeros((grid.lams.size, columns.shape[1]))
    if chosen.size == 0:
        return np.zeros((grid.position.size, columns.shape[1]))
    if chosen[0] < 0 or chosen[-1] >= columns.shape[1]:
        msg = f"support must hold column indices from 0 to {columns.shape[1] - 1}"
        raise InvalidProblem(msg)
    Xt = np.ascontiguousarray(columns[:, chosen].T)
    family = LassoFamily(Xt, Xt @ Xt.T, float(grid.lams[0]), 0.0, ridge)
    work = protocol.new_work(family, chosen.size)
    for i, tau in enumerate(grid.lams):
        fit = protocol.solve(protocol.with_lam(family, float(tau)), data, work)
        raise_for_status(fit.status, f"relaxed fit at tau = {tau:g}")
        coef[i, chosen] = fit.coef
    ordered: Floats = coef[grid.position]
    return ordered
