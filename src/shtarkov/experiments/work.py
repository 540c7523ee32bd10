"""What a cell does. Every function takes settings and gives a `CellResult`; none sees another cell.

The numbers depend on the settings alone, apart from times.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import shtarkov
from shtarkov.blas import one_blas_thread
from shtarkov.experiments import operators
from shtarkov.experiments.cell_result import CellResult, Settings
from shtarkov.experiments.designs import (
    METHODS,
    has_labels,
    problem_of,
    sampler_options,
    true_coef,
)
from shtarkov.experiments.grid import Cell
from shtarkov.experiments.machine import machine
from shtarkov.experiments.measures import measure, measure_labels

# The search for a penalty: draws of each of its chains, and rounds of regula falsi in ln lam.
PENALTY_DRAWS, PENALTY_WARMUP, PENALTY_CHAINS, PENALTY_ROUNDS = 300, 100, 4, 8
# Relative error of the mean k at which it stops.
PENALTY_TOLERANCE = 0.02
FIRST_STEP = math.log(1.25)


def penalty(settings: Settings) -> CellResult:
    """Find the penalty at which the mean number of active coefficients is the one asked for.

    Hamiltonian draws at a few penalties, with the same seed at each so that the curve is smooth;
    E[k] falls in lam, and Illinois' regula falsi in (ln lam, ln E[k]) needs a handful of them.
    """
    problem, target = problem_of(settings), settings["wanted_k"]
    options: dict[str, Any] = METHODS["default", settings["model"]]

    def gap(log_lam: float) -> float:
        chains = shtarkov.sample(
            problem,
            math.exp(log_lam),
            n_draws=PENALTY_DRAWS,
            n_warmup=PENALTY_WARMUP,
            n_chains=PENALTY_CHAINS,
            seed=settings["seed"],
            n_jobs=1,
            progress=False,
            **options,
        )
        active = chains.n_margin if has_labels(settings) else chains.k
        # Half a draw more, so that a logarithm exists where nothing was ever active.
        mean = (float(active.sum()) + 0.5) / active.size
        return math.log(mean / target)

    left = first_guess(settings["n_features"], target)
    left_gap = gap(left)
    step = FIRST_STEP if left_gap > 0.0 else -FIRST_STEP
    right, right_gap = left + step, gap(left + step)
    while left_gap * right_gap > 0.0:
        left, left_gap = right, right_gap
        step *= 2.0
        right = left + step
        right_gap = gap(right)
    log_lam, reached = illinois(gap, (left, left_gap), (right, right_gap))
    return CellResult({"lam": math.exp(log_lam), "mean_k": target * math.exp(reached)})


def first_guess(n_features: int, target: float) -> float:
    """Give ln lam that solves E[k] = target for orthonormal columns (a closed form)."""
    low, high = -4.0, 3.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        lam = math.exp(middle)
        density = math.exp(-0.5 * lam * lam) / math.sqrt(2.0 * math.pi)
        active = 2.0 * density / lam
        share = active / (active + math.erf(lam / math.sqrt(2.0)))
        low, high = (middle, high) if n_features * share > target else (low, middle)
    return 0.5 * (low + high)


def illinois(
    gap: Callable[[float], float], left: tuple[float, float], right: tuple[float, float]
) -> tuple[float, float]:
    """Find where `gap` changes its sign between two points; give the best point seen."""
    best = min(left, right, key=lambda point: abs(point[1]))
    for _ in range(PENALTY_ROUNDS):
        if abs(best[1]) < PENALTY_TOLERANCE:
            break
        place = right[0] - right[1] * (right[0] - left[0]) / (right[1] - left[1])
        new = (place, gap(place))
        best = min(best, new, key=lambda point: abs(point[1]))
        if new[1] * right[1] < 0.0:
            left = right
        else:
            left = (left[0], 0.5 * left[1])
        right = new
    return best


def sample(settings: Settings) -> CellResult:
    """Run the chains of one cell at its penalty, and measure them."""
    truth = true_coef(settings["n_features"], settings["n_nonzero"], settings["size"])
    of_labels = has_labels(settings)
    known = {"record": ("data",)} if of_labels else {"truth": truth, "record": ("active",)}
    problem = problem_of(settings)
    began = time.perf_counter(), time.process_time()
    chains = shtarkov.sample(
        problem,
        settings["lam"],
        n_draws=settings["n_draws"],
        n_warmup=settings["n_warmup"],
        n_chains=settings["n_chains"],
        seed=settings["seed"] + settings["replicate"],
        n_jobs=1,
        progress=False,
        **known,
        **sampler_options(settings),
    )
    cpu_share = (time.process_time() - began[1]) / (time.perf_counter() - began[0])
    cpu_share = min(cpu_share, 1.0)
    if of_labels:
        row = measure_labels(chains, problem, truth, cpu_share)
    else:
        row = measure(chains, settings["n_samples"], cpu_share)
    return CellResult(row, chains if settings["keep_traces"] else None)


WORK: dict[str, Callable[[Settings], CellResult]] = {
    "penalty": penalty,
    "sample": sample,
    "operators": operators.operators,
    "identity": operators.identity,
    "support": operators.support,
    "group_blocks": operators.group_blocks,
    "projector_error": operators.projector_error,
    "divergence": operators.divergence,
}


def do(cell: Cell) -> CellResult:
    """Do the work of a cell on one thread."""
    began = time.perf_counter()
    with one_blas_thread():
        result = WORK[cell.kind](dict(cell.settings))
    took = {"cell_ms": 1e3 * (time.perf_counter() - began), "machine": machine()}
    return result._replace(row={**result.row, **took})
