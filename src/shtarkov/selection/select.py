"""The main job: choose the penalty by minimum description length.

The competitors are codes for one data vector, all in nats up to one shared constant: the empty
model, the matched code (penalty and luckiness weight are one), the free code (threshold and weight
apart) and the subset code (least squares on a stated support). The shortest wins and brings its own
coefficients (THEORY 4b).
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.blas import one_blas_thread
from shtarkov.compile_notice import compile_notice
from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lams, check_non_negative, check_sigma
from shtarkov.families.label_problems import SparseLogistic, SparseSVM
from shtarkov.progress import Progress, resolve_progress, tracked
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.seeds import resolve_seed
from shtarkov.selection.codes import codes_of
from shtarkov.selection.data_part import DataPart, make_data_part
from shtarkov.selection.label_select import select_labels
from shtarkov.selection.lam_grid import FLOOR_RATIO, penalty_grid
from shtarkov.selection.race import Race
from shtarkov.selection.report import SelectionReport
from shtarkov.selection.verdict import assemble
from shtarkov.settings import check_run
from shtarkov.types import Floats

CRITERIA = {
    "auto": ("empty", "matched", "free", "subset"),
    "prediction": ("empty", "matched"),
    "structure": ("empty", "free"),
    "average": ("empty", "matched", "free", "subset"),
}


@functools.singledispatch
def select(
    problem: Any,
    y: ArrayLike,
    *,
    lams: ArrayLike | None = None,
    sigma: str | float = "unknown",
    criterion: str = "auto",
    std_error: float = 0.1,
    conservative: float = 0.0,
    n_grid: int = 100,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 200_000,
) -> SelectionReport:
    """Choose a model for y: the code that describes it in the fewest nats.

    Parameters
    ----------
    problem : `Lasso`, `ElasticNet`, `GroupLasso`, ... on the design, or for labels `SparseSVM`,
        `SparseLogistic`
    y : (N,) data, or labels of any two values
    lams : penalties to choose from, for half the squared residual plus lam times the norm; by
        default a grid from the smallest penalty with an empty model downwards, extended at need
    sigma : the noise standard deviation, or "unknown"
    criterion : "auto" lets all codes compete; "prediction" takes the matched code or the empty
        model; "structure" the free code or the empty model; "average" is "auto" with the
        coefficients of all codes, and of the penalties and supports near the best of each,
        weighted by exp(-codelength), instead of the shortest's alone
    std_error : standard error wanted for every codelength, in nats
    conservative : take the largest penalty whose matched codelength is within this many standard
        errors of the least
    n_grid : penalties in the default grid
    n_chains, n_jobs, seed, progress, max_draws : as for `complexity_path`
    """
    began = time.perf_counter()
    _check_choice(criterion, conservative)
    scale = _known_sigma(sigma)
    check_run(std_error=std_error, max_draws=max_draws, n_chains=n_chains, n_jobs=n_jobs)
    chosen, data = resolve_seed(seed), make_data_part(problem, y, scale)
    grid = _grid(data, lams, n_grid)
    options = {"n_chains": n_chains, "n_jobs": n_jobs, "max_draws": max_draws}
    wanted = tuple(name for name in CRITERIA[criterion] if name in codes_of(problem))
    bar = resolve_progress(progress)
    with InterruptWatch(), one_blas_thread(), compile_notice(), tracked(bar, 1, "codelengths"):
        race = Race(data, grid, wanted, lams is None, chosen, bar, options)
        race.run(std_error, conservative)
    return assemble(
        data,
        race.candidates,
        race.curve,
        race.choice,
        criterion=criterion,
        conservative=conservative,
        std_error=std_error,
        seed=chosen,
        seconds=time.perf_counter() - began,
    )


select.register(SparseSVM, select_labels)
select.register(SparseLogistic, select_labels)


def _check_choice(criterion: str, conservative: float) -> None:
    if criterion not in CRITERIA:
        msg = f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}"
        raise InvalidProblem(msg)
    check_non_negative(conservative, "conservative")


def _known_sigma(sigma: str | float) -> float | None:
    if isinstance(sigma, str):
        if sigma != "unknown":
            msg = f'sigma must be a positive number or "unknown"; got {sigma!r}'
            raise InvalidProblem(msg)
        return None
    return check_sigma(sigma)


def _grid(data: DataPart, lams: ArrayLike | None, n_grid: int) -> Any:
    """Give the kappas to try, descending; empty when no column can enter."""
    if lams is not None:
        return data.kappas_of(_within_reach(check_lams(lams).lams, data))
    if data.kappa_max <= 0.0:
        return np.empty(0)
    return penalty_grid(data.kappa_max, data.n_dim, data.problem.design.n_features, n_points=n_grid)


def _within_reach(lams: Floats, data: DataPart) -> Floats:
    """Refuse penalties so small that sampling there is beyond double precision."""
    entry = data.kappa_max * data.empty_sigma
    if lams[-1] < FLOOR_RATIO * entry:
        msg = (
            f"lams goes down to {lams[-1]:.3g}; the first column enters at {entry:.3g}, and below "
            f"{FLOOR_RATIO:g} of that nothing is left to choose: drop the smaller penalties"
        )
        raise InvalidProblem(msg)
    return lams
