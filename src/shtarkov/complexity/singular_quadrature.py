"""ln C of the nuclear norm on the identity design by plain quadrature over singular values.

For matrices with one or two rows (any number of columns) the density of
`complexity.singular_values` is integrated as it stands: s_1 outside, s_2 < s_1 inside, both cut at
the kink. Nothing is shared with the Pfaffian but the weight's formula, written again here: this is
its slow twin.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy.special import roots_legendre

from shtarkov.errors import InvalidProblem
from shtarkov.types import Floats

POINTS = 80
# In units of the weight's own decay length beyond its peak.
TAIL = 60.0

Weight = Callable[[Floats], Floats]


def _between(edges: list[float]) -> tuple[Floats, Floats]:
    """Give Gauss-Legendre points and weights of every interval between the edges."""
    roots, weights = roots_legendre(POINTS)
    points, scaled = [], []
    for low, high in itertools.pairwise(edges):
        points.append(low + 0.5 * (high - low) * (roots + 1.0))
        scaled.append(0.5 * (high - low) * weights)
    return np.concatenate(points), np.concatenate(scaled)


def _edges(lam: float, top: float) -> list[float]:
    """Cut [0, top] at the kink, and the tail where the integrand has its bulk."""
    inner = [edge for edge in (0.5 * lam, lam, lam + 2.0, lam + 8.0) if edge < top]
    return [0.0, *inner, top]


def _integral(m: int, n: int, weight: Weight, lam: float, top: float) -> float:
    outer, outer_weights = _between(_edges(lam, top))
    if m == 1:
        return float(outer_weights @ (outer ** (n - 1) * weight(outer)))
    total = 0.0
    for s, share in zip(outer, outer_weights, strict=True):
        inner, inner_weights = _between(_edges(lam, float(s)))
        rest = inner_weights @ ((s**2 - inner**2) * (s * inner) ** (n - 2) * weight(inner))
        total += share * float(weight(np.array([s]))[0]) * float(rest)
    return total


def quadrature_ln_c(shape: tuple[int, int], lam: float, tau: float | None = None) -> float:
    """Give ln C(lam, tau) at sigma = 1 for a matrix whose smaller side is one or two."""
    m, n = sorted(shape)
    if m > 2:
        msg = f"quadrature serves matrices of at most two rows or columns; got shape {shape}"
        raise InvalidProblem(msg)
    rate = lam if tau is None else tau

    def luckiness(s: Floats) -> Floats:
        inside = np.minimum(s, lam)
        return np.asarray(np.exp(-0.5 * inside**2 - rate * (s - inside)))

    def gaussian(s: Floats) -> Floats:
        return np.asarray(np.exp(-0.5 * s**2))

    far = lam + (TAIL + 3.0 * (n + m)) / rate
    wide = 10.0 + 3.0 * math.sqrt(n + m)
    whole = _integral(m, n, luckiness, lam, max(far, wide))
    return math.log(whole / _integral(m, n, gaussian, 3.0, wide))
