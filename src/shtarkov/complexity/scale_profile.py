# mypy: allow-untyped-defs, allow-untyped-calls
"""The best noise scale for one data vector at each kappa = lam / sigma, and its codelength part.

For fixed kappa (and fixed lam2) sigma maximises -N ln sigma - E_kappa(y / sigma), where
E_kappa(y / sigma) = E_{kappa sigma}(y) / sigma^2 includes half the squared length z outside the
reduced space. At lam = kappa sigma this gives N lam^2 / kappa^2 = <y, r_lam> + z. Between
breakpoints E = e0 + e1 lam + e2 lam^2 and <y, r_lam> = 2 e0 + e1 lam, so each segment holds at most
one root of a quadratic, and lam falls with kappa: one walk down the penalty path serves every
kappa. Slow twin: minimisation over ln sigma (tests/unit/complexity/test_noise_scale.py).

The Elastic Net's lam2 weighs beta'beta, which has the units of X'X: it is left alone when y is
rescaled, and must be for the densities at different sigma to be one scale family. So with
``l2_ratio`` the ratio is read in units of the noise, lam2 = l2_ratio * kappa (sigma = 1 gives the
usual meaning), and the result does not change under (y, sigma) -> (c y, c sigma).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from shtarkov._jit import kernel
from shtarkov.complexity.solved_scales import solved_scales
from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.active_set import relax
from shtarkov.families.active_work import dot
from shtarkov.families.build import check_lams
from shtarkov.families.compiled import family_of
from shtarkov.families.homotopy import (
    NOT_CONVERGED,
    OK,
    advance,
    make_walk,
    max_events,
    next_wall,
    pass_event,
    wall_slack,
)
from shtarkov.families.homotopy_lam import segment_quadratic, start_walk
from shtarkov.families.lasso import LassoFamily
from shtarkov.types import Floats, Ints, Status

FIRST_CAPACITY = 256


@kernel
def stationary_lam(terms, orthogonal_sq, per_square):
    """Return the root of per_square lam^2 = 2 e0 + e1 lam + orthogonal_sq."""
    rest = max(2.0 * terms.e0 + orthogonal_sq, 0.0)
    return (terms.e1 + math.sqrt(terms.e1**2 + 4.0 * per_square * rest)) / (2.0 * per_square)


@kernel
def seek_scale(Xt, gram, lam, lam2, y, orthogonal_sq, per_square, slack, walk, work):
    """Walk from the solution at lam to the stationary one; gives (lam, envelope, status)."""
    y_sq = dot(y, y)
    status = start_walk(Xt, gram, lam, -1.0, lam2, y, slack, walk, work)
    direction = -1.0
    terms = segment_quadratic(lam, direction, y_sq, work)
    if status == OK and stationary_lam(terms, orthogonal_sq, per_square) > lam:
        direction = 1.0
        status = start_walk(Xt, gram, lam, direction, lam2, y, slack, walk, work)
    for _ in range(max_events(work)):
        if status != OK:
            return lam, math.nan, status
        terms = segment_quadratic(lam, direction, y_sq, work)
        step, column = next_wall(lam, direction, walk, work)
        left = direction * (stationary_lam(terms, orthogonal_sq, per_square) - lam)
        if column < 0 or left <= step:
            advance(max(left, 0.0), y, walk, work)
            lam += direction * max(left, 0.0)
            return lam, terms.e0 + (terms.e1 + terms.e2 * lam) * lam, OK
        advance(step, y, walk, work)
        lam += direction * step
        status = pass_event(Xt, gram, lam, direction, lam2, y, slack, column, walk, work)
    return lam, math.nan, NOT_CONVERGED


@kernel
def profile_scales(Xt, gram, kappas, lam2s, n_dim, y, orthogonal_sq, lam, work, table):
    """Fill rows (lam, envelope, k, |beta|_1) for descending kappas; gives the status.

    `work` is the solution at `lam` and the first lam2.
    """
    n_features, n = Xt.shape
    walk = make_walk(n, n_features, False)
    largest_image = np.max(np.abs(Xt @ y))
    for i in range(kappas.size):
        if work.ridge[0] != lam2s[i]:
            status = relax(Xt, gram, lam, lam2s[i], y, work)
            if status != OK:
                return status
        per_square = n_dim / kappas[i] ** 2
        slack = wall_slack(lam, largest_image)
        lam, envelope, status = seek_scale(
            Xt, gram, lam, lam2s[i], y, orthogonal_sq, per_square, slack, walk, work
        )
        if status != OK:
            return status
        table[i, 0], table[i, 1], table[i, 2] = lam, envelope, work.counts[0]
        table[i, 3] = np.sum(np.abs(work.coef[: work.counts[0]]))
    return OK


class ScaleProfile(NamedTuple):
    """The best scale of one data vector at each kappa, in the order the kappas were given.

    Attributes
    ----------
    kappas : lam / sigma
    sigma : the maximising noise scale
    lam : kappa * sigma, the penalty in the data's units
    lam2 : weight of half the squares that goes with it (zero for the Lasso)
    codelength : N ln sigma + E_kappa(y / sigma), the data's part of THEORY section 6
    k : active columns there
    norm : the norm there, in the data's units
    """

    kappas: Floats
    sigma: Floats
    lam: Floats
    lam2: Floats
    codelength: Floats
    k: Ints
    norm: Floats


def _lam2s(family: Any, kappas: Floats) -> Floats:
    """Give the weight of half the squares at each kappa; families without squares have none."""
    if isinstance(family, LassoFamily):
        return np.asarray(family.ridge_ratio * kappas + family.ridge)
    return np.zeros(kappas.size)


@functools.singledispatch
def scale_table(family: Any, y: Floats, orthogonal_sq: float, n_dim: int, kappas: Floats) -> Floats:
    """Give rows (lam, envelope, k, norm) of the best scale for descending kappas."""
    return solved_scales(family, y, orthogonal_sq, n_dim, kappas)


@scale_table.register
def _lasso_table(
    family: LassoFamily, y: Floats, orthogonal_sq: float, n_dim: int, kappas: Floats
) -> Floats:
    table = np.zeros((kappas.size, 4))
    lam2s = _lam2s(family, kappas)
    empty_sigma = math.sqrt((float(y @ y) + orthogonal_sq) / n_dim)
    first = max(float(protocol.lam_max(family, y)), float(kappas[0]) * empty_sigma)
    capacity, status = FIRST_CAPACITY, int(Status.CAPACITY)
    while status == Status.CAPACITY:
        work = protocol.new_work(family, capacity)
        protocol.image(family, y, work.z)
        status = relax(family.Xt, family.gram, first, float(lam2s[0]), y, work)
        if status == OK:
            status = profile_scales(
                family.Xt,
                family.gram,
                kappas,
                lam2s,
                float(n_dim),
                y,
                orthogonal_sq,
                first,
                work,
                table,
            )
        capacity *= 2
    raise_for_status(status, "profiling the noise scale")
    return table


def profile_scale_path(
    problem: Any, y_reduced: ArrayLike, orthogonal_sq: float, kappas: ArrayLike
) -> ScaleProfile:
    """Find the best noise scale at every kappa, from large to small.

    Parameters
    ----------
    problem : `Lasso`, `ElasticNet`, `GroupLasso`, ...
    y_reduced, orthogonal_sq : the fields `y` and `orthogonal_sq` of `design.reduce_response`
    kappas : penalties in units of the noise scale, in any order
    """
    grid = check_lams(kappas)
    family = family_of(problem, 1.0)
    y = np.ascontiguousarray(y_reduced, dtype=np.float64)
    y_sq, n_dim = float(y @ y), problem.design.n_dim
    if not 0.0 < y_sq + orthogonal_sq < math.inf:
        raise InvalidProblem("y is zero after projection: there is no noise to find the scale of")
    table = scale_table(family, y, float(orthogonal_sq), n_dim, grid.lams)
    lam, envelope = table[:, 0], table[:, 1] + 0.5 * orthogonal_sq
    sigma = lam / grid.lams
    codelength = n_dim * np.log(sigma) + envelope / sigma**2
    order = grid.position
    return ScaleProfile(
        kappas=grid.lams[order],
        sigma=sigma[order],
        lam=lam[order],
        lam2=_lam2s(family, grid.lams)[order],
        codelength=codelength[order],
        k=table[order, 2].astype(np.int64),
        norm=table[order, 3],
    )


def profile_scale(
    problem: Any, y_reduced: ArrayLike, orthogonal_sq: float, kappa: float
) -> tuple[float, float]:
    """Find the best noise scale at one kappa; gives (sigma, N ln sigma + E_kappa(y / sigma))."""
    profile = profile_scale_path(problem, y_reduced, orthogonal_sq, [kappa])
    return float(profile.sigma[0]), float(profile.codelength[0])
