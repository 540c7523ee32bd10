"""From a public problem to the compiled family that solves it, in units of the noise scale."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from shtarkov.families import group_moves  # noqa: F401 - registers what the samplers ask
from shtarkov.families.build import check_memory, check_problem, check_sigma
from shtarkov.families.group_lasso import GroupLassoFamily
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.matrix_problems import NuclearNorm
from shtarkov.families.nuclear_norm import NuclearFamily
from shtarkov.families.problems import ElasticNet, GroupLasso, Lasso
from shtarkov.types import Floats, Ints

# Up to this many columns the Gram matrix is held (200 MB at most): a correlation update then costs
# D k instead of N D. Beyond it no D x D array is ever made.
GRAM_LIMIT = 5000
# Columns whose correlation is below this are orthogonal to rounding; where fewer than this share of
# pairs of groups touch, the factor skips the others.
CORRELATED = 1e-12
SPARSE_SHARE = 0.5
# Optimality conditions of the Group Lasso hold to this share of lam w_g: the gap is then about as
# small, a hundredth of what would be seen.
SOLVER_ACCURACY = 1e-12


@functools.singledispatch
def family_of(problem: Any, lam: float, sigma: float = 1.0) -> Any:
    """Return the family of `problem` at `lam`, with data and penalty divided by `sigma`."""
    check_problem(problem)
    name = type(problem).__name__
    msg = (
        f"{name} has no compiled family; use shtarkov.Lasso, ElasticNet, GroupLasso or NuclearNorm"
    )
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


@family_of.register
def _group_lasso(problem: GroupLasso, lam: float, sigma: float = 1.0) -> GroupLassoFamily:
    weights, l1 = problem.group_weights, problem.l1_ratio
    group_of = problem.groups.group_of
    return group_family(problem.design.X, group_of, weights, lam / check_sigma(sigma), l1)


def group_family(
    X: Any, group_of: Ints, weights: Floats, lam: float, l1: float = 0.0
) -> GroupLassoFamily:
    """Arrange the columns group by group.

    Parameters
    ----------
    X : (n, D) reduced columns
    group_of : (D,) number of each column's group, 0 to G - 1
    weights : (G,) weights in the norm
    lam : penalty in units of the noise scale
    l1 : weight of the absolute values in the norm
    """
    members = np.argsort(group_of, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(group_of, minlength=weights.size))))
    Xt = np.ascontiguousarray(X.T[members])
    gram = _gram(Xt)
    ends = itertools.pairwise(starts)
    return GroupLassoFamily(
        Xt=Xt,
        gram=gram,
        lam=float(lam),
        starts=starts,
        members=members,
        weights=weights,
        l1=float(l1),
        steps=np.array([np.linalg.norm(Xt[first:last], 2) ** 2 for first, last in ends]),
        reach=_reach(Xt, starts, weights + l1),
        touching=_touching(gram, starts),
        accuracy=SOLVER_ACCURACY,
    )


@family_of.register
def _nuclear_norm(problem: NuclearNorm, lam: float, sigma: float = 1.0) -> NuclearFamily:
    design = problem.design
    return NuclearFamily(design.scales, design.basis, design.n_targets, lam / check_sigma(sigma))


def _reach(Xt: Any, starts: Any, weights: Floats) -> float:
    """Give the median over groups of the length of all their columns over the weight."""
    squares = np.einsum("ij,ij->i", Xt, Xt)
    return float(np.median(np.sqrt(np.add.reduceat(squares, starts[:-1])) / weights))


def _touching(gram: Any, starts: Any) -> Any:
    """Say which groups are correlated; nothing where most are, or no Gram matrix is held."""
    dense = np.zeros((0, 0), np.bool_)
    if gram.size == 0:
        return dense
    lengths = np.sqrt(np.diag(gram))
    scale = np.outer(lengths, lengths)
    far = np.abs(gram) > CORRELATED * scale
    touching = np.logical_or.reduceat(np.logical_or.reduceat(far, starts[:-1], 0), starts[:-1], 1)
    touching |= np.eye(touching.shape[0], dtype=np.bool_)
    return touching if touching.mean() < SPARSE_SHARE else dense


def _gram(Xt: Any) -> Any:
    """Give X'X where it is small enough to be held, else nothing."""
    n_features = Xt.shape[0]
    if n_features > GRAM_LIMIT:
        return np.zeros((0, 0))
    check_memory(8 * n_features**2, "the Gram matrix", "use fewer columns")
    return Xt @ Xt.T


def _l1_family(X: Any, lam: float, ridge_ratio: float, ridge: float) -> LassoFamily:
    Xt = np.ascontiguousarray(X.T)
    return LassoFamily(Xt, _gram(Xt), float(lam), float(ridge_ratio), float(ridge))
