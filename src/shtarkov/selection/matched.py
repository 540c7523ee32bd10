"""The matched code along the penalty grid: fit plus ln C plus the cost of stating the penalty.

L(kappa) = data part + ln C_L(kappa) + ln I(kappa) [sigma unknown] + half ln N (THEORY 4b, 6). The
ladder goes down only as far as the decision needs: a closed-form guess of ln C says where the
minimum may be, a rough ladder where it is, and the fine one whether it has clearly been passed. If
not, the ladder is lowered and, at the end of the grid, the grid extended.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shtarkov.complexity.exact_path import exact_path
from shtarkov.complexity.noise_scale import scale_complexity_path
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.path import penalty_path
from shtarkov.progress import Progress
from shtarkov.selection.data_part import DataPart, DataTable
from shtarkov.selection.lam_grid import extend_grid
from shtarkov.selection.matched_curve import MatchedCurve, is_stopped, stopped
from shtarkov.types import Floats

# The curve has passed its minimum once it is this far above it, in nats and in standard errors.
# Draws cost more the smaller the penalty, so no more of the curve is sampled than decides.
CLEARLY_PASSED = 1.0
PASSED_ERRORS = 4.0
# A rough ladder of one chain a rung, with this many times the error, finds the end of the fine one.
SCOUT_ERRORS = 10.0
SCOUT_CHAINS = 1
# ln I lies within a third of a nat whatever the design: few draws know it well enough.
SCALE_CHAINS = 2
# While the curve is still falling at its end, its ladder is lowered to where that should change:
# at most by this factor, and never trusting the guess of ln C by more than these.
LOWERING = 0.5
TRUSTED_SHARES = (0.3, 2.0)
MAX_LOWERINGS = 20
# Where more columns than rows can fit anything, the curve becomes flat instead of rising: it ends
# where smaller penalties could gain less than this, judged over its last few points.
FLAT = 0.5
POWER_POINTS = 8
LEAST_POWER = 0.5
# The grid is extended at most this often.
MAX_EXTENSIONS = 3
# The guess of ln C starts where it is this small.
FAR = 1e-8


def statement_nats(n_samples: int) -> float:
    """Give the cost of stating one continuous penalty: half ln N."""
    return 0.5 * math.log(max(n_samples, 1))


def guessed_ln_c(family: Any, kappas: Floats) -> Floats:
    """Guess ln C at descending kappas by integrating the outline of the family's path."""
    outline, logs = outline_of(family), np.log(kappas)
    fine = np.linspace(max(logs[0], math.log(outline.start(FAR))), logs[-1], 400)
    slopes = outline.mean_df(fine)
    steps = 0.5 * (slopes[1:] + slopes[:-1]) * -np.diff(fine)
    total = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(np.interp(-logs, -fine, total))


class _Grid(NamedTuple):
    """The grid, the data's part on it, a guess of ln C, and how often it has been extended."""

    table: DataTable
    guess: Floats
    extensions: int

    @property
    def size(self) -> int:
        """Number of penalties."""
        return int(self.guess.size)


def _grid(data: DataPart, kappas: Floats, extensions: int = 0) -> _Grid:
    return _Grid(data.table(kappas), guessed_ln_c(data.family, kappas), extensions)


def matched_curve(
    data: DataPart,
    kappas: Floats,
    *,
    std_error: float,
    extend: bool,
    seed: int,
    bar: Progress,
    **options: Any,
) -> MatchedCurve:
    """Compute the matched code from the largest kappa down to where it has passed its minimum.

    Parameters
    ----------
    data : the data vector
    kappas : the grid, descending
    std_error : wanted for every codelength, in nats
    extend : whether the grid may grow when its end is the minimum; else all of it is computed
    options : n_chains, n_jobs, max_draws
    """
    if not extend:
        return _curve(data, data.table(kappas), std_error, seed, True, **options)
    grid = _grid(data, kappas)
    cut = _first_passed(grid.table.nats + grid.guess, CLEARLY_PASSED)
    few = {**options, "n_chains": SCOUT_CHAINS}
    error = SCOUT_ERRORS * std_error
    grid, scout = _descend(data, grid, cut, error, seed, bar, is_scout=True, **few)
    if is_stopped(scout):
        return scout
    try:
        return _descend(data, grid, scout.codelengths.size, std_error, seed, bar, **options)[1]
    except KeyboardInterrupt:  # before the finer ladder told anything
        return stopped(scout)


def refined_curve(
    data: DataPart, curve: MatchedCurve, *, std_error: float, seed: int, **options: Any
) -> MatchedCurve:
    """Compute a curve again at its own penalties, more accurately."""
    return _curve(data, curve.data, std_error, seed, curve.at_edge, **options)


def _descend(
    data: DataPart,
    grid: _Grid,
    cut: int,
    std_error: float,
    seed: int,
    bar: Progress,
    *,
    is_scout: bool = False,
    **options: Any,
) -> tuple[_Grid, MatchedCurve]:
    """Sample the first `cut` penalties, and more of them until the curve has passed its minimum.

    Ctrl-C leaves the last curve that was known, if there is one.
    """
    curve: MatchedCurve | None = None
    try:
        for _ in range(MAX_LOWERINGS):
            table = _head(grid.table, cut)
            curve = _curve(data, table, std_error, seed, cut == grid.size, is_scout, **options)
            _tell(curve, bar)
            best = curve.best
            left = curve.codelengths[-1] - curve.codelengths[best]
            errors = curve.difference_errors(best)
            passed = max(CLEARLY_PASSED, PASSED_ERRORS * float(errors[-1]))
            if left >= passed or is_stopped(curve) or _gain_below(curve, data.n_dim) < FLAT:
                break
            if cut == grid.size:
                more = extend_grid(grid.table.kappas) if curve.at_edge else np.empty(0)
                if grid.extensions == MAX_EXTENSIONS or more.size == 0:
                    break
                kappas = np.concatenate([grid.table.kappas, more])
                grid = _grid(data, kappas, grid.extensions + 1)
            cut = _next_cut(grid, curve, passed)
    except KeyboardInterrupt:
        if curve is None:
            raise
        curve = stopped(curve)
    assert curve is not None
    return grid, curve


def _tell(curve: MatchedCurve, bar: Progress) -> None:
    """Report the best code so far."""
    place = curve.best
    kappa, nats = float(curve.data.kappas[place]), float(curve.codelengths[place])
    bar.advance(0, kappa=kappa, nats=nats, error=float(curve.std_errors[place]))


def _next_cut(grid: _Grid, curve: MatchedCurve, passed: float) -> int:
    """Predict where the curve will have passed its minimum, from the slope at its end.

    Below the ladder ln C is taken to grow like the guess, in the proportion of their slopes there.
    """
    cut = curve.codelengths.size
    logs = np.log(grid.table.kappas)
    slope = float(curve.path.mean_df[-1]) * (logs[cut - 1] - logs[cut])
    share = slope / max(float(grid.guess[cut] - grid.guess[cut - 1]), 1e-12)
    rise = np.clip(share, *TRUSTED_SHARES) * (grid.guess[cut:] - grid.guess[cut - 1])
    below = curve.codelengths[-1] + rise + grid.table.nats[cut:] - grid.table.nats[cut - 1]
    found = _first_passed(np.concatenate([curve.codelengths, below]), passed)
    furthest = int(np.sum(grid.table.kappas > LOWERING * grid.table.kappas[cut - 1]))
    return max(cut + 1, min(found, furthest))


def _gain_below(curve: MatchedCurve, n_dim: int) -> float:
    """Guess how many nats smaller penalties might still gain, where the model nears interpolation.

    dL / d ln kappa = E_q|r|^2 - |r(y)|^2 (in units of sigma), and both fall to zero like kappa^p
    where the columns can fit anything: the fall still to come is the slope over p. Where they
    cannot p is about zero, and where they do not yet it is small: the guess is then infinite.
    """
    logs, df = np.log(curve.data.kappas), curve.path.mean_df
    if logs.size < 2:
        return math.inf
    back = min(POWER_POINTS, logs.size - 1)
    slope = (curve.data.nats[-2] - curve.data.nats[-1]) / (logs[-2] - logs[-1]) - df[-1]
    left = np.maximum(n_dim - df[[-1 - back, -1]], 1e-3)
    power = math.log(left[0] / left[1]) / (logs[-1 - back] - logs[-1])
    return math.inf if power < LEAST_POWER else max(float(slope), 0.0) / power


def _first_passed(lengths: Floats, margin: float) -> int:
    """Count the grid points up to where a curve has first risen clearly.

    From large penalties down: at small penalties a guess (orthogonal columns) is no guide.
    """
    risen = np.flatnonzero(lengths > np.minimum.accumulate(lengths) + margin)
    return lengths.size if risen.size == 0 else int(risen[0]) + 1


def _head(table: DataTable, count: int) -> DataTable:
    return DataTable(
        table.kappas[:count],
        table.lams[:count],
        table.lam2s[:count],
        table.sigmas[:count],
        table.nats[:count],
    )


def _curve(
    data: DataPart,
    table: DataTable,
    std_error: float,
    seed: int,
    whole: bool,
    is_scout: bool = False,
    **options: Any,
) -> MatchedCurve:
    """Sample ln C (and ln I, which changes too little to matter to a scout) and add up."""
    known = data.sigma is not None or is_scout
    share = std_error if known else 0.9 * std_error
    units = data.sigma if data.sigma is not None else 1.0
    lams = table.kappas * units
    path = exact_path(data.problem, lams, units) or penalty_path(
        data.problem,
        lams,
        sigma=units,
        std_error=share,
        seed=seed,
        progress=False,
        **options,
    )
    codelengths = table.nats + path.ln_c + statement_nats(data.problem.design.n_samples)
    total, scale = path.covariance, None
    if not known:
        scale = scale_complexity_path(
            data.problem,
            table.kappas,
            std_error=0.4 * std_error,
            seed=seed + 1,
            progress=False,
            **{**options, "n_chains": min(options["n_chains"], SCALE_CHAINS)},
        )
        codelengths, total = codelengths + scale.ln_i, total + scale.covariance
    best = int(np.argmin(codelengths))
    at_edge = whole and best == codelengths.size - 1
    return MatchedCurve(table, path, scale, codelengths, np.sqrt(np.diag(total)), at_edge)
