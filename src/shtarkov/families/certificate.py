"""How far an estimate can be from the best one: a bound that trusts no solver.

For a penalty that is lam times a norm, the residual scaled into the dual ball is feasible for the
dual problem, and the optimum lies between the two objectives. The least penalty at which data are
estimated as zero (`protocol.lam_max`) is the dual norm of their product with X.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.families import protocol
from shtarkov.families.compiled import family_of
from shtarkov.families.group_lasso import GroupLassoFamily
from shtarkov.families.nuclear_norm import NuclearFamily
from shtarkov.types import Floats


@functools.singledispatch
def fitted_values(family: Any, coef: Floats) -> Floats:
    """Give the fit of all penalised coefficients in the reduced space."""
    msg = f"fitted_values is not implemented for {type(family).__name__}"
    raise NotImplementedError(msg)


@fitted_values.register
def _group_fit(family: GroupLassoFamily, coef: Floats) -> Floats:
    return np.asarray(coef[family.members] @ family.Xt)


@fitted_values.register
def _nuclear_fit(family: NuclearFamily, coef: Floats) -> Floats:
    matrix = coef.reshape(-1, family.n_targets)
    return np.asarray((family.scales[:, None] * (family.basis.T @ matrix)).ravel())


def duality_gap(family: Any, y: Floats, coef: Floats) -> float:
    """Give the objective at `coef` less the dual objective at its scaled residual."""
    fitted = fitted_values(family, coef)
    residual = y - fitted
    largest = float(protocol.lam_max(family, residual))
    share = 1.0 if largest <= family.lam else family.lam / largest
    loss = 0.5 * float(residual @ residual) * (1.0 - share) ** 2
    return loss + float(protocol.penalty_value(family, coef)) - share * float(fitted @ residual)


def relative_gap(problem: Any, y: Any, lam: float, coef: ArrayLike) -> float:
    """Give the duality gap as a share of the objective at `coef`; 0 where lam is infinite.

    Parameters
    ----------
    problem : `GroupLasso` or `NuclearNorm`
    y : the data, as given to `select`
    lam : penalty in the units of the data
    coef : all penalised coefficients, those of several targets row by row
    """
    if not np.isfinite(lam):
        return 0.0
    family, coefficients = family_of(problem, lam), np.array(coef, dtype=np.float64)
    reduced = problem.design.reduce_response(y).y
    residual = reduced - fitted_values(family, coefficients)
    objective = 0.5 * float(residual @ residual)
    objective += float(protocol.penalty_value(family, coefficients))
    return duality_gap(family, reduced, coefficients) / objective
