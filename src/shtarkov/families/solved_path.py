"""One data vector along its penalty path, solve by solve: for families without a homotopy.

Half the squared residual and the norm of the estimate are smooth in lam between the penalties where
its active set changes, and their slopes come with every solve: with S minus the slope of the norm,
d half|r|^2 / d lam = lam S and d norm / d lam = -S. Between grid points both are cubics (Hermite).
Slow twin: one solve per penalty asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.facts import at_penalties
from shtarkov.families.observables import NORM, OBSERVABLES, RESIDUAL_SQ, SIGN_ENERGY, K
from shtarkov.types import Fit, Floats, Ints, Status

FIRST_CAPACITY = 64
# Grid points for each factor of e in lam.
POINTS_PER_FOLD = 48


class WarmSolver:
    """Solves one data vector at one penalty after another, each from the last solution.

    Parameters
    ----------
    family : the compiled family at any penalty
    y : the data vector, in the family's units
    """

    def __init__(self, family: Any, y: Floats) -> None:
        self.family, self.y = family, np.ascontiguousarray(y, dtype=np.float64)
        self._make_room(FIRST_CAPACITY)

    def _make_room(self, capacity: int) -> None:
        self.capacity = capacity
        self.work = protocol.new_work(self.family, capacity)
        protocol.image(self.family, self.y, self.work.z)

    def row(self, lam: float) -> Floats:
        """Give the observables of the estimate at one penalty."""
        family = self.family._replace(lam=float(lam))
        status = protocol.relax(family, self.y, self.work)
        while status == Status.CAPACITY:
            self._make_room(2 * self.capacity)
            status = protocol.relax(family, self.y, self.work)
        raise_for_status(status, f"fitting y at lam = {lam:.4g}")
        row = np.zeros(len(OBSERVABLES))
        protocol.observe(family, family.lam, self.work, row)
        return row

    def fit(self, lam: float, lam2: float = 0.0) -> Fit:
        """Give the estimate at one penalty."""
        family = at_penalties(self.family, lam, lam2)
        fit = protocol.solve(family, self.y, self.work)
        while fit.status == Status.CAPACITY:
            self._make_room(2 * self.capacity)
            fit = protocol.solve(family, self.y, self.work)
        raise_for_status(fit.status, f"fitting y at lam = {lam:.4g}")
        return Fit(*fit)


class SolvedPath(NamedTuple):
    """The estimate of one data vector at penalties from large to small.

    Attributes
    ----------
    lams : (L,) grid, descending
    half_squares, norms : (L,) half the squared residual; the norm
    losses : (L,) minus the slope of the norm in lam
    k : (L,) active columns
    """

    lams: Floats
    half_squares: Floats
    norms: Floats
    losses: Floats
    k: Ints

    def _place(self, lam: Any) -> tuple[Ints, Floats, Floats]:
        """Give the interval of each penalty, its share of the way down, and the length."""
        points = np.asarray(lam, dtype=np.float64)
        if np.any(points > self.lams[0]) or np.any(points < self.lams[-1]):
            msg = f"lam must lie between {self.lams[-1]:g} and {self.lams[0]:g}"
            raise InvalidProblem(msg)
        left = np.searchsorted(-self.lams, -points, side="right") - 1
        left = np.clip(left, 0, self.lams.size - 2).astype(np.int64)
        length = self.lams[left + 1] - self.lams[left]
        return left, (points - self.lams[left]) / length, length

    def _cubic(self, values: Floats, slopes: Floats, lam: Any) -> Floats:
        i, share, length = self._place(lam)
        rest = 1.0 - share
        ends = rest**2 * (1.0 + 2.0 * share) * values[i]
        ends = ends + share**2 * (3.0 - 2.0 * share) * values[i + 1]
        bend = share * rest * (rest * slopes[i] - share * slopes[i + 1])
        return np.asarray(ends + length * bend)

    def norm(self, lam: Any) -> Floats:
        """Norm of the estimate at each penalty."""
        return np.maximum(self._cubic(self.norms, -self.losses, lam), 0.0)

    def residual_sq(self, lam: Any) -> Floats:
        """Squared residual at each penalty."""
        return 2.0 * self._cubic(self.half_squares, self.lams * self.losses, lam)

    def active_size(self, lam: Any) -> Ints:
        """Active columns at the nearest larger penalty of the grid."""
        found: Ints = self.k[self._place(lam)[0]]
        return found


def solved_path(family: Any, y: Floats, lam_low: float) -> SolvedPath:
    """Follow the estimate at `y` from where it is zero down to `lam_low`."""
    top = max(float(protocol.lam_max(family, y)), 2.0 * lam_low)
    if not 0.0 < lam_low < top < np.inf:
        msg = f"the path must run down to a positive penalty; got {lam_low!r} below {top!r}"
        raise InvalidProblem(msg)
    count = 2 + int(POINTS_PER_FOLD * np.log(top / lam_low))
    lams = np.geomspace(top, lam_low, count)
    solver = WarmSolver(family, y)
    rows = np.array([solver.row(float(lam)) for lam in lams])
    return SolvedPath(
        lams,
        0.5 * rows[:, RESIDUAL_SQ],
        rows[:, NORM],
        rows[:, SIGN_ENERGY],
        np.rint(rows[:, K]).astype(np.int64),
    )
