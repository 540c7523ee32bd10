"""ln C without sampling, where the problem and its design allow it: closed form or enumeration."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from shtarkov.complexity.closed_form import (
    elastic_net_ln_c,
    group_lasso_ln_c,
    group_lasso_ln_c_restricted,
    orthogonal_group_norms,
    orthogonal_norms,
)
from shtarkov.complexity.enumeration import enumerate_strata
from shtarkov.complexity.exact_path import common_scale
from shtarkov.complexity.region import Luckiness, NormBall
from shtarkov.complexity.result import ComplexityResult
from shtarkov.complexity.singular_values import nuclear_ln_c
from shtarkov.complexity.spectrum import ENUMERATE_UP_TO, StratumSpectrum, stratum_spectrum
from shtarkov.errors import InvalidProblem
from shtarkov.families.matrix_problems import NuclearNorm
from shtarkov.families.problems import ElasticNet, GroupLasso, Lasso


@functools.singledispatch
def exact_ln_c(
    problem: Any, lam: float, sigma: float, where: Luckiness | NormBall, method: str
) -> ComplexityResult | None:
    """Take the closed form or the enumeration if it applies and is wanted.

    Raises `InvalidProblem` if `method` insists on one that does not apply.
    """
    if method in ("closed_form", "enumerate"):
        msg = f"method={method!r} is not available for {type(problem).__name__}; use 'auto'"
        raise InvalidProblem(msg)
    return None


def _lasso(
    problem: Lasso, lam: float, sigma: float, where: Luckiness | NormBall, method: str
) -> ComplexityResult | None:
    norms = orthogonal_if_wanted(problem, method)
    if norms is None and not enumerates(problem, method):
        return None
    chosen = "closed_form" if norms is not None else "enumerate"
    return from_spectrum(stratum_spectrum(problem, lam, sigma=sigma, method=chosen), where)


def _elastic_net(
    problem: ElasticNet, lam: float, sigma: float, where: Luckiness | NormBall, method: str
) -> ComplexityResult | None:
    norms = orthogonal_if_wanted(problem, method)
    if norms is None and not enumerates(problem, method):
        return None
    refuse_ball(problem, where)
    lam_l1, lam_l2 = problem.penalties(lam)
    tau = where.tau if isinstance(where, Luckiness) else None
    if norms is not None:
        value = elastic_net_ln_c(norms, lam_l1, lam_l2, tau, sigma)
        return ComplexityResult(value, 0.0, "closed_form", where)
    if lam_l2 == 0.0:
        table = enumerate_strata(problem.design.X, lam_l1, sigma)
    else:
        table = enumerate_strata(problem.design.X, lam_l1, sigma, lam_l2, tau=tau)
    value, error = table.ln_c(lam_l1 if tau is None else tau)
    return ComplexityResult(value, error, "enumerate", where)


def _group_lasso(
    problem: GroupLasso, lam: float, sigma: float, where: Luckiness | NormBall, method: str
) -> ComplexityResult | None:
    X, weights = problem.design.X, problem.group_weights + problem.l1_ratio
    is_simple = problem.l1_ratio == 0.0 or np.all(problem.groups.sizes == 1)
    found = orthogonal_group_norms(X, problem.groups.group_of) if is_simple else None
    if found is not None and method in ("auto", "closed_form"):
        norms, sizes = found
        if isinstance(where, NormBall):
            value = group_lasso_ln_c_restricted(
                norms, sizes, lam, where.radius, weights=weights, sigma=sigma
            )
        else:
            value = group_lasso_ln_c(norms, sizes, lam, weights=weights, tau=where.tau, sigma=sigma)
        return ComplexityResult(value, 0.0, "closed_form", where)
    if method == "closed_form":
        msg = "closed_form needs orthogonal columns, equally long within a group; use method='auto'"
        raise InvalidProblem(msg)
    if np.all(problem.groups.sizes == 1) and enumerates(problem, method):
        table = enumerate_strata(X / weights[problem.groups.group_of], lam, sigma)
        refuse_ball(problem, where)
        tau = where.tau if isinstance(where, Luckiness) else None
        value, error = table.ln_c(lam if tau is None else tau)
        return ComplexityResult(value, error, "enumerate", where)
    if method == "enumerate":
        raise InvalidProblem("enumerate counts cells of single columns; use method='auto'")
    return None


def _nuclear_norm(
    problem: NuclearNorm, lam: float, sigma: float, where: Luckiness | NormBall, method: str
) -> ComplexityResult | None:
    refuse_ball(problem, where)
    scale = common_scale(problem)
    if method == "enumerate":
        raise InvalidProblem("the nuclear norm has no cells to enumerate; use method='auto'")
    if scale is None and method == "closed_form":
        raise InvalidProblem("closed_form needs shape=(m, n) or orthonormal columns of X")
    if scale is None or method not in ("auto", "closed_form"):
        return None
    tau = where.tau if isinstance(where, Luckiness) and where.tau is not None else lam
    value = nuclear_ln_c(problem.design.reduced_shape, lam / scale, tau / scale, sigma)
    return ComplexityResult(value, 0.0, "closed_form", where)


exact_ln_c.register(Lasso, _lasso)
exact_ln_c.register(ElasticNet, _elastic_net)
exact_ln_c.register(GroupLasso, _group_lasso)
exact_ln_c.register(NuclearNorm, _nuclear_norm)


def orthogonal_if_wanted(problem: Any, method: str) -> Any:
    """Give the lengths of orthogonal columns if a closed form is wanted and there is one."""
    norms = orthogonal_norms(problem.design.X) if method in ("auto", "closed_form") else None
    if norms is None and method == "closed_form":
        raise InvalidProblem("closed_form needs orthogonal columns; use method='auto'")
    return norms


def enumerates(problem: Any, method: str) -> bool:
    """Say whether all cells are to be counted."""
    small: bool = problem.design.X.shape[1] <= ENUMERATE_UP_TO
    return method == "enumerate" or (method == "auto" and small)


def refuse_ball(problem: Any, where: Luckiness | NormBall) -> None:
    """Say that the restricted integral is the Lasso's alone."""
    if isinstance(where, NormBall):
        name = type(problem).__name__
        msg = f"the restricted integral is available for Lasso; use region=None for {name}"
        raise InvalidProblem(msg)


def from_spectrum(spectrum: StratumSpectrum, where: Luckiness | NormBall) -> ComplexityResult:
    """Read one functional off the spectrum."""
    if isinstance(where, NormBall):
        value, error = spectrum.ln_c_restricted(where.radius)
    else:
        value, error = spectrum.ln_c(spectrum.lam if where.tau is None else where.tau)
    method = "path" if spectrum.method == "sampled" else spectrum.method
    return ComplexityResult(
        value,
        error,
        method,
        where,
        spectrum.n_draws,
        spectrum.ess,
        spectrum.rank_rhat,
        spectrum.failures,
        spectrum.seed,
        spectrum.warnings,
    )
