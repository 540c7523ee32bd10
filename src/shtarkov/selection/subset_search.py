"""Candidate supports for the subset code, each with the squared length it explains.

What is minimised is the codelength of `SubsetLength`, over the supports met by

* two greedy orders: orthogonal matching pursuit (largest correlation with the residual, in units of
  the column's length) and forward stepwise (largest drop of the squared residual);
* the Lasso path;
* backward elimination from several sizes on each of the three;
* from the best few of these, the best single addition, removal or exchange until none helps.

A greedy path is cut off once the codelength is far beyond its minimum. Correlations c = X'r and
distances m_j of the columns from the span follow each new basis vector q by one product X'q.
Slow twin: all supports by least squares (tests/oracle/test_subset_code.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from shtarkov.families import protocol
from shtarkov.families.lasso import LassoFamily
from shtarkov.selection.lam_grid import penalty_grid
from shtarkov.selection.subset_length import SubsetLength
from shtarkov.types import Floats, Ints, Status

# A column closer to the span than this share of its length (squared) is dependent on it.
DEPENDENT_SHARE = 1e-10
# A path ends when its codelength is this far above the least one at over twice the size.
NATS_PAST = 30.0
# Penalties at which the Lasso path is looked at.
N_PATH = 60
# Local moves are tried from this many of the best candidates,
N_POLISHED = 3
# at most so often, and only while a table of exchanges costs at most so many multiplications.
MAX_MOVES = 50
EXCHANGE_WORK = 200_000_000


class Candidates:
    """Supports tried so far and what they explain; the only state of a search.

    Parameters
    ----------
    X : (n, D) reduced columns
    y : (n,) reduced data
    length : codelength to minimise
    max_size : largest support considered
    """

    def __init__(self, X: Floats, y: Floats, length: SubsetLength, max_size: int) -> None:
        self.Xt = np.ascontiguousarray(X.T)
        self.y = y
        self.length = length
        self.max_size = max_size
        self.column_sq = np.einsum("ij,ij->i", self.Xt, self.Xt)
        self.found: dict[tuple[int, ...], tuple[float, float]] = {}
        self.least = (0.0, 0)  # the empty code

    def add(self, support: Iterable[int], explained_sq: float) -> float:
        """Record a support; give its nats relative to the empty code."""
        key = tuple(sorted(int(j) for j in support))
        if key in self.found:
            return self.found[key][0]
        delta = float(self.length.delta(len(key), explained_sq))
        self.found[key] = (delta, explained_sq)
        self.least = min(self.least, (delta, len(key)))
        return delta

    def is_past(self, delta: float, k: int) -> bool:
        """Say whether a path at size k has left the minimum far behind."""
        return delta > self.least[0] + NATS_PAST and k >= 2 * self.least[1] + 10

    def ranked(self) -> list[tuple[float, float, tuple[int, ...]]]:
        """Nats, what is explained, and the support, from the shortest code on."""
        rows = [(delta, explained, key) for key, (delta, explained) in self.found.items()]
        return sorted(rows, key=lambda row: (row[0], len(row[2]), row[2]))


def greedy_order(candidates: Candidates, *, by_drop: bool) -> list[int]:
    """Columns in the order of forward stepwise (`by_drop`) or of orthogonal matching pursuit."""
    Xt, column_sq = candidates.Xt, candidates.column_sq
    correlation = Xt @ candidates.y
    distance_sq = column_sq.copy()
    is_free = column_sq > 0.0
    basis = np.zeros((candidates.max_size, Xt.shape[1]))
    order: list[int] = []
    explained = 0.0
    while len(order) < candidates.max_size:
        is_free &= distance_sq > DEPENDENT_SHARE * column_sq
        scale = distance_sq if by_drop else column_sq
        score = np.where(is_free, correlation**2 / np.where(is_free, scale, 1.0), -1.0)
        best = int(np.argmax(score))
        if score[best] <= 0.0:
            break
        k = len(order)
        direction = _orthogonal_part(basis[:k], Xt[best])
        basis[k] = direction
        order.append(best)
        is_free[best] = False
        component = float(direction @ candidates.y)
        along = Xt @ direction
        correlation -= component * along
        distance_sq -= along**2
        explained += component**2
        if candidates.is_past(candidates.add(order, explained), k + 1):
            break
    return order


def _orthogonal_part(basis: Floats, column: Floats) -> Floats:
    """Give the unit vector of the part of a column outside the rows of `basis`; twice is enough."""
    part = column - (basis @ column) @ basis
    part -= (basis @ part) @ basis
    unit: Floats = part / np.linalg.norm(part)
    return unit


def independent(candidates: Candidates, support: Ints) -> tuple[Ints, Floats, Floats]:
    """Drop dependent columns from a support; give it with Q and R of its columns."""
    kept = np.asarray(support, dtype=np.int64)
    basis, triangle = np.linalg.qr(candidates.Xt[kept].T)
    clear = np.diag(triangle) ** 2 > DEPENDENT_SHARE * candidates.column_sq[kept]
    if not np.all(clear):
        kept = kept[clear]
        basis, triangle = np.linalg.qr(candidates.Xt[kept].T)
    return kept, basis, triangle


def lasso_supports(candidates: Candidates) -> Iterator[Ints]:
    """Active sets along the Lasso path, from large penalties to small."""
    Xt, y = candidates.Xt, candidates.y
    largest = float(np.max(np.abs(Xt @ y)))
    if largest == 0.0:
        return
    family = LassoFamily(Xt, np.zeros((0, 0)), largest, 0.0, 0.0)
    work = protocol.new_work(family, candidates.max_size + 1)
    grid = penalty_grid(largest, candidates.length.n_dim, Xt.shape[0], n_points=N_PATH)
    seen: set[tuple[int, ...]] = set()
    for lam in grid:
        fit = protocol.solve(protocol.with_lam(family, float(lam)), y, work)
        if fit.status != Status.OK or fit.active.size > candidates.max_size:
            return
        key = tuple(np.sort(fit.active).tolist())
        if key and key not in seen:
            seen.add(key)
            yield fit.active


def add_supports(candidates: Candidates, supports: Iterable[Ints]) -> list[Ints]:
    """Record supports that come from elsewhere, the Lasso path for one; give those that fit."""
    used = []
    for support in supports:
        if not 0 < len(support) <= candidates.max_size:
            continue
        kept, basis, _ = independent(candidates, support)
        if kept.size == 0:
            continue
        explained = float(np.sum((basis.T @ candidates.y) ** 2))
        used.append(kept)
        if candidates.is_past(candidates.add(kept, explained), kept.size):
            break
    return used


def eliminate(candidates: Candidates, support: Ints) -> None:
    """Record all supports of the backward elimination that starts from `support`."""
    kept, basis, triangle = independent(candidates, support)
    along = basis.T @ candidates.y
    inverse_triangle = scipy.linalg.solve_triangular(triangle, np.eye(kept.size))
    inverse = inverse_triangle @ inverse_triangle.T
    coef = inverse_triangle @ along
    explained = float(along @ along)
    candidates.add(kept, explained)
    while kept.size > 1:
        loss = coef**2 / np.diag(inverse)
        out = int(np.argmin(loss))
        explained -= float(loss[out])
        rest = np.arange(kept.size) != out
        column = inverse[rest, out] / inverse[out, out]
        coef = coef[rest] - coef[out] * column
        inverse = inverse[np.ix_(rest, rest)] - np.outer(column, inverse[out, rest])
        kept = kept[rest]
        candidates.add(kept, max(explained, 0.0))


def polish(candidates: Candidates, support: ArrayLike) -> None:
    """Add, remove or exchange one column at a time while the codelength falls."""
    current = np.asarray(support, dtype=np.int64)
    for _ in range(MAX_MOVES):
        if current.size == 0:
            return
        current, basis, triangle = independent(candidates, current)
        along = basis.T @ candidates.y
        explained = float(along @ along)
        delta = candidates.add(current, explained)
        moves = _best_moves(candidates, current, basis, triangle, along)
        scored = [(candidates.add(to, explained + gain), to) for to, gain in moves if to.size]
        if not scored:
            return
        best = min(scored, key=lambda move: move[0])
        if best[0] >= delta - 1e-9 * max(1.0, abs(delta)):
            return
        current = best[1]


class Neighbourhood(NamedTuple):
    """What each change of one column adds to the explained squared length; -inf where it cannot be.

    Attributes
    ----------
    removals : (k,) by place in the support
    additions : (D,)
    exchanges : (D, k) entering column, leaving place; no rows where the table would cost too much
    """

    removals: Floats
    additions: Floats
    exchanges: Floats


def neighbourhood(
    candidates: Candidates, current: Ints, basis: Floats, triangle: Floats, along: Floats
) -> Neighbourhood:
    """Evaluate all supports one removal, addition or exchange away."""
    inverse = scipy.linalg.solve_triangular(triangle, np.eye(current.size))
    # Row i: the part of column i outside the others, of unit length.
    units = (inverse / np.linalg.norm(inverse, axis=1)[:, None]) @ basis.T
    heights = units @ candidates.y
    Xt, column_sq = candidates.Xt, candidates.column_sq
    in_span = Xt @ basis
    distance_sq = column_sq - np.einsum("ij,ij->i", in_span, in_span)
    correlation = Xt @ (candidates.y - basis @ along)
    outside = np.ones(column_sq.size, dtype=bool)
    outside[current] = False
    additions = _gains(correlation, distance_sq, column_sq, outside)
    if current.size >= candidates.max_size:
        additions = np.full(column_sq.size, -np.inf)
    if current.size * Xt.size > EXCHANGE_WORK:
        return Neighbourhood(-(heights**2), additions, np.empty((0, current.size)))
    shares = Xt @ units.T  # (D, k)
    exchanges = _gains(
        correlation[:, None] + shares * heights,
        distance_sq[:, None] + shares**2,
        column_sq[:, None],
        outside[:, None],
    )
    return Neighbourhood(-(heights**2), additions, exchanges - heights**2)


def _best_moves(
    candidates: Candidates, current: Ints, basis: Floats, triangle: Floats, along: Floats
) -> list[tuple[Ints, float]]:
    """Best removal, addition and exchange, with what each adds to the explained squared length."""
    near = neighbourhood(candidates, current, basis, triangle, along)
    out = int(np.argmax(near.removals))
    moves = [(np.delete(current, out), float(near.removals[out]))]
    best = int(np.argmax(near.additions))
    if near.additions[best] > 0.0:
        moves.append((np.append(current, best), float(near.additions[best])))
    if near.exchanges.size == 0:
        return moves
    place = np.unravel_index(np.argmax(near.exchanges), near.exchanges.shape)
    entering, leaving = (int(i) for i in place)
    if near.exchanges[entering, leaving] > 0.0:
        exchanged = np.append(np.delete(current, leaving), entering)
        moves.append((exchanged, float(near.exchanges[entering, leaving])))
    return moves


def _gains(correlation: Floats, distance_sq: Floats, column_sq: Floats, allowed: Ints) -> Floats:
    """Drop of the squared residual for each column that may enter; -inf for dependent ones."""
    usable = allowed & (distance_sq > DEPENDENT_SHARE * column_sq)
    drop = correlation**2 / np.where(usable, distance_sq, 1.0)
    gains: Floats = np.where(usable, drop, -np.inf)
    return gains
