"""ln P_{A,s}: the Gaussian mass of the level sets of one cell (THEORY section 3).

P(|X_j'(r + centre)| <= lam for all inactive j), r normal in null X_A'. Three ways: Sobol points
("sobol", rank at most 20), minimax tilting ("tilting", no more inactive columns than free
dimensions) and multilevel splitting by exact HMC ("splitting", any size).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.blas import one_blas_thread
from shtarkov.complexity.cells import lasso_cells
from shtarkov.complexity.enumeration import cell_mass
from shtarkov.complexity.rectangle import MAX_RANK
from shtarkov.complexity.result import ComplexityResult
from shtarkov.diagnostics.convergence import mean_error
from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lam, check_sigma
from shtarkov.sampling.minimax_tilting import tilt, tilted_probability
from shtarkov.sampling.shrink import (
    Stages,
    draw_inside,
    excess_in_lengths,
    find_stages,
    normal_lengths,
    stage_walls,
)
from shtarkov.sampling.walls import Walls, make_walls
from shtarkov.seeds import resolve_seed, rng_for
from shtarkov.types import Floats, Ints

METHODS = ("auto", "sobol", "tilting", "splitting")
# Rectangles of more variables take minutes to set up.
MAX_TILTED = 600
FIRST_DRAWS = 1000
MAX_DRAWS = 2_000_000


def level_set_mass(
    problem: Any,
    lam: float,
    active: ArrayLike,
    signs: ArrayLike,
    *,
    sigma: float = 1.0,
    method: str = "auto",
    std_error: float = 0.05,
    seed: int | np.random.SeedSequence | None = None,
) -> ComplexityResult:
    """Estimate the logarithm of the mass of the level sets with this active set and these signs.

    Parameters
    ----------
    problem : `Lasso`
    lam : penalty; the objective is half the squared residual plus lam times the norm
    active : (k,) indices of the active columns
    signs : (k,) their signs, -1 or 1
    sigma : noise standard deviation
    method : "sobol", "tilting", "splitting", or "auto" for the first that applies
    std_error : standard error wanted, in nats
    seed : repeats the result exactly; None draws one and records it

    Returns
    -------
    ComplexityResult
        `ln_c` is ln P.
    """
    if method not in METHODS:
        msg = f"method must be one of {METHODS}; got {method!r}"
        raise InvalidProblem(msg)
    columns = _columns(problem)
    chosen, turned = _cell(active, signs, columns.shape[1])
    scaled, number = check_lam(lam) / check_sigma(sigma), resolve_seed(seed)
    rng = rng_for(number, 0, 0)
    with one_blas_thread():
        cells = lasso_cells(columns, scaled, tuple(chosen), turned[None, :])
        if cells is None:
            raise InvalidProblem("the active columns are dependent; drop one of them")
        rank = int(np.linalg.matrix_rank(cells.rows)) if cells.rows.size else 0
        if rank == 0 or not np.isfinite(cells.log_weight[0]):
            value = 0.0 if np.isfinite(cells.log_weight[0]) else -math.inf
            return ComplexityResult(value, 0.0, "closed_form")
        rows, low, high = cells.rows, cells.lower[0], cells.upper[0]
        picked = _pick(method, rank, rows.shape[0])
        if picked == "sobol":
            value, error = cell_mass(
                columns, scaled, chosen, turned, accuracy=std_error, seed=number
            )
            return ComplexityResult(value, error, "sobol", seed=number)
        if picked == "tilting":
            return _tilted(rows, low, high, std_error, number, rng)
        return _split(rows, low, high, std_error, number, rng)


def _columns(problem: Any) -> Floats:
    if getattr(problem, "name", "") != "lasso":
        raise InvalidProblem("level_set_mass serves shtarkov.Lasso: its cells have one mass each")
    return np.asarray(problem.design.X)


def _cell(active: ArrayLike, signs: ArrayLike, n_features: int) -> tuple[Ints, Floats]:
    chosen = np.atleast_1d(np.asarray(active)).astype(np.int64, casting="unsafe").ravel()
    turned = np.atleast_1d(np.asarray(signs, dtype=np.float64)).ravel()
    inside = chosen.size == 0 or (chosen.min() >= 0 and chosen.max() < n_features)
    if not inside or np.unique(chosen).size != chosen.size:
        msg = f"active must hold different column indices from 0 to {n_features - 1}"
        raise InvalidProblem(msg)
    if turned.shape != chosen.shape or not np.isin(turned, (-1.0, 1.0)).all():
        raise InvalidProblem("signs must hold -1 or 1 for each active column")
    return chosen, turned


def _pick(method: str, rank: int, n_walls: int) -> str:
    if method == "sobol" and rank > MAX_RANK:
        msg = f"method='sobol' takes at most {MAX_RANK} dimensions, here {rank}; use 'splitting'"
        raise InvalidProblem(msg)
    if method == "tilting" and n_walls > rank:
        msg = f"method='tilting' needs independent walls, here {n_walls} in {rank} dimensions"
        raise InvalidProblem(msg)
    if method != "auto":
        return method
    if rank <= MAX_RANK:
        return "sobol"
    return "tilting" if n_walls == rank <= MAX_TILTED else "splitting"


def _tilted(
    rows: Floats, low: Floats, high: Floats, wanted: float, seed: int, rng: np.random.Generator
) -> ComplexityResult:
    tilting = tilt(rows @ rows.T, low, high)
    n_draws = FIRST_DRAWS
    value, error = tilted_probability(tilting, n_draws, rng)
    while error > wanted and n_draws < MAX_DRAWS:
        n_draws = min(MAX_DRAWS, math.ceil(1.3 * n_draws * max(2.0, (error / wanted) ** 2)))
        value, error = tilted_probability(tilting, n_draws, rng)
    notes = () if error <= wanted else ("the error asked for was not reached",)
    return ComplexityResult(value, error, "tilting", n_draws=n_draws, seed=seed, warnings=notes)


def _split(
    rows: Floats, low: Floats, high: Floats, wanted: float, seed: int, rng: np.random.Generator
) -> ComplexityResult:
    walls = make_walls(rows, rows @ rows.T, low, high)
    stages = find_stages(walls, rng)
    n_draws = max(FIRST_DRAWS // 4, math.ceil(6.0 * stages.thresholds.size / wanted**2))
    total, variance, n_total = 0.0, 0.0, 0
    lengths = normal_lengths(walls)
    for index in range(stages.thresholds.size):
        share, error = _stage_share(walls, lengths, stages, index, n_draws, rng)
        total += math.log(share)
        variance += (error / share) ** 2
        n_total += n_draws
    found = math.sqrt(variance)
    notes = () if found <= 1.1 * wanted else ("the error asked for was not reached",)
    return ComplexityResult(total, found, "splitting", n_draws=n_total, seed=seed, warnings=notes)


def _stage_share(
    walls: Walls,
    lengths: Floats,
    stages: Stages,
    index: int,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Give the share of stage `index` that is inside the next threshold, and its error."""
    inside = stage_walls(walls, lengths, stages, index)
    start = stages.points[index - 1] if index > 0 else np.zeros(walls.rows.shape[1])
    burn = 50
    _, images = draw_inside(inside, start, n_draws + burn, rng)
    passed = excess_in_lengths(walls, lengths, images[burn:]) <= stages.thresholds[index]
    share = float(passed.mean())
    if share == 0.0:
        msg = "a stage of the splitting passed no draw on; ask for a smaller std_error"
        raise InvalidProblem(msg)
    return share, max(mean_error(passed[None, :].astype(float)), 1e-12)
