"""The cells (active set, signs) of the Lasso and the Elastic Net as weighted Gaussian rectangles.

Objective: half the squared residual + lam |b|_1 + lam2 |b|^2 / 2, no 1/n. Each cell's share of the
Shtarkov integral is exp(log_weight) P(lower <= T z <= upper), z standard normal:
Lasso (THEORY section 3): T holds the inactive columns' residuals on the active ones, in units of
sigma. Elastic Net: the residual r decides the cell (s_j X_j'r > lam on it, |X_j'r| <= lam off it)
and the density is Gaussian in r with precision I + X_A X_A' / lam2, so T has all columns.
A cell and its mirror image (all signs turned) are equal: only one of each pair is listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from shtarkov.types import Floats

# Columns this close to the span of others (relative to their length) are taken to lie in it.
_DEPENDENT = 1e-9
# Weights of the columns in the penalty, apart by a little, that settle which of several columns in
# one affine plane is active: without it data with several solutions would be counted several times.
_NUDGE = 1e-6


class Cells(NamedTuple):
    """All sign patterns of one active set, up to a common change of sign.

    Attributes
    ----------
    n_active : size of the active set
    rows : (m, n) the matrix T, without zero rows
    lower, upper : (n_patterns, m) limits
    log_weight : (n_patterns,) log factor of each pattern, both mirror images together; -inf where
        the pattern cannot occur
    """

    n_active: int
    rows: Floats
    lower: Floats
    upper: Floats
    log_weight: Floats


def reduce_columns(X: Floats) -> Floats:
    """Rotate the columns into their span: fewer rows, the same inner products."""
    design = X[:, np.linalg.norm(X, axis=0) > 0.0]
    if design.shape[0] > design.shape[1]:
        return np.asarray(np.linalg.qr(design, mode="r"))
    return design


def sign_patterns(n_active: int) -> Floats:
    """Give all sign vectors with a positive first entry: (2^(n_active - 1), n_active)."""
    if n_active == 0:
        return np.ones((1, 0))
    bits = np.arange(2 ** (n_active - 1))[:, None] >> np.arange(n_active - 1) & 1
    return np.hstack([np.ones((bits.shape[0], 1)), 1.0 - 2.0 * bits])


def active_sets(n_features: int) -> Iterator[tuple[int, ...]]:
    """List all subsets of the columns by size."""
    for n_active in range(n_features + 1):
        yield from combinations(range(n_features), n_active)


def lasso_cells(
    columns: Floats, lam: float, active: tuple[int, ...], signs: Floats | None = None
) -> Cells | None:
    """Describe the Lasso's cells of one active set; `None` if its columns are dependent.

    All sign patterns by default, or the rows of `signs`. `columns` and `lam` are in units where
    sigma is 1: X / sigma and lam / sigma^2.
    """
    n_rows, n_features = columns.shape
    n_active = len(active)
    if n_active > n_rows:
        return None
    chosen = list(active)
    others = np.setdiff1d(np.arange(n_features), chosen)
    basis, triangle = np.linalg.qr(columns[:, chosen])
    pivots = np.abs(np.diag(triangle))
    if np.any(pivots <= _DEPENDENT * np.linalg.norm(columns[:, chosen], axis=0)):
        return None
    patterns = sign_patterns(n_active) if signs is None else signs
    share = basis.T @ columns[:, others]
    residual = columns[:, others] - basis @ share
    residual -= basis @ (basis.T @ residual)
    # c = X_B' X_A H^-1 s, the inactive correlations that the active ones bring along.
    carried = np.linalg.solve(triangle.T, patterns.T)
    centre = (share.T @ carried).T
    log_weight = (
        np.log(pivots).sum()
        - 0.5 * n_active * np.log(2.0 * np.pi)
        - 0.5 * lam**2 * (carried**2).sum(axis=0)
        + (np.log(2.0) if n_active else 0.0)
    )
    free = np.linalg.norm(residual, axis=0) > _DEPENDENT * np.linalg.norm(
        columns[:, others], axis=0
    )
    nudge = 1.0 + _NUDGE * np.sqrt(np.arange(1.0, n_features + 1.0))
    nudged = np.linalg.solve(triangle.T, (patterns * nudge[chosen]).T)
    forced = np.abs(share[:, ~free].T @ nudged).T  # correlations that the active set settles
    possible = np.all(nudge[others[~free]] >= forced, axis=1)
    log_weight = np.where(possible, log_weight, -np.inf)
    rows = np.ascontiguousarray(residual[:, free].T)
    return Cells(
        n_active, rows, -lam * (1.0 + centre[:, free]), lam * (1.0 - centre[:, free]), log_weight
    )


def elastic_net_cells(
    columns: Floats, lam: float, lam2: float, tau: float, active: tuple[int, ...]
) -> Cells:
    """Describe the Elastic Net's cells of one active set, for the weight tau on the L1 norm.

    All in units where sigma is 1: X / sigma, lam / sigma^2, lam2 / sigma^2 and tau / sigma^2.
    """
    n_rows, n_features = columns.shape
    n_active = len(active)
    chosen = list(active)
    patterns = sign_patterns(n_active)
    precision = np.eye(n_rows) + columns[:, chosen] @ columns[:, chosen].T / lam2
    factor = np.linalg.cholesky(precision)
    whitened = np.linalg.solve(factor, columns)  # u = X'r = whitened' z + centre
    # Completing the square: r has mean M^-1 X_A s (lam - tau) / lam2 and the constant below.
    pull = (lam - tau) / lam2 * (whitened[:, chosen] @ patterns.T)
    centre = (whitened.T @ pull).T
    log_weight = (
        np.log(np.diag(factor)).sum()
        + n_active * (tau * lam / lam2 - 0.5 * lam**2 / lam2)
        + 0.5 * (pull**2).sum(axis=0)
        + (np.log(2.0) if n_active else 0.0)
    )
    lower = np.full((patterns.shape[0], n_features), -lam)
    upper = np.full((patterns.shape[0], n_features), lam)
    lower[:, chosen] = np.where(patterns > 0, lam, -np.inf)
    upper[:, chosen] = np.where(patterns > 0, np.inf, -lam)
    rows = np.ascontiguousarray(whitened.T)
    return Cells(n_active, rows, lower - centre, upper - centre, log_weight)
