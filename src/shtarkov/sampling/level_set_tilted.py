"""Independent draws on a level set, where no more walls than free dimensions bound it.

The inactive correlations x = F z, F the walls' normals, are drawn exactly by minimax tilting; given
x, z is a normal of null X_A' moved to where F z = x.
"""

from __future__ import annotations

import numpy as np

from shtarkov.errors import InvalidProblem
from shtarkov.sampling.minimax_tilting import rectangle_draws, tilt
from shtarkov.sampling.truncated_gaussian import draw_tangent
from shtarkov.sampling.walls import Walls, fill_wall
from shtarkov.types import Floats


class TiltedDraws:
    """The rectangle of one level set, tilted once."""

    def __init__(self, walls: Walls) -> None:
        bounded = np.flatnonzero(np.isfinite(walls.low) | np.isfinite(walls.high))
        free = walls.rows.shape[1] - walls.active.size
        if not 0 < bounded.size <= free:
            msg = (
                f"move='tilting' needs at most as many inactive columns as free dimensions, here "
                f"{bounded.size} and {free}; use move='bounce'"
            )
            raise InvalidProblem(msg)
        self.walls = walls
        self.normals = np.zeros((bounded.size, walls.rows.shape[1]))
        for position, wall in enumerate(bounded):
            fill_wall(walls, wall, self.normals[position], walls.row)
        self.gram = self.normals @ self.normals.T
        self.tilting = tilt(self.gram, walls.low[bounded], walls.high[bounded])

    def draw(self, n_draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
        """Give points, their images, and the share of proposals accepted."""
        wanted, share = rectangle_draws(self.tilting, n_draws, rng)
        points = np.zeros((n_draws, self.walls.rows.shape[1]))
        for t in range(n_draws):
            draw_tangent(self.walls, points[t], rng)
        gap = np.linalg.solve(self.gram, (wanted - points @ self.normals.T).T).T
        points += gap @ self.normals
        return points, points @ self.walls.rows.T, share
