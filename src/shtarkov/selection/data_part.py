"""The data's part of every codelength: what y alone says, before any complexity.

In nats, for n dimensions after projection, z the squared length of y outside the reduced space:

* sigma known:   half n ln(2 pi sigma^2) + energy(y / sigma);
* sigma unknown: n ln sigma-hat + energy(y / sigma-hat) + half n ln(2 pi), where sigma-hat maximises
  the density at fixed kappa = lam / sigma (and tau / sigma): THEORY section 6.

The energy is half the squared residual plus the weighted norm, z included.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shtarkov.complexity.scale_profile import profile_scale_path
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.build import check_problem
from shtarkov.families.compiled import family_of
from shtarkov.families.homotopy_lam import PenaltyPath, penalty_path
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.response import ReducedResponse
from shtarkov.families.solved_path import SolvedPath, WarmSolver, solved_path
from shtarkov.types import Floats, Ints

LN_2PI = math.log(2.0 * math.pi)
# The free code profiles sigma on a grid of ln sigma from the empty model's down by DEEPEST_FALL,
# then zooms in twice: the last step is a few 1e-5, and the codelength is flat to second order.
DEEPEST_FALL = 8.0
SCALE_POINTS = 161
ZOOM_POINTS = 17
ZOOMS = 2


@dataclass(frozen=True, slots=True, eq=False)
class DataTable:
    """The data's part at a list of kappas.

    Attributes
    ----------
    kappas, lams, lam2s, sigmas : penalty in units of the noise and of the data, and the noise scale
    nats : the data's part of the codelength
    """

    kappas: Floats
    lams: Floats
    lam2s: Floats
    sigmas: Floats
    nats: Floats


@dataclass(frozen=True, slots=True, eq=False)
class DataPart:
    """One data vector, reduced, with what its codelengths need.

    Attributes
    ----------
    problem : the problem it belongs to
    response : the reduced data vector
    sigma : the noise standard deviation, None when unknown
    family : the compiled family in the data's own units
    """

    problem: Any
    response: ReducedResponse
    sigma: float | None
    family: Any

    @property
    def n_dim(self) -> int:
        """Dimension of the data after projection."""
        return int(self.problem.design.n_dim)

    @property
    def total_sq(self) -> float:
        """Squared length of the data after projection."""
        return float(self.response.y @ self.response.y) + self.response.orthogonal_sq

    @property
    def empty_sigma(self) -> float:
        """Noise scale of the empty model."""
        if self.sigma is not None:
            return self.sigma
        return math.sqrt(self.total_sq / self.n_dim)

    @property
    def kappa_max(self) -> float:
        """Smallest kappa whose estimate is zero; zero if no column correlates with y."""
        return float(protocol.lam_max(self.family, self.response.y)) / self.empty_sigma

    def empty_nats(self) -> float:
        """Codelength of the empty model, without the cost of the unknown scale."""
        scale = self.empty_sigma
        return float(self._constant(scale)) + 0.5 * self.total_sq / scale**2

    def _constant(self, sigma: Any) -> Any:
        return self.n_dim * (np.log(sigma) + 0.5 * LN_2PI)

    def table(self, kappas: Floats) -> DataTable:
        """Give the matched code's data part at each kappa (descending)."""
        if self.sigma is None:
            y, rest = self.response.y, self.response.orthogonal_sq
            found = profile_scale_path(self.problem, y, rest, kappas)
            nats = found.codelength + 0.5 * self.n_dim * LN_2PI
            return DataTable(kappas, found.lam, found.lam2, found.sigma, nats)
        lams = kappas * self.sigma
        lam2s = np.array([self.problem.penalties(float(lam))[1] for lam in lams])
        fits = self.solve_at(lams, lam2s)
        energies = np.array([fit.envelope for fit in fits]) + 0.5 * self.response.orthogonal_sq
        sigmas = np.full(kappas.size, self.sigma)
        nats = self._constant(self.sigma) + energies / self.sigma**2
        return DataTable(kappas, lams, lam2s, sigmas, nats)

    def kappas_of(self, lams: Floats) -> Floats:
        """Give lam / sigma-hat for penalties of the data: n lam^2 / kappa^2 = <y, r> + z."""
        if self.sigma is not None:
            return lams / self.sigma
        fixed = fixed_ridge(self.family)
        fits = self.solve_at(lams, np.full(lams.size, fixed))
        pulled = np.array([self.response.y @ fit.residual for fit in fits])
        return np.asarray(lams * np.sqrt(self.n_dim / (pulled + self.response.orthogonal_sq)))

    def solve_at(self, lams: Floats, lam2s: Floats) -> list[Any]:
        """Fit y at each penalty, each solve starting from the last."""
        solver, fits = WarmSolver(self.family, self.response.y), []
        for lam, lam2 in zip(lams, lam2s, strict=True):
            fits.append(solver.fit(float(lam), float(lam2)))
        return fits

    def penalty_path(self, lowest: float) -> PenaltyPath | SolvedPath:
        """Follow the estimate of y from zero down to penalty `lowest`."""
        return path_of_data(self.family, self.response.y, lowest)

    def free_table(
        self, path: PenaltyPath | SolvedPath, kappas: Floats, ratios: Floats
    ) -> tuple[Floats, Floats, Ints]:
        """Give the free code's data part, sigma and k at each (kappa, tau = ratio * kappa)."""
        nats = np.empty((kappas.size, ratios.size))
        sigmas = np.empty_like(nats)
        sizes = np.empty(nats.shape, np.int64)
        for i, kappa in enumerate(kappas):
            nats[i], sigmas[i] = self._profile_free(path, float(kappa), float(kappa) * ratios)
            inside = np.minimum(kappa * sigmas[i], path.lams[0])
            sizes[i] = path.active_size(np.maximum(inside, path.lams[-1]))
        return nats, sigmas, sizes

    def _profile_free(
        self, path: PenaltyPath | SolvedPath, kappa: float, taus: Floats
    ) -> tuple[Floats, Floats]:
        """Minimise over sigma at lam = kappa sigma, for each weight tau (in units of sigma)."""
        rows = np.arange(taus.size)
        if self.sigma is not None:
            only = np.full((taus.size, 1), self.sigma)
            return self._free_nats(path, kappa, taus, only)[:, 0], only[:, 0]
        falls = np.tile(np.linspace(0.0, DEEPEST_FALL, SCALE_POINTS), (taus.size, 1))
        step = DEEPEST_FALL / (SCALE_POINTS - 1)
        for _ in range(ZOOMS + 1):
            scales = self.empty_sigma * np.exp(-falls)
            values = self._free_nats(path, kappa, taus, scales)
            best = np.argmin(values, axis=1)
            offsets = np.linspace(-step, step, ZOOM_POINTS)
            falls = falls[rows, best][:, None] + offsets
            step = 2.0 * step / (ZOOM_POINTS - 1)
        return values[rows, best], scales[rows, best]

    def _free_nats(
        self, path: PenaltyPath | SolvedPath, kappa: float, taus: Floats, scales: Floats
    ) -> Floats:
        """Give n ln sigma + half rss / sigma^2 + tau norm / sigma (and the constant)."""
        lams = np.clip(kappa * scales, path.lams[-1], path.lams[0])
        rss = path.residual_sq(lams) + self.response.orthogonal_sq
        fitted = self._constant(scales) + 0.5 * rss / scales**2
        return np.asarray(fitted + taus[:, None] * path.norm(lams) / scales)


@functools.singledispatch
def fixed_ridge(family: Any) -> float:
    """Give the weight of half the squares that does not move with the penalty."""
    return 0.0


def _lasso_ridge(family: LassoFamily) -> float:
    return family.ridge


fixed_ridge.register(LassoFamily, _lasso_ridge)


@functools.singledispatch
def path_of_data(family: Any, y: Floats, lowest: float) -> PenaltyPath | SolvedPath:
    """Follow the estimate of y from zero down to penalty `lowest`."""
    return solved_path(family, y, lowest)


path_of_data.register(LassoFamily, penalty_path)


def make_data_part(problem: Any, y: Any, sigma: float | None) -> DataPart:
    """Reduce y and check that it can be coded at all."""
    check_problem(problem)
    part = DataPart(problem, problem.design.reduce_response(y), sigma, family_of(problem, 1.0))
    if sigma is None and part.total_sq <= 0.0:
        raise InvalidProblem(
            "y is constant or lies in the span of the unpenalised columns: there is no noise scale "
            "to estimate; give sigma=, or another y"
        )
    return part
