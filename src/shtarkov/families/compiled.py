"""From a public problem to the compiled family that solves it, in units of the noise scale."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from shtarkov.families.build import check_memory, check_problem, check_sigma
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.problems import ElasticNet, Lasso

# Up to this many columns the Gram matrix is held (200 MB at most): a correlation update then costs
# D k instead of N D. Beyond it no D x D array is ever made.
GRAM_LIMIT = 5000


@functools.singledispatch
def family_of(problem: Any, lam: float, sigma: float = 1.0) -> Any:
    """Return the family of `problem` at `lam`, with data and penalty divided by `sigma`."""
    check_problem(problem)
    msg = f"{type(problem).__name__} has no compiled family; use shtarkov.Lasso or ElasticNet"
    raise NotImplementedError(msg)


@family_of.register
def _lasso(problem: Lasso, lam: float, sigma: float = 1.0) -> LassoFamily:
    return _l1_family(problem.design.X, lam / check_sigma(sigma), 0.0, 0.0)


@family_of.register
def _elastic_net(problem: ElasticNet, lam: float, sigma: float = 1.0) -> LassoFamily:
    # y = sigma u, beta = sigma b: the l1 weight becomes lam / sigma, the l2 weight stays.
    ratio = 0.0 if problem.l2_ratio is None else problem.l2_ratio * sigma
    ridge = 0.0 if problem.lam2 is None else problem.lam2
    return _l1_family(problem.design.X, lam / check_sigma(sigma), ratio, ridge)


def _l1_family(X: Any, lam: float, ridge_ratio: float, ridge: float) -> LassoFamily:
    n_features = X.shape[1]
    Xt = np.ascontiguousarray(X.T)
    gram = np.zeros((0, 0))
    if n_features <= GRAM_LIMIT:
        check_memory(8 * n_features**2, "the Gram matrix", "use fewer columns")
        gram = Xt @ Xt.T
    return LassoFamily(Xt, gram, float(lam), float(ridge_ratio), float(ridge))
