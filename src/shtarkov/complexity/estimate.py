"""One ln C at one penalty: exact where that is cheap, sampled elsewhere."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

from shtarkov.blas import one_blas_thread
from shtarkov.complexity.exact import exact_ln_c, from_spectrum, refuse_ball
from shtarkov.complexity.label_complexity import label_complexity
from shtarkov.complexity.ladder import TOLERATED
from shtarkov.complexity.luckiness import luckiness_ladder
from shtarkov.complexity.path import penalty_path
from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.complexity.region import Luckiness, NormBall
from shtarkov.complexity.result import ComplexityResult
from shtarkov.complexity.spectrum import stratum_spectrum
from shtarkov.errors import InvalidProblem, SamplingWarning
from shtarkov.families.build import check_lam, check_sigma
from shtarkov.families.compiled import family_of
from shtarkov.families.label_problems import SparseLogistic, SparseSVM
from shtarkov.families.problems import Lasso
from shtarkov.progress import METER_UNITS, InnerProgress, Progress, resolve_progress, tracked
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.seeds import resolve_seed
from shtarkov.settings import check_run

# The error of the bridge is known only afterwards: draws are raised to what it asks for.
BRIDGE_TRIES = 8
METHODS = ("auto", "closed_form", "enumerate", "path", "bridge")


def complexity(
    problem: Any,
    lam: float,
    *,
    sigma: float = 1.0,
    tau: float | None = None,
    region: Luckiness | NormBall | None = None,
    method: str = "auto",
    std_error: float = 0.05,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 200_000,
) -> ComplexityResult:
    """Estimate ln C, the stochastic complexity, at one penalty.

    Parameters
    ----------
    problem : `Lasso`, `ElasticNet`, `GroupLasso`, ..., or for labels `SparseSVM`, `SparseLogistic`
    lam : the penalty, for half the squared residual plus lam times the norm
    sigma : noise standard deviation
    tau : luckiness weight exp(-tau norm / sigma^2); None means tau = lam
    region : None for the luckiness integral, `NormBall(R)` for the restricted one (Lasso)
    method : "closed_form" (orthogonal columns), "enumerate" (up to a dozen columns, or for labels
        14 rows), "path" (derivative identity), "bridge" (Bennett ratios; matched luckiness only,
        except for labels) or "auto", which takes the first that is exact and cheap
    std_error : standard error wanted from the sampling methods, in nats
    n_chains, n_jobs, seed, progress, max_draws : as for `complexity_path`

    Examples
    --------
    >>> import numpy as np
    >>> from shtarkov import Lasso, complexity
    >>> complexity(Lasso(np.eye(3)), 1.5)
    ln C = 0.114995 ± 0.000000 nats (closed_form, luckiness)
    """
    check_run(std_error=std_error, max_draws=max_draws, n_chains=n_chains, n_jobs=n_jobs)
    where = _region(tau, region)
    check_lam(lam)
    check_sigma(sigma)
    if method not in METHODS:
        msg = f"method must be one of {', '.join(METHODS)}; got {method!r}"
        raise InvalidProblem(msg)
    result: ComplexityResult = estimate(
        problem,
        lam,
        sigma,
        where,
        method,
        std_error=std_error,
        n_chains=n_chains,
        n_jobs=n_jobs,
        seed=seed,
        progress=progress,
        max_draws=max_draws,
    )
    for text in result.warnings:
        warnings.warn(text, SamplingWarning, stacklevel=2)
    return result


@functools.singledispatch
def estimate(
    problem: Any, lam: float, sigma: float, where: Luckiness | NormBall, method: str, **options: Any
) -> ComplexityResult:
    """Do the work of `complexity` by problem, here for continuous data; warnings are left."""
    exact = exact_ln_c(problem, lam, sigma, where, method)
    return exact or _sampled(problem, lam, sigma, where, method, **options)


estimate.register(SparseSVM, label_complexity)
estimate.register(SparseLogistic, label_complexity)


def _region(tau: float | None, region: Any) -> Luckiness | NormBall:
    if region is None:
        return Luckiness(tau)
    if tau is not None:
        raise InvalidProblem("give tau or region, not both: a region has no luckiness weight")
    if not isinstance(region, Luckiness | NormBall):
        msg = f"region must be None or shtarkov.NormBall(R); got {region!r}"
        raise InvalidProblem(msg)
    return region


def _sampled(
    problem: Any, lam: float, sigma: float, where: Luckiness | NormBall, method: str, **options: Any
) -> ComplexityResult:
    """Sample: along the penalty for the matched weight, then along tau for any other."""
    matched = isinstance(where, Luckiness) and where.tau in (None, lam)
    if matched:
        return _at_matched_weight(problem, lam, sigma, where, method, **options)
    if method == "bridge":
        raise InvalidProblem("the bridge serves tau = lam; use method='path' for other weights")
    if isinstance(where, Luckiness):
        return _at_weight(problem, lam, sigma, where, **options)
    if not isinstance(problem, Lasso):
        refuse_ball(problem, where)
    spectrum = stratum_spectrum(
        problem, lam, sigma=sigma, tau_min=lam, radius=where.radius, method="sampled", **options
    )
    return from_spectrum(spectrum, where)


def _at_matched_weight(
    problem: Any, lam: float, sigma: float, where: Luckiness | NormBall, method: str, **options: Any
) -> ComplexityResult:
    """Go down the penalty path to lam, again with more draws if the bridge needs them."""
    wanted, chosen = options.pop("std_error"), resolve_seed(options.pop("seed"))
    share = wanted
    for _ in range(BRIDGE_TRIES):
        path = penalty_path(problem, [lam], sigma=sigma, std_error=share, seed=chosen, **options)
        result = _from_path(path, where, method)
        if method != "bridge" or result.std_error <= TOLERATED * wanted:
            break
        share *= 0.9 * wanted / result.std_error
    return result


def _at_weight(
    problem: Any,
    lam: float,
    sigma: float,
    where: Luckiness,
    *,
    std_error: float,
    seed: Any,
    progress: Any,
    **options: Any,
) -> ComplexityResult:
    """Go down the penalty path to lam with tau = lam, then along tau."""
    assert where.tau is not None
    chosen, share = resolve_seed(seed), std_error / math.sqrt(2.0)
    with (
        InterruptWatch(),
        one_blas_thread(),
        tracked(resolve_progress(progress), 2 * METER_UNITS, "ln C") as bar,
    ):
        path = penalty_path(
            problem,
            [lam],
            sigma=sigma,
            std_error=share,
            seed=chosen,
            progress=InnerProgress(bar),
            **options,
        )
        tau = where.tau / sigma
        ladder = luckiness_ladder(
            family_of(problem, lam, sigma),
            tau,
            tau,
            std_error=share,
            seed=chosen + 1,
            bar=bar,
            **options,
        )
    rise, error = ladder.relative_ln_c(tau, ladder.kappa)
    return ComplexityResult(
        float(path.ln_c[0]) + rise,
        math.hypot(error, float(path.std_error[0])),
        "path",
        where,
        path.n_draws + ladder.n_draws,
        _smallest(path.ess, ladder.ess),
        _largest(path.rank_rhat, ladder.rank_rhat),
        path.failures + ladder.failures,
        chosen,
        (*path.warnings, *ladder.warnings),
    )


def _smallest(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)


def _largest(*values: float | None) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _from_path(path: ComplexityPath, where: Luckiness | NormBall, method: str) -> ComplexityResult:
    value, error, chosen = float(path.ln_c[0]), float(path.std_error[0]), "path"
    if method == "bridge" and path.bridge_ln_c is not None and path.bridge_std_error is not None:
        # The last node of the ladder is the smallest penalty asked for.
        value, error = float(path.bridge_ln_c[-1]), float(path.bridge_std_error[-1])
        chosen = "bridge"
    return ComplexityResult(
        value,
        error,
        chosen,
        where,
        path.n_draws,
        path.ess,
        path.rank_rhat,
        path.failures,
        path.seed,
        path.warnings,
    )
