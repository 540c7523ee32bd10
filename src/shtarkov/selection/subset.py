"""The subset code: least squares on the support whose description is shortest.

Minimises the codelength of `subset_length` over the supports `subset_search` meets; relative to the
empty code, in nats, in the library's units (half the squared residual, no 1/n). Whether it beats
the empty code is the caller's comparison: the best non-empty support is returned either way.
Slow twin: all supports by least squares (tests/oracle/test_subset_code.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_sigma
from shtarkov.selection.subset_length import SubsetLength, g_grid
from shtarkov.selection.subset_mixture import mix_supports
from shtarkov.selection.subset_search import (
    N_POLISHED,
    Candidates,
    add_supports,
    eliminate,
    greedy_order,
    lasso_supports,
    polish,
)
from shtarkov.types import Floats, Ints

N_RUNNER_UPS = 5


@dataclass(frozen=True, slots=True, eq=False)
class SubsetCode:
    """The shortest subset code found.

    Attributes
    ----------
    support : (k,) columns, increasing; empty when no support could be formed
    coef : (D,) least squares on the support times `shrinkage`
    shrinkage : posterior mean of g / (1 + g)
    g : value of the grid with the largest posterior weight
    g_weights : posterior weights of the grid
    delta_nats : codelength relative to the empty code; infinite when no support could be formed
    k : size of the support
    explained_sq, total_sq : squared length the support explains, and that of y
    sigma : the noise scale given or, when unknown, its estimate
    n_tried : supports compared
    runner_ups : next best supports, with their nats relative to the empty code
    tried : all supports compared; None when none could be formed
    """

    support: Ints
    coef: Floats
    shrinkage: float
    g: float
    g_weights: Floats
    delta_nats: float
    k: int
    explained_sq: float
    total_sq: float
    sigma: float
    n_tried: int
    runner_ups: tuple[tuple[tuple[int, ...], float], ...]
    tried: Candidates | None

    def mixture(self) -> tuple[float, Floats]:
        """Mix the supports near the best: nats relative to the empty code, mean coefficients."""
        if self.tried is None:
            return self.delta_nats, self.coef
        return mix_supports(self.tried)


def subset_code(
    X: ArrayLike,
    y: ArrayLike,
    orthogonal_sq: float,
    n_dim: int,
    *,
    sigma: float | None = None,
    supports: Iterable[ArrayLike] | None = None,
    max_size: int | None = None,
) -> SubsetCode:
    """Find the least squares fit with the shortest description.

    Parameters
    ----------
    X : (n, D) reduced columns, `Design.X`
    y : (n,) reduced data, `ReducedResponse.y`
    orthogonal_sq : squared length of y outside the reduced space
    n_dim : dimension of the data after projection, `Design.n_dim`
    sigma : noise standard deviation; None when unknown
    supports : active sets along the Lasso path of y, when the caller has them; computed otherwise
    max_size : largest support considered; by default half of `n_dim` (but up to 20 columns always),
        and never more than ``n_dim - 2``

    Returns
    -------
    SubsetCode
    """
    columns = np.asarray(X, dtype=np.float64)
    data = np.asarray(y, dtype=np.float64)
    _check_shapes(columns, data, orthogonal_sq, n_dim)
    total_sq = float(data @ data) + orthogonal_sq
    scale = None if sigma is None else check_sigma(sigma)
    length = SubsetLength(total_sq, n_dim, columns.shape[1], scale)
    limit = max(n_dim // 2, 20) if max_size is None else max_size
    limit = min(limit, n_dim - 2, *columns.shape)
    if limit < 1 or not np.any(columns):
        return _empty(length)
    candidates = Candidates(columns, data, length, limit)
    path = None if supports is None else [np.asarray(s, dtype=np.int64) for s in supports]
    search(candidates, path)
    return _report(candidates)


def subset_coefficients(
    X: ArrayLike, y: ArrayLike, support: ArrayLike, shrinkage: float = 1.0
) -> Floats:
    """Give the (D,) least squares coefficients on a support, times `shrinkage`."""
    columns = np.asarray(X, dtype=np.float64)
    chosen = np.asarray(support, dtype=np.int64)
    coef = np.zeros(columns.shape[1])
    if chosen.size:
        coef[chosen] = shrinkage * np.linalg.lstsq(columns[:, chosen], np.asarray(y), rcond=None)[0]
    return coef


def search(candidates: Candidates, path: Sequence[Ints] | None) -> None:
    """Fill `candidates`: greedy orders, the Lasso path, eliminations, then local moves."""
    chains = []
    for by_drop in (True, False):
        order = np.array(greedy_order(candidates, by_drop=by_drop), dtype=np.int64)
        chains.append([order[: k + 1] for k in range(order.size)])
    lasso = lasso_supports(candidates) if path is None else path
    chains.append(add_supports(candidates, lasso))
    best_size = candidates.least[1]
    for chain in chains:
        for support in _starts(chain, best_size):
            eliminate(candidates, support)
    polished: set[int] = set()
    for _, _, found in candidates.ranked():
        if len(found) not in polished:
            polished.add(len(found))
            polish(candidates, found)
        if len(polished) == N_POLISHED:
            return


def _starts(chain: Sequence[Ints], best_size: int) -> list[Ints]:
    """Pick the largest support of a chain, and those about two and four times the best size."""
    if not chain:
        return []
    sizes = np.array([support.size for support in chain])
    wanted = (int(sizes.max()), 4 * best_size, 2 * best_size)
    picked = {int(np.argmin(np.abs(sizes - size))) for size in wanted if size > 0}
    return [chain[i] for i in sorted(picked)]


def _report(candidates: Candidates) -> SubsetCode:
    length = candidates.length
    ranked = candidates.ranked()
    if not ranked:
        return _empty(length)
    delta, explained_sq, key = ranked[0]
    support = np.array(key, dtype=np.int64)
    shrinkage = length.shrinkage(support.size, explained_sq)
    weights = length.g_weights(support.size, explained_sq)
    left_sq = (length.total_sq - explained_sq) + (1.0 - shrinkage) * explained_sq
    estimate = float(np.sqrt(max(left_sq, 0.0) / length.n_dim))
    return SubsetCode(
        support=support,
        coef=subset_coefficients(candidates.Xt.T, candidates.y, support, shrinkage),
        shrinkage=shrinkage,
        g=float(g_grid(length.n_dim)[0][int(np.argmax(weights))]),
        g_weights=weights,
        delta_nats=delta,
        k=support.size,
        explained_sq=explained_sq,
        total_sq=length.total_sq,
        sigma=estimate if length.sigma is None else length.sigma,
        n_tried=len(ranked),
        runner_ups=tuple((other, nats) for nats, _, other in ranked[1 : N_RUNNER_UPS + 1]),
        tried=candidates,
    )


def _empty(length: SubsetLength) -> SubsetCode:
    """Describe a problem with no support to offer: the code is infinitely long."""
    estimate = float(np.sqrt(length.total_sq / length.n_dim))
    return SubsetCode(
        support=np.empty(0, dtype=np.int64),
        coef=np.zeros(length.n_features),
        shrinkage=0.0,
        g=0.0,
        g_weights=np.zeros(g_grid(length.n_dim)[0].size),
        delta_nats=float("inf"),
        k=0,
        explained_sq=0.0,
        total_sq=length.total_sq,
        sigma=estimate if length.sigma is None else length.sigma,
        n_tried=0,
        runner_ups=(),
        tried=None,
    )


def _check_shapes(X: Floats, y: Floats, orthogonal_sq: float, n_dim: int) -> None:
    if X.ndim != 2 or y.shape != X.shape[:1]:
        msg = f"X must be (n, D) and y (n,); got shapes {X.shape} and {y.shape}"
        raise InvalidProblem(msg)
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(y))):
        raise InvalidProblem("X and y must be finite; drop or impute NaN and infinite values")
    if not 0.0 <= orthogonal_sq < np.inf or n_dim < 1:
        msg = f"orthogonal_sq must be >= 0 and n_dim >= 1; got {orthogonal_sq!r} and {n_dim!r}"
        raise InvalidProblem(msg)
