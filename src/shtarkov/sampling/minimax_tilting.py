"""Minimax tilting (Botev 2017): the mass of a Gaussian rectangle, a bound on it, and exact draws.

P(low <= x <= high), x ~ N(0, Sigma) with Sigma of full rank. x = L z is drawn variable by variable,
each z_j a normal shifted by mu_j and cut to the interval its limits leave; psi is the logarithm of
the likelihood ratio. At the saddle point of psi the estimator has vanishing relative error, and
exp(psi*) bounds the ratio, so that accepting with probability exp(psi - psi*) gives independent
exact draws. Slow twin: plain Monte Carlo and the Sobol rule of `complexity/rectangle.py`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import root
from scipy.special import log_ndtr

from shtarkov._jit import kernel
from shtarkov.errors import InvalidProblem, NotConverged, SingularGram
from shtarkov.sampling.normal import interval
from shtarkov.types import Floats, Ints

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
# Proposals per accepted draw after which exact draws are given up.
MAX_TRIES = 1_000_000


class Tilting(NamedTuple):
    """A rectangle in the order it is drawn, and its saddle point.

    Attributes
    ----------
    order : (d,) which of the given variables comes j-th
    factor : (d, d) strictly lower triangular: x_j / scale_j = z_j + sum_i factor_ji z_i
    scale : (d,) diagonal of the Cholesky factor
    low, high : (d,) limits over `scale`, in order
    shift : (d,) mu, the last one zero
    bound : psi at the saddle point: ln P is at most this
    """

    order: Ints
    factor: Floats
    scale: Floats
    low: Floats
    high: Floats
    shift: Floats
    bound: float


def log_mass(low: Floats, high: Floats) -> Floats:
    """Give ln P(low < z < high) for a standard normal z, also far in a tail."""
    # Mirrored to the lower tail, where logarithms keep their accuracy.
    mirrored = low > 0.0
    below = np.where(mirrored, -high, low)
    above = np.where(mirrored, -low, high)
    upper = log_ndtr(above)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(upper + np.log1p(-np.exp(log_ndtr(below) - upper)))


def order_variables(
    covariance: Floats, low: Floats, high: Floats
) -> tuple[Floats, Ints, Floats, Floats]:
    """Factor with the tightest variable first (Gibson, Glasbey and Elston 1994).

    Returns the Cholesky factor, the order, and the limits in that order.
    """
    size = low.size
    matrix, lower, upper = covariance.copy(), low.copy(), high.copy()
    factor, order, mean = np.zeros((size, size)), np.arange(size), np.zeros(size)
    for j in range(size):
        rest = slice(j, size)
        spread = np.diag(matrix)[rest] - (factor[rest, :j] ** 2).sum(axis=1)
        if spread.min() <= 1e-12 * np.diag(matrix).max():
            raise SingularGram("the rectangle's variables are dependent: no minimax tilting")
        root_spread = np.sqrt(spread)
        centre = factor[rest, :j] @ mean[:j]
        mass = log_mass((lower[rest] - centre) / root_spread, (upper[rest] - centre) / root_spread)
        best = j + int(np.argmin(mass))
        swap, back = [j, best], [best, j]
        matrix[swap] = matrix[back]
        matrix[:, swap] = matrix[:, back]
        for array in (factor, lower, upper, order):
            array[swap] = array[back]
        factor[j, j] = math.sqrt(matrix[j, j] - (factor[j, :j] ** 2).sum())
        factor[j + 1 :, j] = (matrix[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j]) / factor[
            j, j
        ]
        centre_here = float(factor[j, :j] @ mean[:j])
        a, b = (lower[j] - centre_here) / factor[j, j], (upper[j] - centre_here) / factor[j, j]
        log_p = float(log_mass(np.array([a]), np.array([b]))[0])
        mean[j] = _density(a, log_p) - _density(b, log_p)
    return factor, order, lower, upper


def _density(x: float, log_p: float) -> float:
    return math.exp(-0.5 * x * x - HALF_LOG_TWO_PI - log_p) if math.isfinite(x) else 0.0


def _slopes(
    variables: Floats, factor: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats, float]:
    """Give the gradient of psi in (x, mu), its Jacobian, and psi."""
    size = low.size
    x, shift = np.zeros(size), np.zeros(size)
    x[:-1], shift[:-1] = variables[: size - 1], variables[size - 1 :]
    centre = factor @ x
    below, above = low - shift - centre, high - shift - centre
    log_p = log_mass(below, above)
    with np.errstate(over="ignore"):
        at_low = np.exp(-0.5 * below**2 - HALF_LOG_TWO_PI - log_p)
        at_high = np.exp(-0.5 * above**2 - HALF_LOG_TWO_PI - log_p)
    mean = at_low - at_high
    gradient = np.concatenate([(-shift + factor.T @ mean)[:-1], (shift - x + mean)[:-1]])
    below, above = (
        np.where(np.isfinite(below), below, 0.0),
        np.where(np.isfinite(above), above, 0.0),
    )
    change = -(mean**2) + below * at_low - above * at_high
    weighted = change[:, None] * factor
    mixed = (weighted - np.eye(size))[:-1, :-1]
    curvature = (factor.T @ weighted)[:-1, :-1]
    jacobian = np.block([[curvature, mixed.T], [mixed, np.diag(1.0 + change[:-1])]])
    psi = float(np.sum(log_p + 0.5 * shift**2 - x * shift))
    return gradient, jacobian, psi


def tilt(covariance: Floats, low: Floats, high: Floats) -> Tilting:
    """Order the variables and solve for the saddle point.

    Parameters
    ----------
    covariance : (d, d) of full rank
    low, high : (d,) limits, possibly infinite, low < high
    """
    if not (low < high).all():
        raise InvalidProblem("every lower limit must be below its upper limit")
    factor, order, lower, upper = order_variables(covariance, low, high)
    scale = np.diag(factor).copy()
    strict = factor / scale[:, None] - np.eye(low.size)
    a, b = lower / scale, upper / scale
    start = np.zeros(2 * (low.size - 1))
    shift, bound = np.zeros(low.size), float(log_mass(a, b)[0])
    if start.size:
        found = root(lambda v: _slopes(v, strict, a, b)[:2], start, jac=True, method="hybr")
        gradient, _, bound = _slopes(found.x, strict, a, b)
        if np.abs(gradient).max() > 1e-6:
            raise NotConverged(
                "minimax tilting found no saddle point; sample the level set instead"
            )
        shift[:-1] = found.x[low.size - 1 :]
    return Tilting(order, strict, scale, a, b, shift, bound)


@kernel
def draw_tilted(factor, low, high, shift, rng, z):  # type: ignore[no-untyped-def]
    """Draw z from the tilted law; return ln of target over proposal density."""
    total = 0.0
    for j in range(z.size):
        centre = shift[j]
        for i in range(j):
            centre += factor[j, i] * z[i]
        mass, point = interval(low[j] - centre, high[j] - centre, rng.random())
        if mass <= 0.0:
            return -math.inf
        z[j] = shift[j] + point
        total += math.log(mass) + 0.5 * shift[j] * shift[j] - shift[j] * z[j]
    return total


@kernel
def tilted_weights(factor, low, high, shift, rng, out):  # type: ignore[no-untyped-def]
    """Write the log ratio of each of many draws."""
    z = np.zeros(low.size)
    for t in range(out.size):
        out[t] = draw_tilted(factor, low, high, shift, rng, z)


@kernel
def exact_draws(factor, low, high, shift, bound, max_tries, rng, out):  # type: ignore[no-untyped-def]
    """Fill the rows of `out` with independent exact z; return proposals made, or -1 if too many."""
    z = np.zeros(low.size)
    tries = 0
    for t in range(out.shape[0]):
        start = tries
        while True:
            tries += 1
            log_ratio = draw_tilted(factor, low, high, shift, rng, z)
            if math.log(1.0 - rng.random()) <= log_ratio - bound:
                break
            if tries - start > max_tries:
                return -1
        for j in range(z.size):
            out[t, j] = z[j]
    return tries


def tilted_probability(
    tilting: Tilting, n_draws: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Give ln P and its standard error from `n_draws` tilted draws."""
    log_ratio = np.zeros(n_draws)
    tilted_weights(tilting.factor, tilting.low, tilting.high, tilting.shift, rng, log_ratio)
    top = float(log_ratio.max())
    weights = np.exp(log_ratio - top)
    mean = float(weights.mean())
    error = float(np.std(weights, ddof=1)) / (mean * math.sqrt(n_draws))
    return top + math.log(mean), error


def rectangle_draws(
    tilting: Tilting, n_draws: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Give (n_draws, d) independent draws of x inside the rectangle, and the share accepted."""
    z = np.zeros((n_draws, tilting.low.size))
    tries = exact_draws(
        tilting.factor,
        tilting.low,
        tilting.high,
        tilting.shift,
        tilting.bound,
        MAX_TRIES,
        rng,
        z,
    )
    if tries < 0:
        raise NotConverged("minimax tilting accepts too few draws; use move='bounce'")
    x = np.zeros_like(z)
    x[:, tilting.order] = (z + z @ tilting.factor.T) * tilting.scale
    return x, n_draws / tries
