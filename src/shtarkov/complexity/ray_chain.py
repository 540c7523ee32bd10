"""A chain under q_1 at one kappa, and the height of the ray through each of its draws.

The height is what `complexity.noise_scale` averages. `complexity.rays` computes it exactly for the
Lasso, segment by segment; `complexity.solved_rays` for every other family, solve by solve.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from shtarkov.complexity import rays, solved_rays
from shtarkov.errors import raise_for_status
from shtarkov.families import protocol
from shtarkov.families.lasso import LassoFamily, ridge_weight
from shtarkov.families.observables import DF, FIT_RESIDUAL, RESIDUAL_SQ
from shtarkov.sampling.chain import Chain
from shtarkov.types import Floats, Status

# Moves per ray: a ray costs a few moves, and neighbouring moves tell nearly the same.
THIN = 2
# Room for this many active columns at first; doubled when a ray needs more.
ROOM = 256


def empty_model_ln_i(n_dim: int) -> float:
    """Give ln I where no column is ever active: exact, and the limit of a large kappa."""
    half = 0.5 * n_dim
    return half * math.log(half) - half + math.log(2.0) - math.lgamma(half)


@functools.singledispatch
def log_heights(
    family: Any,
    n_dim: float,
    data: Floats,
    orthogonal_sq: Floats,
    first: int,
    out: Floats,
    works: tuple[Any, Any],
) -> tuple[int, int]:
    """Fill `out` with log heights from `first` on; give (first one not done, status)."""
    done: tuple[int, int] = solved_rays.log_heights(
        family, n_dim, data, orthogonal_sq, first, out, works[0], works[1]
    )
    return done


@log_heights.register
def _lasso_log_heights(
    family: LassoFamily,
    n_dim: float,
    data: Floats,
    orthogonal_sq: Floats,
    first: int,
    out: Floats,
    works: tuple[Any, Any],
) -> tuple[int, int]:
    Xt, gram, lam, lam2 = family.Xt, family.gram, family.lam, ridge_weight(family)
    done: tuple[int, int] = rays.log_heights(
        Xt, gram, lam, lam2, n_dim, data, orthogonal_sq, first, out, works[0], works[1]
    )
    return done


class RayChain:
    """A chain under q_1 at one kappa, and the height of the ray through each of its draws.

    It has what `complexity.ladder` asks of a chain. Heights are relative to the empty model's.
    """

    def __init__(self, family: Any, rng: np.random.Generator, n_dim: int) -> None:
        self.chain = Chain(family, family.lam, rng, keep_data=True)
        self.n_dim, self.n_orthogonal = n_dim, n_dim - self.chain.facts.n_dim
        self.heights: list[Floats] = []
        self.orthogonal_sq: list[Floats] = []
        self._make_room(ROOM)

    def _make_room(self, capacity: int) -> None:
        self.capacity = capacity
        family = self.chain.family
        self.works = (protocol.new_work(family, capacity), protocol.new_work(family, capacity))

    @property
    def n_draws(self) -> int:
        """Rays integrated."""
        return self.chain.n_draws // THIN

    @property
    def failures(self) -> Any:
        """Counts of moves by status."""
        return self.chain.failures

    @property
    def work_per_draw(self) -> float:
        """Modelled cost of a ray and its moves, in multiplications: a ray costs about two moves."""
        return 2.0 * THIN * self.chain.work_per_draw

    def warm_up(self, n_steps: int) -> None:
        """Tune the chain."""
        self.chain.warm_up(n_steps)

    def extend(self, n_draws: int) -> None:
        """Make draws and integrate along their rays; the data vectors are not kept."""
        self.chain.extend(THIN * n_draws)
        segment = self.chain.segments[-1]
        squares = np.zeros(n_draws)
        if self.n_orthogonal:
            squares = self.chain.rng.chisquare(self.n_orthogonal, n_draws)
        self.heights.append(self._heights(segment.data[THIN - 1 :: THIN].copy(), squares))
        self.orthogonal_sq.append(squares)
        self.chain.segments[-1] = segment._replace(data=segment.data[:0])

    def _heights(self, data: Floats, orthogonal_sq: Floats) -> Floats:
        out, done, status = np.zeros(data.shape[0]), 0, int(Status.OK)
        family = self.chain.family
        while done < out.size:
            done, status = log_heights(
                family, float(self.n_dim), data, orthogonal_sq, done, out, self.works
            )
            if status == Status.CAPACITY:
                self._make_room(2 * self.capacity)
            else:
                raise_for_status(status, "integrating along a ray")
        return np.exp(out - empty_model_ln_i(self.n_dim))


def relative_height(ray: RayChain) -> tuple[Floats, Floats]:
    """Give the heights, and the zero-mean controls of THEORY section 4 and of the chi-square."""
    last = slice(THIN - 1, None, THIN)
    chain, df = ray.chain, ray.chain.column(DF)[last]
    lost = chain.state.y.size - chain.column(RESIDUAL_SQ)[last]
    controls = [chain.column(FIT_RESIDUAL)[last] - df, lost - df]
    if ray.n_orthogonal:
        controls.append(np.concatenate(ray.orthogonal_sq) - ray.n_orthogonal)
    return np.concatenate(ray.heights), np.stack(controls)
