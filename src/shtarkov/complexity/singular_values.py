"""Exact ln C of the nuclear norm on the identity design, at any size, and the law of the rank.

The singular values s_1, ..., s_m of an m x n matrix (m <= n) have density, under any law that is a
product of functions of them and invariant under rotations from both sides,

    prod_{i<j} |s_i^2 - s_j^2| prod_i s_i^(n-m) w(s_i)          (a constant apart).

For the Gaussian w is exp(-s^2 / 2); for the luckiness density it is exp(-half min(s, lam)^2 -
tau (s - lam)_+). With phi_j(s) = p_j(s^2) s^(n-m) w(s), p_j any monic polynomials, the product of
differences is a determinant of the phi_j(s_i), and its integral over s_1 < ... < s_m is, by de
Bruijn (1955), the Pfaffian of

    A_jk = double integral of sign(t - s) phi_j(s) phi_k(t),

bordered with the integrals of phi_j when m is odd. C is the ratio of two such Pfaffians, so it
costs one-dimensional quadrature at any m and n. Multiplying w by z beyond lam gives the generating
function of the rank. Monic polynomials are hopelessly conditioned; here they are the orthonormal
ones of each weight (Lanczos on the quadrature nodes) with their leading coefficients kept in logs.

Slow twin: `complexity.singular_quadrature`, for m <= 2.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import roots_legendre

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lam, check_sigma
from shtarkov.types import Floats

# Gauss-Legendre points of a panel; a panel holds about one oscillation of the highest polynomial.
POINTS = 16
FIRST_PANELS = 6
# Where the weight has fallen this far below its peak (in nats) the integrals stop.
DEPTH = 80.0


class Nodes(NamedTuple):
    """Quadrature of functions of one singular value.

    Attributes
    ----------
    points, weights : panel by panel, increasing
    """

    points: Floats
    weights: Floats


class WeightedBasis(NamedTuple):
    """Orthonormal phi_j on the nodes, and what the monic ones would be multiplied by.

    Attributes
    ----------
    nodes : the quadrature
    values : (nodes, m) the phi_j
    log_leading : sum over j of ln of the leading coefficients of the p_j
    """

    nodes: Nodes
    values: Floats
    log_leading: float


@functools.cache
def _panel_rule() -> tuple[Floats, Floats, Floats]:
    """Give nodes and weights on [0, 1] and the matrix of integrals from 0 to each node."""
    roots, weights = roots_legendre(POINTS)
    points = 0.5 * (roots + 1.0)
    vandermonde = np.polynomial.legendre.legvander(roots, POINTS)
    degree = np.arange(POINTS)
    # Antiderivatives of the Legendre polynomials, zero at -1.
    integrals = np.empty((POINTS, POINTS))
    integrals[:, 0] = roots + 1.0
    integrals[:, 1:] = (vandermonde[:, 2:] - vandermonde[:, : POINTS - 1]) / (2 * degree[1:] + 1)
    return points, 0.5 * weights, 0.5 * integrals @ np.linalg.inv(vandermonde[:, :POINTS])


def _cumulative(nodes: Nodes, values: Floats) -> tuple[Floats, Floats]:
    """Give the integral of each column from zero to each node, and its whole."""
    unit = _panel_rule()
    n_panels, n_columns = nodes.points.size // POINTS, values.shape[1]
    panels = values.reshape(n_panels, POINTS, n_columns)
    widths = nodes.weights.reshape(n_panels, POINTS)[:, 0] / unit[1][0]
    within = np.einsum("pq,aqc->apc", unit[2], panels) * widths[:, None, None]
    sums = np.einsum("ap,apc->ac", nodes.weights.reshape(n_panels, POINTS), panels)
    before = np.cumsum(sums, axis=0) - sums
    return (within + before[:, None, :]).reshape(-1, n_columns), sums.sum(axis=0)


def _log_weight(points: Floats, lam: float, tau: float) -> Floats:
    """Give ln w; `lam` infinite is the Gaussian."""
    inside = np.minimum(points, lam)
    return -0.5 * inside**2 - tau * (points - inside)


def _reach(degree: int, lam: float, tau: float) -> float:
    """Find where s^degree w(s) has fallen by `DEPTH` from its peak."""

    def height(s: float) -> float:
        return degree * math.log(s) + float(_log_weight(np.array([s]), lam, tau)[0])

    peak = math.sqrt(degree) if degree else 1e-6
    if peak > lam:
        peak = max(lam, degree / tau)
    top, far = height(peak), max(2.0 * peak, 1.0)
    while height(far) > top - DEPTH:
        far *= 2.0
    return float(brentq(lambda s: height(s) - top + DEPTH, peak, far, xtol=1e-6))


def _make_nodes(m: int, n: int, lam: float, tau: float) -> Nodes:
    """Lay panels on both sides of the kink at lam."""
    points, weights, _ = _panel_rule()
    reach = _reach(n + m - 2, lam, tau)
    edges = [0.0, min(lam, reach), reach]
    pieces = []
    for low, high in itertools.pairwise(edges):
        if high > low:
            # The Gaussian's own scale is one, the tail's one over tau.
            rate = 1.0 if low == 0.0 else min(tau, 1.0)
            n_panels = FIRST_PANELS + m + int(0.25 * rate * (high - low))
            pieces.append(np.linspace(low, high, n_panels + 1))
    starts = np.concatenate([piece[:-1] for piece in pieces])
    widths = np.concatenate([np.diff(piece) for piece in pieces])
    return Nodes(
        (starts[:, None] + widths[:, None] * points).ravel(), np.outer(widths, weights).ravel()
    )


def _basis(m: int, n: int, lam: float, tau: float) -> WeightedBasis:
    """Orthonormalise s^(n-m) w(s) times powers of s^2 (Lanczos, orthogonalised twice)."""
    nodes = _make_nodes(m, n, lam, tau)
    log_g = (n - m) * np.log(nodes.points) + _log_weight(nodes.points, lam, tau)
    shift = float(log_g.max())
    root = np.sqrt(nodes.weights)
    column = np.exp(log_g - shift) * root
    basis = np.empty((nodes.points.size, m))
    log_length, log_leading = shift, 0.0
    for j in range(m):
        for _ in range(2):
            column -= basis[:, :j] @ (basis[:, :j].T @ column)
        length = float(np.linalg.norm(column))
        basis[:, j] = column / length
        log_length += math.log(length)
        log_leading -= log_length
        column = nodes.points**2 * basis[:, j]
    return WeightedBasis(nodes, basis / root[:, None], log_leading)


def _skew_products(nodes: Nodes, left: Floats, right: Floats) -> Floats:
    """Give the double integrals of sign(t - s) left_j(s) right_k(t)."""
    below, whole = _cumulative(nodes, right)
    return np.asarray((left * nodes.weights[:, None]).T @ (whole - 2.0 * below))


def _bordered(skew: Floats, integrals: Floats) -> Floats:
    """Add the border of an odd dimension."""
    size = skew.shape[0]
    if size % 2 == 0:
        return skew
    whole = np.zeros((size + 1, size + 1), dtype=np.result_type(skew, integrals))
    whole[:size, :size] = skew
    whole[:size, size], whole[size, :size] = integrals, -integrals
    return whole


def _matrix(basis: WeightedBasis, values: Floats) -> Floats:
    skew = _skew_products(basis.nodes, values, values)
    return _bordered(0.5 * (skew - skew.T), basis.nodes.weights @ values)


def _log_pfaffian(m: int, n: int, lam: float, tau: float) -> float:
    """Give ln of the integral of the unnormalised density over ordered singular values."""
    basis = _basis(m, n, lam, tau)
    log_det = float(np.linalg.slogdet(_matrix(basis, basis.values))[1])
    return 0.5 * log_det - basis.log_leading


def check_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Give the smaller and the larger side of a matrix."""
    smaller, larger = sorted(int(side) for side in shape)
    if smaller < 1:
        msg = f"shape must hold two positive numbers; got {shape}"
        raise InvalidProblem(msg)
    return smaller, larger


def nuclear_ln_c(
    shape: tuple[int, int], lam: float, tau: float | None = None, sigma: float = 1.0
) -> float:
    """Give ln C(lam, tau) of the nuclear norm on the identity design.

    Parameters
    ----------
    shape : rows and columns of the data
    lam, tau : penalty and luckiness weight; tau None means lam
    sigma : noise standard deviation
    """
    m, n = check_shape(shape)
    kappa = check_lam(lam) / check_sigma(sigma)
    weight = kappa if tau is None else check_lam(tau) / sigma
    return _log_pfaffian(m, n, kappa, weight) - _log_pfaffian(m, n, math.inf, 1.0)


def nuclear_mean_norm(
    shape: tuple[int, int], lam: float, tau: float | None = None, sigma: float = 1.0
) -> float:
    """Give the mean of the nuclear norm of the estimate: minus d ln C / d tau, times sigma^2.

    With tau = lam, lam / sigma^2 times this is the mean of the degrees of freedom (THEORY 4).
    """
    m, n = check_shape(shape)
    kappa = check_lam(lam) / check_sigma(sigma)
    weight = kappa if tau is None else check_lam(tau) / sigma
    basis = _basis(m, n, kappa, weight)
    excess = np.maximum(basis.nodes.points - kappa, 0.0)[:, None] * basis.values
    matrix = _matrix(basis, basis.values)
    half = _skew_products(basis.nodes, excess, basis.values)
    change = _bordered(half - half.T, basis.nodes.weights @ excess)
    return 0.5 * sigma * float(np.trace(np.linalg.solve(matrix, change)))


def nuclear_rank_law(
    shape: tuple[int, int], lam: float, tau: float | None = None, sigma: float = 1.0
) -> Floats:
    """Give the probabilities of the ranks 0, ..., m of the estimate under the luckiness law."""
    m, n = check_shape(shape)
    kappa = check_lam(lam) / check_sigma(sigma)
    weight = kappa if tau is None else check_lam(tau) / sigma
    basis = _basis(m, n, kappa, weight)
    beyond = (basis.nodes.points > kappa)[:, None]
    roots = np.exp(2j * np.pi * np.arange(m + 1) / (m + 1))
    series = np.array(
        [pfaffian(_matrix(basis, basis.values * (1 + (z - 1) * beyond))) for z in roots]
    )
    law = np.real(np.fft.fft(series)) / (m + 1)
    return np.asarray(law / law.sum())


def pfaffian(matrix: Floats) -> complex:
    """Give the Pfaffian of a skew-symmetric matrix of even size (Parlett and Reid, pivoted)."""
    work = np.array(matrix, dtype=complex)
    value = 1.0 + 0.0j
    for k in range(0, work.shape[0] - 1, 2):
        pivot = k + 1 + int(np.argmax(np.abs(work[k + 1 :, k])))
        if pivot != k + 1:
            work[[k + 1, pivot], k:] = work[[pivot, k + 1], k:]
            work[k:, [k + 1, pivot]] = work[k:, [pivot, k + 1]]
            value = -value
        value *= work[k, k + 1]
        if value == 0.0:
            break
        multipliers = work[k, k + 2 :] / work[k, k + 1]
        below = work[k + 2 :, k + 1]
        work[k + 2 :, k + 2 :] += np.outer(multipliers, below) - np.outer(below, multipliers)
    return complex(value)
