"""The matched code along the penalty grid: fit plus ln C plus the cost of stating the penalty.

L(kappa) = data part + ln C_L(kappa) + ln I(kappa) [sigma unknown] + half ln N (THEORY 4b, 6). The
ladder goes down only as far as the decision needs: a closed-form guess of ln C says where the
minimum will be, the sampled curve says whether it has clearly passed it, and if not the ladder is
lowered and, at the end of the grid, the grid extended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shtarkov.complexity.noise_scale import ScalePath, scale_complexity_path
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.path import penalty_path
from shtarkov.complexity.path_result import ComplexityPath
from shtarkov.progress import Progress
from shtarkov.selection.data_part import DataPart, DataTable
from shtarkov.selection.lam_grid import extend_grid
from shtarkov.types import Floats

# The curve has passed its minimum once it is this far above it, in nats and in standard errors.
# Draws cost more the smaller the penalty, so no more of the curve is sampled than decides.
CLEARLY_PASSED = 1.0
PASSED_ERRORS = 4.0
# The ladder is lowered by this factor when the curve is still falling at its end.
LOWERING = 0.75
MAX_LOWERINGS = 20
# The grid is extended at most this often.
MAX_EXTENSIONS = 3
# The guess of ln C starts where it is this small.
FAR = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class MatchedCurve:
    """The matched code at each kappa of the ladder.

    Attributes
    ----------
    data : the data's part
    path : ln C at the same kappas
    scale : ln I at the same kappas; None when sigma is known
    codelengths, std_errors : the sum and its Monte Carlo error
    at_edge : the least codelength is at the smallest kappa of the grid
    """

    data: DataTable
    path: ComplexityPath
    scale: ScalePath | None
    codelengths: Floats
    std_errors: Floats
    at_edge: bool

    @property
    def best(self) -> int:
        """Place of the least codelength."""
        return int(np.argmin(self.codelengths))

    def difference_errors(self, reference: int) -> Floats:
        """Give the standard error of each codelength less that at `reference`."""
        return _difference_errors(self.path.covariance, self.scale, reference)

    def ln_i(self, kappa: float) -> float:
        """Give ln I near a kappa (zero when sigma is known)."""
        if self.scale is None:
            return 0.0
        order = np.argsort(self.scale.kappas)
        logs = np.log(self.scale.kappas[order])
        return float(np.interp(math.log(kappa), logs, self.scale.ln_i[order]))


def _difference_errors(covariance: Floats, scale: ScalePath | None, reference: int) -> Floats:
    total = covariance if scale is None else covariance + scale.covariance
    spread = np.diag(total) + total[reference, reference] - 2.0 * total[:, reference]
    return np.asarray(np.sqrt(np.maximum(spread, 0.0)))


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
    extensions = 0
    table = data.table(kappas)
    guess = table.nats + guessed_ln_c(data.family, kappas)
    cut = _first_passed(guess) if extend else kappas.size
    for _ in range(MAX_LOWERINGS):
        curve = _curve(data, _head(table, cut), std_error, seed, cut == kappas.size, **options)
        best = curve.best
        left = curve.codelengths[-1] - curve.codelengths[best]
        passed = max(CLEARLY_PASSED, PASSED_ERRORS * float(curve.difference_errors(best)[-1]))
        kappa, least = curve.data.kappas[best], curve.codelengths[best]
        bar.advance(0, kappa=float(kappa), nats=float(least), error=float(curve.std_errors[best]))
        if left >= passed or not extend:
            break
        if cut < kappas.size:
            cut = max(cut + 1, int(np.sum(kappas > LOWERING * kappas[cut - 1])))
            continue
        more = extend_grid(kappas) if extensions < MAX_EXTENSIONS else np.empty(0)
        if not curve.at_edge or more.size == 0:
            break
        extensions += 1
        kappas = np.concatenate([kappas, more])
        table = data.table(kappas)
        cut = kappas.size
    return curve


def _first_passed(guess: Floats) -> int:
    """Count the grid points up to where the guessed curve has first risen clearly.

    From large penalties down: at small penalties the guess (orthogonal columns) is no guide.
    """
    risen = np.flatnonzero(guess > np.minimum.accumulate(guess) + CLEARLY_PASSED)
    return guess.size if risen.size == 0 else int(risen[0]) + 1


def _head(table: DataTable, count: int) -> DataTable:
    return DataTable(
        table.kappas[:count],
        table.lams[:count],
        table.lam2s[:count],
        table.sigmas[:count],
        table.nats[:count],
    )


def _curve(
    data: DataPart, table: DataTable, std_error: float, seed: int, whole: bool, **options: Any
) -> MatchedCurve:
    """Sample ln C (and ln I) along the table and add up."""
    known = data.sigma is not None
    share = std_error if known else 0.9 * std_error
    units = data.sigma if data.sigma is not None else 1.0
    path = penalty_path(
        data.problem,
        table.kappas * units,
        sigma=units,
        std_error=share,
        seed=seed,
        progress=False,
        **options,
    )
    statement = statement_nats(data.problem.design.n_samples)
    codelengths = table.nats + path.ln_c + statement
    scale = None
    if not known:
        scale = scale_complexity_path(
            data.problem,
            table.kappas,
            std_error=0.4 * std_error,
            seed=seed + 1,
            progress=False,
            **options,
        )
        codelengths = codelengths + scale.ln_i
    total = path.covariance if scale is None else path.covariance + scale.covariance
    best = int(np.argmin(codelengths))
    at_edge = whole and best == codelengths.size - 1
    return MatchedCurve(table, path, scale, codelengths, np.sqrt(np.diag(total)), at_edge)
