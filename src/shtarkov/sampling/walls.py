# mypy: allow-untyped-defs, allow-untyped-calls
"""A polyhedron of parallel slabs in the null space of X_A': low <= rows z <= high.

The level set of a Lasso or Elastic Net estimate is {X beta + r}: with r = centre + z, z in
null X_A', and rows = X' the inactive correlations must stay within lam (THEORY section 3). With no
active columns this is a general truncated standard normal. For moves that meet wall j one needs the
wall's normal (I - P) x_j and its products with all rows; they are kept where a cache is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shtarkov._jit import kernel, reduction_kernel
from shtarkov.families.active_work import assign, dot, subtract_rows
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.types import Floats, Ints


class Walls(NamedTuple):
    """The polyhedron and the room its moves need.

    Attributes
    ----------
    rows : (D, n) one row per slab
    gram : (D, D) products of the rows, or (0, 0) when they are not held
    low, high : (D,) limits; infinite where there is no wall
    n_active : (1,) or more; the first is k, the number of columns whose span is left out
    active, chol : (cap,) those columns and (cap, cap) the Cholesky factor of their products
    cache_rows, cache_normals, cached : walls met before, or empty
    row, normal, weights : scratch
    """

    rows: np.ndarray
    gram: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_active: np.ndarray
    active: np.ndarray
    chol: np.ndarray
    cache_rows: np.ndarray
    cache_normals: np.ndarray
    cached: np.ndarray
    row: np.ndarray
    normal: np.ndarray
    weights: np.ndarray


def make_walls(
    rows: Floats,
    gram: Floats,
    low: Floats,
    high: Floats,
    active: Ints | None = None,
    chol: Any = None,
    *,
    cache: bool = True,
) -> Walls:
    """Put the parts together; the cache fills as walls are met, and memory with it."""
    n_rows, n = rows.shape
    k = 0 if active is None else active.size
    kept = n_rows if cache and gram.size else 0
    return Walls(
        np.ascontiguousarray(rows),
        np.ascontiguousarray(gram),
        np.array(low, dtype=np.float64),
        np.array(high, dtype=np.float64),
        np.array([k]),
        np.zeros(0, np.int64) if active is None else np.array(active, dtype=np.int64),
        np.zeros((k, k)) if chol is None else np.array(chol[:k, :k], dtype=np.float64),
        np.zeros((kept, n_rows)),
        np.zeros((kept, n)),
        np.zeros(kept, np.uint8),
        np.zeros(n_rows),
        np.zeros(n),
        np.zeros(k),
    )


@kernel
def project(walls, v):
    """Remove from v, in place, its part in the span of the active columns; twice is enough."""
    k = walls.n_active[0]
    if k == 0:
        return
    for _ in range(2):
        for i in range(k):
            walls.weights[i] = dot(walls.rows[walls.active[i]], v)
        solve_factored(walls.chol, k, walls.weights)
        subtract_rows(walls.rows, walls.active, walls.weights, k, v)


@kernel
def multiply(walls, v, out):
    """Write rows v."""
    np.dot(walls.rows, v, out)


@kernel
def fill_wall(walls, wall, normal, row):
    """Write the normal of a wall and its products with all rows."""
    k = walls.n_active[0]
    assign(walls.rows[wall], normal)
    project(walls, normal)
    if walls.gram.size == 0:
        multiply(walls, normal, row)
        return
    for i in range(k):
        walls.weights[i] = walls.gram[walls.active[i], wall]
    solve_factored(walls.chol, k, walls.weights)
    assign(walls.gram[wall], row)
    subtract_rows(walls.gram, walls.active, walls.weights, k, row)


@kernel
def wall_normal(walls, wall):
    """Return (normal, its products with all rows), from the cache if there is one."""
    if walls.cached.size == 0:
        fill_wall(walls, wall, walls.normal, walls.row)
        return walls.normal, walls.row
    if walls.cached[wall] == 0:
        fill_wall(walls, wall, walls.cache_normals[wall], walls.cache_rows[wall])
        walls.cached[wall] = 1
    return walls.cache_normals[wall], walls.cache_rows[wall]


@reduction_kernel
def excess(walls, image):
    """Return by how much the worst limit is passed; negative inside."""
    worst = -np.inf
    for j in range(image.size):
        worst = max(worst, image[j] - walls.high[j], walls.low[j] - image[j])
    return worst
