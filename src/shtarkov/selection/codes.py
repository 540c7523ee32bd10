"""Which codes a problem has, and the coefficients its free code reports.

Every problem has the empty model and the matched code. Dispatched on the problem's type, so that
`select` knows no family by name.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from shtarkov.families.compiled import group_family
from shtarkov.families.problems import ElasticNet, GroupLasso, Lasso
from shtarkov.families.solved_path import WarmSolver
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.relaxed import relaxed_coefficients
from shtarkov.types import Floats


@functools.singledispatch
def codes_of(problem: Any) -> tuple[str, ...]:
    """Name the codes that can compete."""
    return ("empty", "matched")


def _lasso_codes(problem: Lasso) -> tuple[str, ...]:
    return ("empty", "matched", "free", "subset")


codes_of.register(Lasso, _lasso_codes)


def _elastic_net_codes(problem: ElasticNet) -> tuple[str, ...]:
    return ("empty", "matched", "subset")


codes_of.register(ElasticNet, _elastic_net_codes)


def _group_lasso_codes(problem: GroupLasso) -> tuple[str, ...]:
    return ("empty", "matched", "free")


codes_of.register(GroupLasso, _group_lasso_codes)


@functools.singledispatch
def free_coefficients(problem: Any, data: DataPart, lam: float, tau: float) -> Floats:
    """Give the estimate at penalty tau on what penalty lam leaves active."""
    msg = f"free_coefficients is not implemented for {type(problem).__name__}"
    raise NotImplementedError(msg)


def _lasso_free(problem: Lasso, data: DataPart, lam: float, tau: float) -> Floats:
    support = data.solve_at(np.array([lam]), np.zeros(1))[0].active
    return relaxed_coefficients(problem.design.X, data.response.y, support, tau)


free_coefficients.register(Lasso, _lasso_free)


def _group_lasso_free(problem: GroupLasso, data: DataPart, lam: float, tau: float) -> Floats:
    active = data.solve_at(np.array([lam]), np.zeros(1))[0].active
    coef = np.zeros(problem.design.n_features)
    if active.size == 0:
        return coef
    columns = np.sort(active)
    groups, renumbered = np.unique(problem.groups.group_of[columns], return_inverse=True)
    X, weights = problem.design.X[:, columns], problem.weights[groups]
    solver = WarmSolver(group_family(X, renumbered, weights, tau), data.response.y)
    coef[columns] = solver.fit(tau).coef
    return coef


free_coefficients.register(GroupLasso, _group_lasso_free)
