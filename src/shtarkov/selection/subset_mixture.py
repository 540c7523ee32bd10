"""The subset code as a mixture over supports: shorter than any of them, and it hedges.

-ln sum_S exp(-L(S)) over the supports around the best is a codelength too, whose coefficients are
the means under the weights exp(-L). The search (`subset_search`) meets good supports but not all
their neighbours: here the heaviest supports are expanded, heaviest first, each to all supports one
addition, removal or exchange away. All are evaluated in one sweep of products with X.
Slow twin: all supports by least squares (tests/oracle/test_subset_code.py).
"""

from __future__ import annotations

import numpy as np

from shtarkov.selection.subset_search import Candidates, independent, neighbourhood
from shtarkov.types import Floats, Ints

# Supports this many nats longer than the best weigh nothing.
NEGLIGIBLE = 8.0
# At most so many supports are expanded, and none this much longer than the best.
MOST_EXPANDED = 40
WORTH_EXPANDING = 4.0
# Of one support's neighbours, and of all supports in the mixture, at most so many are kept.
MOST_NEIGHBOURS = 200
MOST_MIXED = 1000


def mix_supports(candidates: Candidates) -> tuple[float, Floats]:
    """Give the mixture's nats relative to the empty code, and its mean coefficients."""
    _expand_heaviest(candidates)
    ranked = candidates.ranked()
    least = ranked[0][0]
    members = [row for row in ranked[:MOST_MIXED] if row[0] < least + NEGLIGIBLE]
    weights = np.exp([least - delta for delta, _, _ in members])
    coef = np.zeros(candidates.Xt.shape[0])
    for weight, (_, explained_sq, key) in zip(weights, members, strict=True):
        support = np.array(key, dtype=np.int64)
        fitted = np.linalg.lstsq(candidates.Xt[support].T, candidates.y, rcond=None)[0]
        coef[support] += weight * candidates.length.shrinkage(support.size, explained_sq) * fitted
    total = float(weights.sum())
    return least - float(np.log(total)), coef / total


def _expand_heaviest(candidates: Candidates) -> None:
    """Meet the neighbours of the heaviest supports, and of those found that are heavier still."""
    expanded: set[tuple[int, ...]] = set()
    while len(expanded) < MOST_EXPANDED:
        ranked = candidates.ranked()
        fresh = [row for row in ranked if row[2] not in expanded]
        if not fresh or fresh[0][0] > ranked[0][0] + WORTH_EXPANDING:
            return
        expanded.add(fresh[0][2])
        _add_neighbours(candidates, np.array(fresh[0][2], dtype=np.int64))


def _add_neighbours(candidates: Candidates, support: Ints) -> None:
    """Record the additions, removals and exchanges of one column that weigh something."""
    current, basis, triangle = independent(candidates, support)
    along = basis.T @ candidates.y
    explained = float(along @ along)
    near = neighbourhood(candidates, current, basis, triangle, along)
    if current.size > 1:
        for leaving, gain in enumerate(near.removals):
            candidates.add(np.delete(current, leaving), explained + float(gain))
    for entering in _heaviest(candidates, current.size + 1, explained + near.additions):
        candidates.add([*current, entering], explained + float(near.additions[entering]))
    for place in _heaviest(candidates, current.size, explained + near.exchanges.ravel()):
        entering, leaving = divmod(place, current.size)
        exchanged = [*np.delete(current, leaving), entering]
        candidates.add(exchanged, explained + float(near.exchanges[entering, leaving]))


def _heaviest(candidates: Candidates, size: int, explained_sq: Floats) -> list[int]:
    """Pick from supports of one size those that weigh something beside the best found so far."""
    count = min(MOST_NEIGHBOURS, explained_sq.size)
    if count == 0:
        return []
    most = np.argpartition(explained_sq, -count)[-count:]
    most = most[np.isfinite(explained_sq[most])]
    deltas = candidates.length.delta(np.full(most.size, size), explained_sq[most])
    return [int(i) for i in most[deltas < candidates.least[0] + NEGLIGIBLE]]
