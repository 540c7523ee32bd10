"""Quadrature of a smooth integrand along a log-penalty path, from means at a few sampled nodes.

ln C(lam) = ln C(lam_start) + integral of E[df] over ln lam from lam to lam_start. The nodes are
Chebyshev points in ln lam; the integrand is their interpolating polynomial, so every ln C on the
path is one linear functional of the node means, and its variance is the same functional squared.
How many nodes are needed is read off a closed-form stand-in: the integrand the columns would have
if they were orthogonal, bent to saturate at the rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq
from scipy.special import erf, erfc

from shtarkov.types import Floats

# Odd, so that every other point of a rule is a coarser rule, which tells whether it resolves.
NODE_COUNTS = (5, 7, 9, 11, 13, 17, 25, 33, 65)
_REFERENCE_NODES = 97
_LENGTHS = 200
_ROOT_2 = math.sqrt(2.0)
_ROOT_2PI = math.sqrt(2.0 * math.pi)


def chebyshev_nodes(low: float, high: float, count: int) -> Floats:
    """Give `count` Chebyshev extreme points from `high` down to `low`, both included."""
    angle = np.linspace(0.0, np.pi, count)
    return np.asarray(0.5 * (high + low) + 0.5 * (high - low) * np.cos(angle))


def integral_weights(nodes: Floats, targets: Floats) -> Floats:
    """Give W with W @ f(nodes) = integral of f from each target up to the first node.

    `nodes` are Chebyshev extreme points, descending; W is (targets, nodes).
    """
    low, high = nodes[-1], nodes[0]
    half = 0.5 * (high - low)
    if half == 0.0:
        return np.zeros((targets.size, nodes.size))
    degree, centre = nodes.size - 1, 0.5 * (high + low)
    basis_at_nodes = chebyshev.chebvander((nodes - centre) / half, degree)
    to_target = _antiderivatives((targets - centre) / half, degree)
    to_top = _antiderivatives(np.ones(1), degree)
    return np.asarray(half * np.linalg.solve(basis_at_nodes.T, (to_top - to_target).T).T)


def _antiderivatives(points: Floats, degree: int) -> Floats:
    """Give antiderivatives of T_0 ... T_degree: T_{n+1} / 2(n+1) - T_{n-1} / 2(n-1)."""
    basis = chebyshev.chebvander(points, degree + 1)
    order = np.arange(2, degree + 1)
    integrals = np.empty((points.size, degree + 1))
    integrals[:, 0] = basis[:, 1]
    integrals[:, 1] = 0.5 * points**2
    integrals[:, 2:] = basis[:, 3:] / (2 * (order + 1)) - basis[:, 1:-2] / (2 * (order - 1))
    return integrals


def interpolation_weights(nodes: Floats, targets: Floats) -> Floats:
    """Give V with V @ f(nodes) = f at each target."""
    low, high = nodes[-1], nodes[0]
    half = max(0.5 * (high - low), 1e-300)
    centre = 0.5 * (high + low)
    basis_at_nodes = chebyshev.chebvander((nodes - centre) / half, nodes.size - 1)
    basis_at_targets = chebyshev.chebvander((targets - centre) / half, nodes.size - 1)
    if nodes.size > 1 and nodes[0] == nodes[-1]:
        return np.full((targets.size, nodes.size), 1.0 / nodes.size)
    return np.asarray(np.linalg.solve(basis_at_nodes.T, basis_at_targets.T).T)


def first_order(column_norms: Floats, lam: float) -> float:
    """Give the leading term of ln C for a large penalty: sum_j 2 phi(c)/c - 2 (1 - Phi(c)).

    c = lam / |X_j|, sigma = 1. It counts the columns one at a time, so it is exact for orthogonal
    columns and at most the right answer's own size away for others.
    """
    c = lam / column_norms
    density = np.exp(-0.5 * c * c) / _ROOT_2PI
    return float(np.sum(2.0 * density / c - erfc(c / _ROOT_2)))


def start_of_path(column_norms: Floats, negligible: float) -> float:
    """Find the penalty at which the first-order term has fallen to `negligible`."""
    scale = float(column_norms.max())
    return where_it_falls(lambda lam: first_order(column_norms, lam), scale, negligible)


def where_it_falls(value: Callable[[float], float], scale: float, negligible: float) -> float:
    """Find the penalty, at most 40 times `scale`, at which a decreasing value is `negligible`."""

    def excess(log_lam: float) -> float:
        return math.log(max(value(math.exp(log_lam)), 1e-300)) - math.log(negligible)

    low, high = math.log(scale) - 40.0, math.log(scale) + math.log(40.0)
    return math.exp(brentq(excess, low, high, xtol=1e-6))


def stand_in(column_norms: Floats, n: int, log_lams: Floats) -> Floats:
    """Give E[k] for orthogonal columns of these lengths, bent to saturate at n dimensions."""
    # Two hundred lengths stand for all: the sum over columns is smooth in the length.
    norms = column_norms
    if column_norms.size > _LENGTHS:
        norms = np.quantile(column_norms, (np.arange(_LENGTHS) + 0.5) / _LENGTHS)
    c = np.exp(log_lams)[:, None] / norms[None, :]
    outside = 2.0 * np.exp(-0.5 * c * c) / (_ROOT_2PI * c)
    active = (outside / (outside + 1.0 - erfc(c / _ROOT_2))).mean(axis=1) * column_norms.size
    return np.asarray(n * -np.expm1(-active / n))


def expected_active(column_norms: Floats, n: int, kappa: float, taus: Floats) -> Floats:
    """Guess E[k] at weight tau: orthogonal columns of these lengths, bent to saturate at n."""
    c = kappa / column_norms
    density = np.exp(-0.5 * c * c) / _ROOT_2PI
    inside = erf(c / _ROOT_2)
    outside = 2.0 * density * column_norms / taus[:, None]
    active = (outside / (outside + inside)).sum(axis=1)
    return np.asarray(n * -np.expm1(-active / n))


def smallest_rule(
    integrand: Callable[[Floats], Floats], low: float, high: float, tolerance: float
) -> int:
    """Find the smallest rule that integrates a stand-in from every point up to `high`."""
    targets = chebyshev_nodes(low, high, _REFERENCE_NODES)

    def integrate(count: int) -> Floats:
        nodes = chebyshev_nodes(low, high, count)
        return np.asarray(integral_weights(nodes, targets) @ integrand(nodes))

    reference = integrate(_REFERENCE_NODES)
    for count in NODE_COUNTS:
        if np.max(np.abs(integrate(count) - reference)) < tolerance:
            return count
    return NODE_COUNTS[-1]


def rule_error(integrand: Callable[[Floats], Floats], nodes: Floats, targets: Floats) -> Floats:
    """Give how far the rule at `nodes` is off for a stand-in, at each target."""
    fine = chebyshev_nodes(float(nodes[-1]), float(nodes[0]), _REFERENCE_NODES)
    found = integral_weights(nodes, targets) @ integrand(nodes)
    return np.asarray(np.abs(found - integral_weights(fine, targets) @ integrand(fine)))


def unresolved_part(nodes: Floats, targets: Floats, means: Floats, variances: Floats) -> float:
    """Give the change between this rule and the nested one, less what noise explains."""
    coarse = np.zeros((targets.size, nodes.size))
    coarse[:, ::2] = integral_weights(nodes[::2], targets)
    change = integral_weights(nodes, targets) - coarse
    noise = np.sqrt(change**2 @ variances)
    excess = np.abs(change @ means) - 3.0 * noise
    # The finer rule's error is far below the change itself: one more doubling divides it again.
    return 0.1 * float(np.max(np.maximum(excess, 0.0)))
