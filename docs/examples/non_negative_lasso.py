"""The Lasso with coefficients that cannot be negative: a family in one file, to start others from.

Objective: half the squared residual + lam * sum(beta) over beta >= 0, sigma = 1. Optimality: every
column's pull x_j'r is at most lam, and equals lam where beta_j > 0. Given which coefficients are
positive, and the residual, these are independent exponentials of rate `weight`.

Coordinate descent is slow for columns that nearly agree: to use it in earnest, replace `_relax`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from shtarkov._jit import kernel
from shtarkov.complexity.outline import outline_of
from shtarkov.complexity.quadrature import first_order, start_of_path
from shtarkov.families import facts, protocol
from shtarkov.families import observables as obs
from shtarkov.families.active_work import assign, dot
from shtarkov.families.build import check_lam, check_sigma
from shtarkov.families.compiled import family_of
from shtarkov.families.reduce import Design, reduce_design
from shtarkov.geometry.active_factor import factor_active
from shtarkov.geometry.schur import log_volume
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.types import Fit, Floats, Status

OK, NOT_CONVERGED = int(Status.OK), int(Status.NOT_CONVERGED)
ACCURACY = 1e-11  # of lam, in the optimality conditions
MAX_SWEEPS = 100_000


# --- 1. the problem: what a user makes -------------------------------------------------------


class NonNegativeLasso:
    """A design whose coefficients are penalised and cannot be negative; options as for `Lasso`."""

    name = "non_negative_lasso"

    def __init__(self, X: Any, **options: Any) -> None:
        self.design: Design = reduce_design(X, **options)

    def penalties(self, lam: float) -> tuple[float, float]:
        """Weights of the norm and of half the squares at `lam`."""
        return check_lam(lam), 0.0


# --- 2. the family: the reduced design at one penalty, and the state of its solver -----------


class NonNegativeFamily(NamedTuple):
    """The columns of X as rows, their squared lengths, and the penalty."""

    Xt: Floats
    squares: Floats
    lam: float


class Work(NamedTuple):
    """The solution at one data vector; `z`, the image of that vector, is not used and empty."""

    coef: Floats
    residual: Floats
    z: Floats


@family_of.register
def _family(problem: NonNegativeLasso, lam: float, sigma: float = 1.0) -> NonNegativeFamily:
    Xt = np.ascontiguousarray(problem.design.X.T)
    return NonNegativeFamily(Xt, np.einsum("ij,ij->i", Xt, Xt), float(lam / check_sigma(sigma)))


@protocol.with_lam.register(NonNegativeFamily)
def _with_lam(family, lam):
    return NonNegativeFamily(family.Xt, family.squares, lam)


@protocol.new_work.register(NonNegativeFamily)
def _new_work(family, capacity):
    n_features, n = family.Xt.shape
    return Work(np.zeros(n_features), np.zeros(n), np.zeros(0))


@protocol.copy_work.register(NonNegativeFamily)
def _copy_work(family, source, destination):
    assign(source.coef, destination.coef)
    assign(source.residual, destination.residual)


@protocol.image.register(NonNegativeFamily)
def _image(family, v, out):
    return


# --- 3. the solver ---------------------------------------------------------------------------


@protocol.relax.register(NonNegativeFamily)
def _relax(family, y, work):
    n_features = family.squares.size
    assign(y, work.residual)
    for j in range(n_features):
        if work.coef[j] > 0.0:
            work.residual[:] -= work.coef[j] * family.Xt[j]
    for _ in range(MAX_SWEEPS):
        worst = 0.0
        for j in range(n_features):
            if family.squares[j] == 0.0:
                continue
            pull = dot(family.Xt[j], work.residual) - family.lam
            moved = max(0.0, work.coef[j] + pull / family.squares[j])
            change = moved - work.coef[j]
            if change != 0.0:
                work.residual[:] -= change * family.Xt[j]
                work.coef[j] = moved
            worst = max(worst, abs(change) * family.squares[j])
        if worst <= ACCURACY * family.lam:
            return OK
    return NOT_CONVERGED


@kernel
def worst_condition(family, coef, residual):
    """Return the largest violation of the optimality conditions in units of lam."""
    worst = 0.0
    for j in range(coef.size):
        excess = dot(family.Xt[j], residual) - family.lam
        worst = max(worst, abs(excess) if coef[j] > 0.0 else excess, -coef[j] * family.lam)
    return worst / family.lam


@protocol.solve.register(NonNegativeFamily)
def _solve(family, y, start):
    status = protocol.relax(family, y, start)
    active = np.flatnonzero(start.coef)
    penalty = family.lam * np.sum(start.coef)
    return Fit(
        start.coef.copy(),
        active,
        np.ones(active.size),
        start.residual.copy(),
        0.5 * dot(start.residual, start.residual) + penalty,
        penalty,
        float(active.size),
        status,
    )


@protocol.kkt_residual.register(NonNegativeFamily)
def _kkt_residual(family, y, fit):
    return worst_condition(family, fit.coef, y - family.Xt.T @ fit.coef)


@protocol.lam_max.register(NonNegativeFamily)
def _lam_max(family, y):
    return max(0.0, np.max(family.Xt @ y))


@protocol.penalty_value.register(NonNegativeFamily)
def _penalty_value(family, coef):
    return family.lam * np.sum(coef) if np.all(coef >= 0.0) else math.inf


@protocol.penalty_curvature.register(NonNegativeFamily)
def _penalty_curvature(family, fit):
    return np.zeros((fit.active.size, fit.active.size))


@protocol.log_likelihood.register(NonNegativeFamily)
def _log_likelihood(family, y, fit):
    return -0.5 * (dot(fit.residual, fit.residual) + y.size * math.log(2.0 * math.pi))


# --- 4. what the sampler asks ----------------------------------------------------------------


@kernel
def active_geometry(family, work):
    """Return the positive coefficients, the factor of their columns, and H^-1 times ones."""
    active = np.flatnonzero(work.coef)
    k = active.size
    factor = factor_active(np.ascontiguousarray(family.Xt[active].T), np.zeros((k, k)))
    weights = np.ones(k)
    solve_factored(factor.chol_gram, k, weights)
    return active, factor, weights


@protocol.potential.register(NonNegativeFamily)
def _potential(family, weight, work):
    return 0.5 * dot(work.residual, work.residual) + weight * np.sum(work.coef)


@protocol.write_force.register(NonNegativeFamily)
def _write_force(family, weight, y, work, force_out, image_out):
    assign(work.residual, force_out)
    if weight != family.lam:  # the gradient of sum(beta) in y is X_A H^-1 1
        _, factor, weights = active_geometry(family, work)
        force_out[:] += (weight - family.lam) * (factor.X_active @ weights)


@protocol.refresh_fibre.register(NonNegativeFamily)
def _refresh_fibre(family, weight, y, work, rng):
    for j in range(work.coef.size):
        if work.coef[j] > 0.0:
            drawn = rng.standard_exponential() / weight
            y[:] += (drawn - work.coef[j]) * family.Xt[j]
            work.coef[j] = drawn


@protocol.observe.register(NonNegativeFamily)
def _observe(family, weight, work, row_out):
    active, factor, weights = active_geometry(family, work)
    norm, residual_sq = np.sum(work.coef), dot(work.residual, work.residual)
    row_out[obs.K] = row_out[obs.DF] = active.size
    row_out[obs.PENALTY] = family.lam * norm
    row_out[obs.SLOPE] = family.lam * norm
    row_out[obs.FIT_RESIDUAL] = family.lam * norm
    row_out[obs.RESIDUAL_SQ] = residual_sq
    row_out[obs.ENVELOPE] = 0.5 * residual_sq + family.lam * norm
    row_out[obs.NORM] = norm
    row_out[obs.SIGN_ENERGY] = np.sum(weights)
    row_out[obs.LOG_VOLUME] = log_volume(factor)
    row_out[obs.KKT_RESIDUAL] = worst_condition(family, work.coef, work.residual)


@protocol.mark_active.register(NonNegativeFamily)
def _mark_active(family, work, row_out):
    for j in range(work.coef.size):
        if work.coef[j] > 0.0:
            row_out[j] = 1


# --- 5. what Python asks ---------------------------------------------------------------------


@facts.facts_of.register
def _facts(family: NonNegativeFamily) -> facts.Facts:
    n_features, n = family.Xt.shape
    return facts.Facts(n, n_features, 1.0, norm_counts_active=True, image_work=0.0)


@facts.relax_work.register
def _relax_work(family: NonNegativeFamily, n_active: float) -> float:
    return 20.0 * family.Xt.size  # ten sweeps from a neighbouring data vector


@dataclass(frozen=True, slots=True, eq=False)
class NonNegativeOutline:
    """The path in closed form, as if the columns, of these lengths, were orthogonal.

    Then C(lam, tau) is the product of Phi(c) + phi(c) |x| / tau over the columns, c = lam / |x|.
    """

    norms: Floats
    n_dim: int

    @property
    def is_empty(self) -> bool:
        """Say whether every column is zero."""
        return self.norms.size == 0

    def first_order(self, lam: float) -> float:
        """Give the leading term of ln C for a large penalty."""
        return 0.5 * first_order(self.norms, lam)

    def start(self, negligible: float) -> float:
        """Find the penalty at which the first-order term has fallen to `negligible`."""
        return start_of_path(self.norms, 2.0 * negligible)

    def _parts(self, lam: float, tau: Any) -> tuple[Floats, Floats]:
        """Give the two terms of each column's factor: coefficient zero, and positive."""
        c = lam / self.norms
        return ndtr(c), np.exp(-0.5 * c * c) / math.sqrt(2.0 * math.pi) * self.norms / tau

    def ln_c(self, lam: float, tau: float) -> float:
        """Give ln C(lam, tau)."""
        zero, positive = self._parts(lam, tau)
        return float(np.sum(np.log(zero + positive)))

    def mean_norm(self, lam: float, taus: Floats) -> Floats:
        """Guess the mean of tau * sum(beta), that of k, which is at most the dimension."""
        zero, positive = self._parts(lam, taus[:, None])
        active = (positive / (zero + positive)).sum(axis=1)
        return np.asarray(self.n_dim * -np.expm1(-active / self.n_dim))

    def mean_df(self, log_lams: Floats) -> Floats:
        """Guess E[k] at each ln lam."""
        return np.concatenate([self.mean_norm(lam, lam[None]) for lam in np.exp(log_lams)])


@outline_of.register
def _outline(family: NonNegativeFamily) -> NonNegativeOutline:
    lengths = np.sqrt(family.squares[family.squares > 0.0])
    return NonNegativeOutline(lengths, family.Xt.shape[1])
