"""ln C by summing all cells: the stratum weights ln a_k of small designs, at any N.

For D up to about 12 every (active set, signs) is visited; its share is a Gaussian rectangle
probability of dimension min(D, N) - k (THEORY section 3) from randomly shifted Sobol points. More
points go to the cells that carry the error until every a_k has the relative accuracy asked for; the
stated standard error is that of independent shifts. This is the slow twin of every sampler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.complexity import strata
from shtarkov.complexity.cells import (
    Cells,
    active_sets,
    elastic_net_cells,
    lasso_cells,
    reduce_columns,
)
from shtarkov.complexity.rectangle import (
    MAX_POINTS,
    MAX_RANK,
    rectangle_probabilities,
    sobol_points,
)
from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.types import Floats, Ints

MAX_FEATURES = 14
_N_SHIFTS = 12
_FIRST_POINTS = 8
_MAX_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class StratumTable:
    """The weights a_k of all cells with k active coefficients, with their numerical errors.

    Attributes
    ----------
    ln_a : (K,) ln a_k, k = 0, 1, ...
    std_error : (K,) standard error of ln_a, independent between k
    sigma : noise standard deviation
    tau : `None` if the table serves every weight tau (Lasso); else the only one (Elastic Net, whose
        a_k then carry the factor that makes a_k (sigma^2/tau)^k the share of k)
    """

    ln_a: Floats
    std_error: Floats
    sigma: float
    tau: float | None = None

    def ln_c(self, tau: float) -> tuple[float, float]:
        """Give ln C with luckiness weight tau, and its standard error."""
        self._check_tau(tau)
        law = strata.stratum_law(self.ln_a, tau, self.sigma)
        error = np.linalg.norm(law * self.std_error)
        return float(strata.log_luckiness(self.ln_a, tau, self.sigma)), float(error)

    def ln_c_restricted(self, radius: float) -> tuple[float, float]:
        """Give ln C restricted to sum |coef| <= radius, and its standard error."""
        if self.tau is not None:
            msg = "the restricted integral of the Elastic Net is not a sum of a_k; use region=None"
            raise InvalidProblem(msg)
        law = strata.restricted_law(self.ln_a, radius)
        value = strata.log_restricted(self.ln_a, radius)
        return float(value), float(np.linalg.norm(law * self.std_error))

    def mean_k(self, tau: float) -> tuple[float, float]:
        """Give the expected number of active coefficients under weight tau, and its error."""
        self._check_tau(tau)
        law = strata.stratum_law(self.ln_a, tau, self.sigma)
        mean = float(law @ np.arange(law.size))
        slope = law * (np.arange(law.size) - mean)
        return mean, float(np.linalg.norm(slope * self.std_error))

    def _check_tau(self, tau: float) -> None:
        if self.tau is not None and tau != self.tau:
            msg = f"this table holds for tau={self.tau} only; enumerate again with the tau needed"
            raise InvalidProblem(msg)


def enumerate_strata(
    X: ArrayLike,
    lam: float,
    sigma: float = 1.0,
    lam2: float = 0.0,
    *,
    tau: float | None = None,
    accuracy: float = 1e-4,
    seed: int = 0,
) -> StratumTable:
    """Sum the cells of the Lasso (or Elastic Net, `lam2` > 0) on the design X.

    Parameters
    ----------
    X : (N, D) design, D at most `MAX_FEATURES` non-zero columns; any rank, duplicates allowed
    lam : weight of the L1 norm
    sigma : noise standard deviation
    lam2 : weight of half the squared L2 norm
    tau : rate of the luckiness weight; used by the Elastic Net only, lam by default
    accuracy : standard error of each ln a_k aimed at
    seed : of the points' random shifts
    """
    design = np.asarray(X, dtype=np.float64)
    if design.ndim != 2 or not np.isfinite(design).all():
        msg = "X must be a two-dimensional array of finite numbers"
        raise InvalidProblem(msg)
    columns = reduce_columns(design) / sigma
    n_features = columns.shape[1]
    if n_features > MAX_FEATURES:
        msg = (
            f"enumeration visits 3^D cells: D = {n_features} is more than {MAX_FEATURES}; "
            "use method='path'"
        )
        raise InvalidProblem(msg)
    scaled = lam / sigma**2
    rate = scaled if tau is None else tau / sigma**2

    def cells_of(active: tuple[int, ...]) -> Cells | None:
        if lam2 > 0.0:
            return elastic_net_cells(columns, scaled, lam2 / sigma**2, rate, active)
        return lasso_cells(columns, scaled, active)

    ledger = _Ledger(n_features)
    ledger.fill(cells_of, accuracy, np.random.default_rng(seed))
    ln_a, error = ledger.totals()
    if lam2 > 0.0:
        ln_a = ln_a + np.arange(ln_a.size) * np.log(rate)
        return StratumTable(ln_a, error, sigma, lam if tau is None else tau)
    return StratumTable(ln_a, error, sigma)


def cell_mass(
    X: ArrayLike,
    lam: float,
    active: ArrayLike,
    signs: ArrayLike,
    sigma: float = 1.0,
    *,
    accuracy: float = 1e-4,
    seed: int = 0,
) -> tuple[float, float]:
    """Give ln P_{A,s}, the Gaussian mass of the Lasso's level sets in one cell, and its error.

    Parameters
    ----------
    X : (N, D) design with at most `MAX_RANK` independent columns besides the active ones
    lam : weight of the L1 norm
    active : (k,) indices of the active columns, which must be independent
    signs : (k,) their signs
    sigma : noise standard deviation
    accuracy : standard error of ln P aimed at
    seed : of the points' random shifts

    Returns
    -------
    ln P (-inf for a cell that cannot occur) and its standard error
    """
    design = np.asarray(X, dtype=np.float64) / sigma
    chosen = tuple(int(index) for index in np.asarray(active, dtype=np.int64))
    cells = lasso_cells(design, lam / sigma**2, chosen, np.atleast_2d(np.asarray(signs, float)))
    if cells is None:
        msg = "the active columns are dependent: this cell has no volume; drop one of them"
        raise InvalidProblem(msg)
    if cells.rows.size and np.linalg.matrix_rank(cells.rows) > MAX_RANK:
        msg = f"more than {MAX_RANK} dimensions; sample the level set instead"
        raise InvalidProblem(msg)
    if cells.rows.shape[0] == 0 or not np.isfinite(cells.log_weight[0]):
        return (0.0 if np.isfinite(cells.log_weight[0]) else -np.inf), 0.0
    rng, n_points, out = np.random.default_rng(seed), _FIRST_POINTS, np.zeros((1, 3))
    while True:
        wanted = np.array([n_points])
        status = rectangle_probabilities(
            cells.rows, cells.lower, cells.upper, wanted, sobol_points(), _N_SHIFTS, rng, out
        )
        raise_for_status(status, "probability of a cell")
        scale, mean, variance = out[0]
        if variance <= (accuracy * mean) ** 2 or n_points == MAX_POINTS:
            break
        n_points *= 2
    if mean <= 0.0:
        return -np.inf, 0.0
    return float(scale + np.log(mean)), float(np.sqrt(variance) / mean)


class _Ledger:
    """Every cell's share of the integral with its variance, and who needs more points."""

    def __init__(self, n_features: int) -> None:
        self.sets = list(active_sets(n_features))
        sizes = [2 ** max(0, len(active) - 1) for active in self.sets]
        self.first = np.concatenate([[0], np.cumsum(sizes)])
        n_cells = int(self.first[-1])
        self.size = np.repeat([len(active) for active in self.sets], sizes)
        self.log_share = np.full(n_cells, -np.inf)  # ln of the share's unit
        self.mean = np.zeros(n_cells)  # the share in that unit
        self.variance = np.zeros(n_cells)
        self.n_points: Ints = np.full(n_cells, _FIRST_POINTS, dtype=np.int64)

    def fill(
        self,
        cells_of: Callable[[tuple[int, ...]], Cells | None],
        accuracy: float,
        rng: np.random.Generator,
    ) -> None:
        """Evaluate all cells, then again with more points those that carry the error."""
        wanted = self.n_points
        for _ in range(_MAX_ROUNDS):
            for index, active in enumerate(self.sets):
                mine = slice(self.first[index], self.first[index + 1])
                if wanted[mine].any():
                    self._evaluate(cells_of(active), mine, wanted[mine], rng)
            wanted = self._plan(accuracy)
            if not wanted.any():
                return

    def _evaluate(
        self, cells: Cells | None, mine: slice, wanted: Ints, rng: np.random.Generator
    ) -> None:
        if cells is None:
            return
        out = np.zeros((wanted.size, 3))
        if cells.rows.shape[0] == 0:
            out[:, 1] = 1.0
        else:
            possible = np.where(np.isfinite(cells.log_weight), wanted, 0)
            status = rectangle_probabilities(
                cells.rows, cells.lower, cells.upper, possible, sobol_points(), _N_SHIFTS, rng, out
            )
            raise_for_status(status, "probability of a cell")
        done = wanted > 0
        self.log_share[mine] = np.where(done, cells.log_weight + out[:, 0], self.log_share[mine])
        self.mean[mine] = np.where(done, out[:, 1], self.mean[mine])
        self.variance[mine] = np.where(done, out[:, 2], self.variance[mine])
        self.n_points[mine] = np.where(done, wanted, self.n_points[mine])

    def _in_units(self) -> tuple[Floats, Floats, Floats]:
        """Give ln of the largest share unit of each k, and shares and variances in it."""
        unit = np.full(int(self.size.max()) + 1, -np.inf)
        np.maximum.at(unit, self.size, self.log_share)
        with np.errstate(invalid="ignore"):
            scale = np.exp(self.log_share - unit[self.size])
        scale = np.where(np.isfinite(self.log_share), scale, 0.0)
        return unit, self.mean * scale, self.variance * scale**2

    def _sum(self, values: Floats) -> Floats:
        """Sum over the cells of each size."""
        totals = np.bincount(self.size, weights=values, minlength=int(self.size.max()) + 1)
        return totals.astype(np.float64)

    def _plan(self, accuracy: float) -> Ints:
        """Give each cell the points it needs next; 0 where it is done.

        The error falls about as 1/n, so the least work for a given error of the sum
        has n proportional to the cube root of variance n^2.
        """
        _, share, variance = self._in_units()
        target = (accuracy * self._sum(share)) ** 2
        pressure = np.cbrt(variance * self.n_points.astype(np.float64) ** 2)
        behind = self._sum(variance) > target
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.where(behind, np.sqrt(self._sum(pressure) / target), 0.0)
        needed = np.minimum(pressure * np.nan_to_num(level)[self.size], MAX_POINTS)
        rounded = 2 ** np.ceil(np.log2(np.maximum(needed, 1.0))).astype(np.int64)
        # Everything behind must move, if only a little, or a low guess would end the search.
        rounded = np.where(
            behind[self.size] & (pressure > 0.5 * self._largest(pressure)),
            np.maximum(rounded, 2 * self.n_points),
            rounded,
        )
        rounded = np.minimum(rounded, MAX_POINTS)
        return np.where(rounded > self.n_points, rounded, 0)

    def _largest(self, values: Floats) -> Floats:
        """Give each cell the largest value among cells of its size."""
        top = np.zeros(int(self.size.max()) + 1)
        np.maximum.at(top, self.size, values)
        return np.asarray(top[self.size])

    def totals(self) -> tuple[Floats, Floats]:
        """Give ln a_k and its standard error up to the largest k that occurs."""
        unit, share, variance = self._in_units()
        total, spread = self._sum(share), self._sum(variance)
        kept = int(np.flatnonzero(total > 0.0).max()) + 1
        with np.errstate(divide="ignore"):
            ln_a = unit[:kept] + np.log(total[:kept])
        safe = np.where(total[:kept] > 0.0, total[:kept], 1.0)
        return ln_a, np.sqrt(spread[:kept]) / safe
