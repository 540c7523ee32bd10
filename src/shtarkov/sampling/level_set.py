"""Draws of the data vector on one level set: the estimate stays what it is, the residual moves.

Given coefficients, the data vectors with that estimate are {X coef + r}, r = centre + z with z a
standard normal of null X_A' restricted to |X_j'r| <= lam off the active set (units of sigma). This
is eq. 2's inner integral in the paper; the total mass is `shtarkov.level_set_mass`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.lasso import LassoFamily, ridge_weight
from shtarkov.families.nuclear_work import NuclearFamily
from shtarkov.families.observables import ENVELOPE, KKT_RESIDUAL, OBSERVABLES, PENALTY, RESIDUAL_SQ
from shtarkov.sampling.level_set_tilted import TiltedDraws
from shtarkov.sampling.mean_square import check_truth
from shtarkov.sampling.rank_ppmh_run import level_set_maker
from shtarkov.sampling.runs import Chunk, Plan, Request, Snapshot, parse_options
from shtarkov.sampling.shrink import interior_point
from shtarkov.sampling.truncated_gaussian import (
    MOVES,
    TANGENT,
    SlabState,
    new_slab_state,
    run_slab,
)
from shtarkov.sampling.walls import Walls, make_walls
from shtarkov.types import Floats, Status

CHUNK_DRAWS = 1000
N_WARMUP = 500
ADAPT_EVERY = 25
TARGET_ACCEPTANCE = 0.3
TILTING = "tilting"


@dataclass(frozen=True, slots=True)
class LevelSetOptions:
    """Options of ``sampler="level_set"``.

    Attributes
    ----------
    coef : (D,) the coefficients whose level set is sampled; (D, q) for the nuclear norm
    move : "bounce" (exact Hamiltonian flow), "coordinate" (hit-and-run sweeps), "tangent" (the
        paper's Metropolis steps) or "tilting" (independent draws; few inactive columns only). The
        nuclear norm's level sets have curved walls and take tangent steps whatever is asked.
    thin : moves for each recorded draw
    """

    coef: Any
    move: str = "bounce"
    thin: int = 1

    def __post_init__(self) -> None:
        if self.move not in (*MOVES, TILTING):
            msg = f"move must be one of {(*MOVES, TILTING)}; got {self.move!r}"
            raise InvalidProblem(msg)
        if self.thin < 1 or self.thin != int(self.thin):
            msg = f"thin must be a positive integer; got {self.thin!r}"
            raise InvalidProblem(msg)


class LevelSet(NamedTuple):
    """One level set in units of the noise scale.

    Attributes
    ----------
    fitted : (n,) X coef
    centre : (n,) the residual nearest to zero that the equations allow
    wanted : (k,) X_A'r on the level set
    walls : what bounds the residual
    """

    fitted: Floats
    centre: Floats
    wanted: Floats
    walls: Walls


def level_set_of(family: LassoFamily, coef: Floats, *, cache: bool = True) -> LevelSet:
    """Describe the level set of `coef`, which may be empty."""
    active = np.flatnonzero(coef)
    columns = family.Xt[active]
    gram = columns @ columns.T
    try:
        chol = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        chol = np.zeros((0, 0))
    if active.size and (chol.size == 0 or chol.diagonal().min() ** 2 < 1e-14 * gram.max()):
        raise InvalidProblem("the active columns of coef are dependent; drop one of them")
    wanted = family.lam * np.sign(coef[active]) + ridge_weight(family) * coef[active]
    weights = np.linalg.solve(gram, wanted) if active.size else wanted
    centre = weights @ columns
    # One correction brings X_A'centre to within an ulp of what is wanted.
    if active.size:
        centre += np.linalg.solve(gram, wanted - columns @ centre) @ columns
    carried = family.Xt @ centre
    low, high = -family.lam - carried, family.lam - carried
    low[active], high[active] = -math.inf, math.inf
    walls = make_walls(family.Xt, family.gram, low, high, active, chol, cache=cache)
    return LevelSet(coef[active] @ columns, centre, wanted, walls)


def plan(request: Request) -> Plan:
    """Check the request and find a point inside."""
    options = parse_options(LevelSetOptions, request, "level_set")
    family = request.family
    if isinstance(family, NuclearFamily):
        return Plan(N_WARMUP, CHUNK_DRAWS, level_set_maker(request, options))
    if not isinstance(family, LassoFamily):
        raise InvalidProblem("sampler='level_set' serves Lasso, ElasticNet and NuclearNorm")
    coef = check_truth(options.coef, family.Xt.shape[0]) / request.sigma

    def make_run(rng: np.random.Generator) -> LevelSetRun:
        # Each chain has walls of its own: their scratch must not be shared between threads.
        return LevelSetRun(request, options, level_set_of(family, coef), rng)

    return Plan(N_WARMUP, CHUNK_DRAWS, make_run)


def describe(family: Any, level: LevelSet, state: SlabState) -> Floats:
    """Give the recorded numbers at a point, all but the residual's the same on the level set."""
    y = level.fitted + level.centre + state.z
    capacity = level.walls.active.size + 8
    status = Status.CAPACITY
    while status == Status.CAPACITY:
        work = protocol.new_work(family, capacity)
        protocol.image(family, y, work.z)
        status = protocol.relax(family, y, work)
        capacity *= 2
    raise_for_status(status, "solving on the level set")
    if set(work.active[: work.counts[0]]) != set(level.walls.active):
        msg = "a point of the level set has another estimate: coef does not determine it"
        raise InvalidProblem(msg)
    row = np.zeros(len(OBSERVABLES))
    protocol.observe(family, family.lam, work, row)
    return row


class LevelSetRun:
    """One chain on a level set."""

    def __init__(
        self,
        request: Request,
        options: LevelSetOptions,
        level: LevelSet,
        rng: np.random.Generator,
    ) -> None:
        self.request, self.options, self.level, self.rng = request, options, level, rng
        walls = level.walls
        self.tilted = TiltedDraws(walls) if options.move == TILTING else None
        self.kind = -1 if self.tilted else MOVES.index(options.move)
        self.length = 2.4 / math.sqrt(max(walls.rows.shape[1] - walls.active.size, 1))
        self.state: SlabState = new_slab_state(walls.rows.shape[1], walls.rows.shape[0])
        self._put(interior_point(walls, rng))
        self.row = describe(request.family, level, self.state)

    def _put(self, z: Floats) -> None:
        self.state.z[:] = z
        self.state.image[:] = self.level.walls.rows @ z

    def _run(self, n_draws: int, thin: int, n_points: int) -> tuple[Floats, Floats, Floats]:
        walls = self.level.walls
        if self.tilted is not None:
            drawn, seen, share = self.tilted.draw(n_draws, self.rng)
            return drawn, seen, np.full(n_draws, share)
        points = np.zeros((n_points, walls.rows.shape[1]))
        images = np.zeros((n_points, walls.rows.shape[0]))
        accepted = np.zeros(n_draws)
        run_slab(
            walls, self.state, self.kind, self.length, thin, self.rng, points, images, accepted
        )
        return points, images, accepted

    def warm_up(self, n_steps: int) -> None:
        """Walk, and adapt the length of tangent steps; independent draws need neither."""
        if self.tilted is not None:
            return
        n_rounds = n_steps // ADAPT_EVERY
        log_length, settled = math.log(self.length), []
        for index in range(n_rounds):
            accepted = float(self._run(1, ADAPT_EVERY, 0)[2][0])
            if self.kind != TANGENT:
                continue
            log_length += 3.0 / (index + 1.0) ** 0.6 * (accepted - TARGET_ACCEPTANCE)
            if 2 * index + 1 >= n_rounds:
                settled.append(log_length)
            self.length = math.exp(log_length)
        if settled:
            self.length = math.exp(sum(settled) / len(settled))

    def advance(self, n_draws: int) -> Chunk:
        """Make draws."""
        began = time.perf_counter()
        points, images, accepted = self._run(n_draws, self.options.thin, n_draws)
        seconds = np.full(n_draws, (time.perf_counter() - began) / n_draws)
        level, walls = self.level, self.level.walls
        residuals = points + level.centre
        # From the points themselves, not from anything the moves carry along.
        equations = residuals @ walls.rows[walls.active].T - level.wanted
        constraint = np.abs(equations).max(axis=1, initial=0.0)
        beyond = np.maximum(images - walls.high, walls.low - images).max(axis=1)
        trace = np.tile(self.row, (n_draws, 1))
        trace[:, RESIDUAL_SQ] = (residuals**2).sum(axis=1)
        trace[:, ENVELOPE] = 0.5 * trace[:, RESIDUAL_SQ] + self.row[PENALTY]
        worst = np.maximum(constraint, np.maximum(beyond, 0.0))
        trace[:, KKT_RESIDUAL] = worst / self.request.family.lam
        failures = np.zeros(len(Status), np.int64)
        failures[Status.OK] = n_draws
        extras: dict[str, Any] = {"constraint_residual": constraint, "slack": -beyond}
        if self.request.active:
            extras["active"] = np.zeros((n_draws, walls.rows.shape[0]), np.uint8)
            extras["active"][:, walls.active] = 1
        if self.request.data:
            extras["data"] = level.fitted + residuals
        return Chunk(trace, accepted, failures, seconds, extras)

    def snapshot(self) -> Snapshot:
        """Give point, length and stream."""
        return {
            "z": self.state.z.copy(),
            "length": np.array([self.length]),
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        self.length = float(snapshot["length"][0])
        self.rng.bit_generator.state = snapshot["rng"]
        self._put(snapshot["z"])
