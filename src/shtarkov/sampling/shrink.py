"""Finds a point inside a polyhedron of slabs, and the mass of the polyhedron, by shrinking to it.

All limits are moved outwards by t times the length of the wall's normal. At t = infinity the law is
that of a normal without walls; each stage samples the law inside the present t by exact HMC and
moves t to a quantile of what it saw. The product of the stages' shares is the mass (multilevel
splitting; Holmes, Diaconis and Ross 2005). Slow twin: the Gaussian rectangle probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shtarkov.errors import InvalidProblem
from shtarkov.sampling.truncated_gaussian import (
    BOUNCE,
    SlabState,
    draw_tangent,
    new_slab_state,
    run_slab,
)
from shtarkov.sampling.walls import Walls
from shtarkov.types import Floats

# Share of the draws a stage passes on: the cost for a given accuracy is flat around one quarter.
KEEP = 0.25
PILOT_DRAWS = 100
# 400 stages of one quarter each: a mass of exp(-550).
MAX_STAGES = 400


class Stages(NamedTuple):
    """Thresholds t of the stages, the last one zero, and a point inside each.

    Attributes
    ----------
    thresholds : (m,) decreasing, the last one 0
    points : (m, n) a point inside each
    """

    thresholds: Floats
    points: Floats


def normal_lengths(walls: Walls) -> Floats:
    """Give the lengths of the walls' normals."""
    basis = walls.rows[walls.active]
    squares = np.einsum("ij,ij->i", walls.rows, walls.rows)
    if walls.active.size:
        whitened = np.linalg.solve(walls.chol, basis @ walls.rows.T)
        squares = squares - (whitened**2).sum(axis=0)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def widened(walls: Walls, lengths: Floats, t: float) -> Walls:
    """Move all limits outwards by t; the walls met so far stay known."""
    return walls._replace(low=walls.low - t * lengths, high=walls.high + t * lengths)


def excess_in_lengths(walls: Walls, lengths: Floats, images: Floats) -> Floats:
    """Give the smallest t for which each point is inside."""
    usable = lengths > 0.0
    beyond = np.maximum(images - walls.high, walls.low - images)
    settled = beyond[:, ~usable].max(axis=1, initial=-np.inf) > 0.0
    if settled.any():
        raise InvalidProblem("the level set is empty: an inactive column is beyond lam everywhere")
    scaled = beyond[:, usable] / lengths[usable]
    return np.asarray(scaled.max(axis=1, initial=-np.inf))


def draw_inside(
    walls: Walls, start: Floats, n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw points inside, with their images, by exact HMC from a point inside."""
    state: SlabState = new_slab_state(walls.rows.shape[1], walls.rows.shape[0])
    state.z[:] = start
    state.image[:] = walls.rows @ start
    points = np.zeros((n_draws, start.size))
    images = np.zeros((n_draws, walls.rows.shape[0]))
    run_slab(walls, state, BOUNCE, 0.0, 1, rng, points, images, np.zeros(n_draws))
    return points, images


def find_stages(walls: Walls, rng: np.random.Generator, n_draws: int = PILOT_DRAWS) -> Stages:
    """Shrink to the polyhedron from a normal draw."""
    lengths = normal_lengths(walls)
    start = np.zeros(walls.rows.shape[1])
    draw_tangent(walls, start, rng)
    threshold, thresholds, points = np.inf, [], []
    for _ in range(MAX_STAGES):
        drawn, images = draw_inside(_outer(walls, lengths, threshold), start, n_draws, rng)
        needed = excess_in_lengths(walls, lengths, images)
        threshold = max(0.0, float(np.quantile(needed, KEEP, method="lower")))
        best = int(np.argmin(needed))
        start = drawn[best]
        thresholds.append(threshold)
        points.append(start)
        if threshold == 0.0:
            return Stages(np.array(thresholds), np.array(points))
    raise InvalidProblem("no point of the level set was found: it is empty or of no mass")


def stage_walls(walls: Walls, lengths: Floats, stages: Stages, index: int) -> Walls:
    """Give the polyhedron stage `index` samples: the one the stage before shrank to."""
    return _outer(walls, lengths, np.inf if index == 0 else float(stages.thresholds[index - 1]))


def _outer(walls: Walls, lengths: Floats, threshold: float) -> Walls:
    if np.isinf(threshold):
        free = np.full(lengths.size, np.inf)
        return walls._replace(low=-free, high=free)
    return widened(walls, lengths, threshold)


def interior_point(walls: Walls, rng: np.random.Generator) -> Floats:
    """Give a point inside, random but not yet of the right law."""
    return find_stages(walls, rng, 20).points[-1]
