"""Grids of penalties: from the smallest penalty with a zero estimate downwards, on a log scale.

Codelengths are smooth in ln lam, so a grid is coarse at first, refined where the codelength is
least, and extended when that is at its lower edge. With the noise scale unknown the grid is one of
kappa = lam / sigma: at fixed kappa the scale that minimises n ln sigma + E_kappa(y / sigma) solves
<z, r(z)> = n, z = y / sigma, whose left side grows along the ray; so the estimate at (kappa,
sigma-hat) is zero exactly when kappa is at least lam_max sqrt(n) / |y|, the value at the empty
model's sigma-hat = |y| / sqrt(n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats

N_POINTS = 100
# Where there are more dimensions than columns the least squares fit is within reach and small
# penalties can be best; where there are not, penalties near zero interpolate the data.
SMALLEST_RATIO_TALL = 1e-4
SMALLEST_RATIO_WIDE = 1e-2
# An extended grid goes down at most to this share of its largest penalty.
FLOOR_RATIO = 1e-8


class Bracket(NamedTuple):
    """Where a curve over a decreasing grid is least.

    Attributes
    ----------
    position : place of the minimum
    at_small_edge : it is at the smallest penalty: extend the grid
    at_large_edge : it is at the largest penalty, where the estimate is zero: nothing to extend
    """

    position: int
    at_small_edge: bool
    at_large_edge: bool


def kappa_max(lam_max: float, total_sq: float, n_dim: int) -> float:
    """Smallest kappa whose estimate is zero at its own noise scale.

    Parameters
    ----------
    lam_max : largest |x_j'y|
    total_sq : squared length of y after projection, inside and outside the reduced space
    n_dim : dimension of the data after projection
    """
    if not total_sq > 0.0:
        raise InvalidProblem("y is zero after projection: there is no noise scale to estimate")
    return float(lam_max * np.sqrt(n_dim / total_sq))


def smallest_ratio(n_dim: int, n_features: int) -> float:
    """Share of the largest penalty down to which a grid goes at first."""
    return SMALLEST_RATIO_TALL if n_dim > n_features else SMALLEST_RATIO_WIDE


def penalty_grid(
    largest: float,
    n_dim: int,
    n_features: int,
    *,
    n_points: int = N_POINTS,
    ratio: float | None = None,
) -> Floats:
    """Decreasing penalties, equally spaced in the logarithm.

    Parameters
    ----------
    largest : first penalty: `lam_max`, or `kappa_max` when the noise scale is unknown
    n_dim, n_features : they set the smallest penalty
    n_points : how many
    ratio : smallest penalty as a share of the largest, instead of the rule

    Returns
    -------
    (n_points,) array
    """
    if not (np.isfinite(largest) and largest > 0.0):
        msg = f"the largest penalty must be positive; got {largest!r} (is y orthogonal to X?)"
        raise InvalidProblem(msg)
    if n_points < 1:
        msg = f"a grid needs at least one penalty; got n_points={n_points!r}"
        raise InvalidProblem(msg)
    share = smallest_ratio(n_dim, n_features) if ratio is None else ratio
    if not FLOOR_RATIO <= share < 1.0:
        msg = f"ratio must be at least {FLOOR_RATIO:g} and below 1; got {ratio!r}"
        raise InvalidProblem(msg)
    grid: Floats = largest * np.logspace(0.0, np.log10(share), n_points)
    grid[0] = largest
    return grid


def bracket_minimum(grid: ArrayLike, lengths: ArrayLike) -> Bracket:
    """Find the least of `lengths` over a decreasing grid; of equal ones the largest penalty."""
    penalties, values = _check_curve(grid, lengths)
    position = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
    return Bracket(position, position == penalties.size - 1, position == 0)


def refine_grid(grid: ArrayLike, lengths: ArrayLike, *, n_between: int = 3) -> Floats:
    """Give new penalties between the minimum and its neighbours, decreasing, on a log scale."""
    penalties, _ = _check_curve(grid, lengths)
    index = bracket_minimum(grid, lengths).position
    shares = np.arange(1, n_between + 1) / (n_between + 1.0)
    logs = np.log(penalties)
    new = [
        (1.0 - shares) * logs[i] + shares * logs[i + 1]
        for i in (index - 1, index)
        if 0 <= i < penalties.size - 1
    ]
    return np.exp(np.concatenate(new)) if new else np.empty(0)


def extend_grid(grid: ArrayLike, *, n_points: int | None = None, floor: float = 0.0) -> Floats:
    """Give penalties below the grid that continue its last step, decreasing.

    Parameters
    ----------
    grid : decreasing penalties, at least two
    n_points : how many; by default a quarter as many as the grid has
    floor : no penalty below this; nor below 1e-8 of the largest

    Returns
    -------
    Array, empty when the grid has reached the floor.
    """
    penalties, _ = _check_curve(grid, grid)
    if penalties.size < 2:
        raise InvalidProblem("a grid of one penalty has no step to continue; give two or more")
    step = penalties[-1] / penalties[-2]
    count = max(penalties.size // 4, 1) if n_points is None else n_points
    new = penalties[-1] * step ** np.arange(1, count + 1)
    lowest = max(floor, FLOOR_RATIO * penalties[0])
    return np.asarray(new[new >= lowest * (1.0 - 1e-12)])


def _check_curve(grid: ArrayLike, lengths: ArrayLike) -> tuple[Floats, Floats]:
    penalties = np.asarray(grid, dtype=np.float64)
    values = np.asarray(lengths, dtype=np.float64)
    if penalties.ndim != 1 or penalties.size == 0 or values.shape != penalties.shape:
        msg = (
            f"grid and lengths must be vectors of one length; got {penalties.shape}, {values.shape}"
        )
        raise InvalidProblem(msg)
    if np.any(np.diff(penalties) >= 0.0) or penalties[-1] <= 0.0:
        raise InvalidProblem("the grid must be positive and strictly decreasing; sort it first")
    return penalties, values
