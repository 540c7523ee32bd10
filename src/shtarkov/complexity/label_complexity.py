"""One ln C of labels: enumerated where possible, else sampled along the penalty or along eta."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shtarkov.blas import one_blas_thread
from shtarkov.complexity.label_base import ln_c_without_columns
from shtarkov.complexity.label_enumeration import LARGEST_N, enumerate_labels
from shtarkov.complexity.label_ladder import FIRST_DRAWS, LabelLadder
from shtarkov.complexity.label_law import Law, towards
from shtarkov.complexity.label_path import label_path
from shtarkov.complexity.ladder import INTERRUPTED, UNREACHED
from shtarkov.complexity.region import Luckiness, NormBall
from shtarkov.complexity.result import ComplexityResult
from shtarkov.errors import InvalidProblem
from shtarkov.families.label_problems import LabelProblem, refuse_sigma, stated_eta
from shtarkov.families.sparse_svm import label_family, largest_lam_max
from shtarkov.progress import METER_UNITS, Meter, resolve_progress, tracked
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.seeds import resolve_seed
from shtarkov.types import Floats

# What the bar expects before the first errors are known: draws of every chain for this error.
USUAL_DRAWS, USUAL_ERROR = 500, 0.05


def label_complexity(
    problem: LabelProblem,
    lam: float,
    sigma: float,
    where: Luckiness | NormBall,
    method: str,
    **options: Any,
) -> ComplexityResult:
    """Do the work of `complexity` for labels.

    "path" goes down from lam = infinity at fixed eta and serves tau = lam; "bridge" goes up from
    eta = 0 at fixed lam and serves any tau; "auto" enumerates where there are few rows.
    """
    refuse_sigma(sigma)
    if isinstance(where, NormBall):
        raise InvalidProblem("labels are finite in number: their sum needs no region")
    eta = stated_eta(problem)
    small = problem.design.n_samples <= LARGEST_N
    if method == "enumerate" or (method == "auto" and small):
        return enumerate_labels(problem, lam, tau=where.tau)
    if lam >= largest_lam_max(problem) and method in ("auto", "closed_form"):
        value = ln_c_without_columns(problem, eta)
        return ComplexityResult(value, 0.0, "closed_form", where)
    if method == "closed_form":
        raise InvalidProblem("closed_form needs a penalty no column passes; use method='auto'")
    matched = where.tau in (None, lam)
    if method == "path" and not matched:
        raise InvalidProblem("the path serves tau = lam; use method='bridge' for other weights")
    if method == "bridge" or not matched:
        return _bridged(problem, lam, eta, where, **options)
    path = label_path(problem, [lam], **options)
    return ComplexityResult(
        float(path.ln_c[0]),
        float(path.std_error[0]),
        "path",
        where,
        path.n_draws,
        path.ess,
        path.rank_rhat,
        path.failures,
        path.seed,
        path.warnings,
    )


def _bridged(
    problem: LabelProblem,
    lam: float,
    eta: float,
    where: Luckiness,
    *,
    std_error: float,
    n_chains: int,
    n_jobs: int | None,
    seed: int | np.random.SeedSequence | None,
    progress: Any,
    max_draws: int,
) -> ComplexityResult:
    """Climb from eta = 0, where ln C is N ln 2."""
    chosen = resolve_seed(seed)
    law = Law(eta, eta * (lam if where.tau is None else where.tau))
    with (
        InterruptWatch(),
        one_blas_thread(),
        tracked(resolve_progress(progress), METER_UNITS, "ln C of labels") as bar,
    ):
        family, meter = label_family(problem, lam), Meter(bar)
        # Before the ladder's first draws: the bar would be full, and silent, for all the others.
        meter.plan(int(USUAL_DRAWS * n_chains * max(1.0, (USUAL_ERROR / std_error) ** 2)))
        ladder = LabelLadder(family, seed=chosen, n_chains=n_chains, n_jobs=n_jobs, bar=meter)
        ladder.climb(towards(law))
        ladder.settle()
        ln_c, covariance, stopped = _refined(ladder, law, std_error, max_draws)
    error = math.sqrt(float(covariance[0, 0]))
    rank_rhat, ess, worries = ladder.diagnostics()
    if stopped:
        worries = (*worries, INTERRUPTED)
    elif error > 1.3 * std_error:
        worries = (*worries, UNREACHED)
    return ComplexityResult(
        float(ln_c[0]),
        error,
        "bridge",
        where,
        ladder.n_draws,
        ess,
        rank_rhat,
        ladder.failures,
        chosen,
        worries,
    )


def _refined(
    ladder: LabelLadder, law: Law, std_error: float, max_draws: int
) -> tuple[Floats, Floats, bool]:
    """Give ln C and its covariance; say if Ctrl-C ended the draws."""
    try:
        return *ladder.refine([law], std_error, max_draws), False
    except KeyboardInterrupt:
        if ladder.n_tower_draws < FIRST_DRAWS:
            raise
        return *ladder.ln_c([law]), True
