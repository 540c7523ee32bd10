"""The main job: choose the penalty by minimum description length.

The competitors are codes for one data vector, all in nats up to one shared constant: the empty
model, the matched code (penalty and luckiness weight are one), the free code (threshold and weight
apart) and the subset code (least squares on a stated support). The shortest wins and brings its own
coefficients (THEORY 4b).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from shtarkov.compile_notice import compile_notice
from shtarkov.complexity.ray_chain import empty_model_ln_i
from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lams, check_non_negative, check_sigma
from shtarkov.progress import Progress, resolve_progress, tracked
from shtarkov.seeds import resolve_seed
from shtarkov.selection.candidates import Candidate, empty, free, matched, subset
from shtarkov.selection.codes import codes_of
from shtarkov.selection.data_part import DataPart, make_data_part
from shtarkov.selection.free import FreeChoice, free_code
from shtarkov.selection.lam_grid import FLOOR_RATIO, penalty_grid
from shtarkov.selection.matched import MatchedCurve, matched_curve
from shtarkov.selection.report import SelectionReport
from shtarkov.selection.verdict import assemble
from shtarkov.settings import check_run
from shtarkov.types import Floats

CRITERIA = {
    "auto": ("empty", "matched", "free", "subset"),
    "prediction": ("empty", "matched"),
    "structure": ("empty", "free"),
}
# Competitors this close, in standard errors of their difference, are sampled again more finely.
SETTLED = 2.0
MAX_REFINEMENTS = 1
REFINEMENT = 0.5
# The free code is first looked for with this many times the standard error.
COARSE = 4.0


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
    problem : `Lasso`, `ElasticNet`, `GroupLasso`, ... on the design
    y : (N,) data
    lams : penalties to choose from, for half the squared residual plus lam times the norm; by
        default a grid from the smallest penalty with an empty model downwards, extended at need
    sigma : the noise standard deviation, or "unknown"
    criterion : "auto" lets all codes compete; "prediction" takes the matched code or the empty
        model; "structure" the free code or the empty model
    std_error : standard error wanted for every codelength, in nats
    conservative : take the largest penalty whose matched codelength is within this many standard
        errors of the least
    n_grid : penalties in the default grid
    n_chains, n_jobs, seed, progress, max_draws : as for `complexity_path`
    """
    began = time.perf_counter()
    if criterion not in CRITERIA:
        msg = f"criterion must be one of {', '.join(CRITERIA)}; got {criterion!r}"
        raise InvalidProblem(msg)
    check_run(std_error=std_error, max_draws=max_draws, n_chains=n_chains, n_jobs=n_jobs)
    check_non_negative(conservative, "conservative")
    scale, chosen = _known_sigma(sigma), resolve_seed(seed)
    data = make_data_part(problem, y, scale)
    grid = _grid(data, lams, n_grid)
    options = {"n_chains": n_chains, "n_jobs": n_jobs, "max_draws": max_draws}
    possible = codes_of(problem)
    wanted = tuple(name for name in CRITERIA[criterion] if name in possible)
    bar = resolve_progress(progress)
    with threadpool_limits(1), compile_notice(), tracked(bar, 1, "codelengths"):
        race = _Race(data, grid, wanted, lams is None, chosen, bar, options)
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


class _Race:
    """The competitors of one selection, refined while the decision between them is open."""

    def __init__(
        self,
        data: DataPart,
        grid: Any,
        wanted: tuple[str, ...],
        extend: bool,
        seed: int,
        bar: Progress,
        options: dict[str, Any],
    ) -> None:
        self.data, self.grid, self.wanted, self.extend = data, grid, wanted, extend
        self.seed, self.bar, self.options = seed, bar, options
        self.curve: MatchedCurve | None = None
        self.choice: FreeChoice | None = None
        self.candidates: dict[str, Candidate] = {}

    def run(self, std_error: float, conservative: float) -> None:
        """Compute the codelengths; spend more draws where the two best are not told apart."""
        ln_i = 0.0 if self.data.sigma is not None else empty_model_ln_i(self.data.n_dim)
        self.candidates["empty"] = empty(self.data, ln_i)
        if self.grid.size == 0:
            return
        if "subset" in self.wanted:
            self.candidates["subset"] = subset(self.data, self.candidates["empty"].code.nats)
        for refinement in range(MAX_REFINEMENTS + 1):
            accuracy = std_error * REFINEMENT**refinement
            self._sample_matched(accuracy, conservative)
            self._sample_free(accuracy)
            if not self._open():
                return

    def _sample_matched(self, std_error: float, conservative: float) -> None:
        self.curve = matched_curve(
            self.data,
            self.grid,
            std_error=std_error,
            extend=self.extend,
            seed=self.seed,
            bar=self.bar,
            **self.options,
        )
        if "matched" in self.wanted:
            self.candidates["matched"] = matched(self.data, self.curve, conservative)

    def _sample_free(self, std_error: float) -> None:
        """Look for the free code coarsely, and finely only if it may win."""
        if "free" not in self.wanted:
            return
        assert self.curve is not None
        for accuracy in (COARSE * std_error, std_error):
            self.choice = free_code(
                self.data,
                self.curve,
                std_error=accuracy,
                seed=self.seed + 2,
                bar=self.bar,
                start=self.choice,
                **self.options,
            )
            if self.choice is None:
                return
            self.candidates["free"] = free(self.data, self.choice)
            least = min(item.code.nats for item in self.candidates.values())
            if self.choice.codelength - least > SETTLED * self.choice.std_error:
                return

    def _open(self) -> bool:
        """Say whether more draws could change the winner."""
        ranked = sorted(self.candidates.values(), key=lambda item: item.code.nats)
        first = ranked[0].code
        for other in ranked[1:]:
            error = float(np.hypot(first.std_error, other.code.std_error))
            if other.code.nats - first.nats < SETTLED * error:
                return True
        return False
