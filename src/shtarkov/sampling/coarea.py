# mypy: allow-untyped-defs, allow-untyped-calls
"""Level-set moves, fibre moves and moves between strata in turn: the paper's integral as a chain.

One draw is `crossings` full-rank PPMH steps, which change cell and coefficients, then two exact
Gibbs moves of the same target exp(-potential), sigma = 1:

* the residual given the coefficients: on the level set the density is exp(-half |r|^2), a normal
  on a polyhedron (THEORY section 3), moved by the exact flow of `truncated_gaussian.bounce`. The
  coarea factor depends on the cell alone, so it is constant there;
* the coefficients given cell and residual: independent exponentials (Elastic Net: a point).

The level set through the present point costs no solve: y, residual, correlations and image move
along with z. Slow twin: `level_set`, which describes a level set from its coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.errors import InvalidProblem
from shtarkov.families import protocol
from shtarkov.families.active_work import assign, subtract_rows
from shtarkov.families.lasso import LassoFamily, ridge_weight
from shtarkov.linalg.cholesky import solve_factored
from shtarkov.sampling.active_columns import factor_gram
from shtarkov.sampling.ppmh import PpmhState, describe, record, step
from shtarkov.sampling.ppmh_run import (
    N_WARMUP,
    PpmhOptions,
    PpmhRun,
    first_point,
    make_proposal,
)
from shtarkov.sampling.runs import Plan, Request, parse_options
from shtarkov.sampling.truncated_gaussian import SlabState, bounce, new_slab_state
from shtarkov.sampling.walls import Walls, multiply
from shtarkov.types import Status

OK = int(Status.OK)
CAPACITY = int(Status.CAPACITY)
LEFT_CELL = int(Status.LEFT_CELL)
CHUNK_DRAWS = 500


class LevelRoom(NamedTuple):
    """The level set through the present point.

    Attributes
    ----------
    walls : its polyhedron; active columns and their number are those of the chain's own work
    slab : z = residual - centre with its image, and what moves it
    centre : (n,) the part of the residual the active equations settle
    carried : (D,) its products with the columns
    """

    walls: Walls
    slab: SlabState
    centre: np.ndarray
    carried: np.ndarray


def level_room(family: LassoFamily, state: PpmhState) -> LevelRoom:
    """Make room for the level sets of a chain; `state` keeps its arrays for as long."""
    n_features, n = family.Xt.shape
    room = state.work.active.size
    walls = Walls(
        rows=family.Xt,
        gram=family.gram,
        low=np.zeros(n_features),
        high=np.zeros(n_features),
        n_active=state.work.counts,
        active=state.work.active,
        chol=np.zeros((room, room)),
        # The walls change with every cell: none is worth keeping.
        cache_rows=np.zeros((0, n_features)),
        cache_normals=np.zeros((0, n)),
        cached=np.zeros(0, np.uint8),
        row=np.zeros(n_features),
        normal=np.zeros(n),
        weights=np.zeros(room),
    )
    return LevelRoom(walls, new_slab_state(n, n_features), np.zeros(n), np.zeros(n_features))


@kernel
def write_centre(family, work, room):
    """Write X_A H^-1 (lam s + lam2 beta_A) and its products with all columns."""
    walls, k, lam2 = room.walls, work.counts[0], ridge_weight(family)
    for i in range(k):
        walls.weights[i] = -family.lam * work.signs[i] - lam2 * work.coef[i]
    solve_factored(walls.chol, k, walls.weights)
    room.centre[:] = 0.0
    subtract_rows(family.Xt, work.active, walls.weights, k, room.centre)
    if walls.gram.size == 0:
        multiply(walls, room.centre, room.carried)
        return
    room.carried[:] = 0.0
    subtract_rows(walls.gram, work.active, walls.weights, k, room.carried)


@kernel
def enter_level_set(family, work, room):
    """Describe the level set through the present point; return whether it has a direction."""
    walls, slab, k = room.walls, room.slab, work.counts[0]
    if k >= work.residual.size or factor_gram(family, work, False, walls.chol) != OK:
        return False
    write_centre(family, work, room)
    for i in range(room.centre.size):
        slab.z[i] = work.residual[i] - room.centre[i]
    for j in range(room.carried.size):
        slab.image[j] = work.corr[j] - room.carried[j]
        walls.low[j] = -family.lam - room.carried[j]
        walls.high[j] = family.lam - room.carried[j]
    for i in range(k):
        walls.low[work.active[i]], walls.high[work.active[i]] = -np.inf, np.inf
    return True


@kernel
def leave_level_set(family, work, room, y):
    """Bring y, residual, correlations and image to the slab's point; nothing is accumulated."""
    walls, slab, k, lam2 = room.walls, room.slab, work.counts[0], ridge_weight(family)
    for i in range(y.size):
        work.residual[i] = room.centre[i] + slab.z[i]
    for j in range(work.corr.size):
        work.corr[j] = room.carried[j] + slab.image[j]
    for i in range(k):
        work.corr[work.active[i]] = family.lam * work.signs[i] + lam2 * work.coef[i]
        walls.weights[i] = -work.coef[i]
    assign(work.residual, y)
    subtract_rows(family.Xt, work.active, walls.weights, k, y)
    if work.z.size > 0:
        assign(work.corr, work.z)
        subtract_rows(family.gram, work.active, walls.weights, k, work.z)


@kernel
def within_stratum(family, weight, state, room, rng):
    """Redraw the residual given the coefficients, then they given it; return the status."""
    status = OK
    if enter_level_set(family, state.work, room):
        accepted, _ = bounce(room.walls, room.slab, rng)
        if accepted:
            leave_level_set(family, state.work, room, state.y)
        else:  # rounding let the flow through a wall
            status = LEFT_CELL
    protocol.refresh_fibre(family, weight, state.y, state.work, rng)
    return status


@kernel
def run_coarea(family, weight, proposal, state, room, progress, crossings, rng, recording):
    """Run until the recording is full; as `run_ppmh`, with moves within the stratum at each draw.

    `progress` holds (crossings tried, accepted since the last draw).
    """
    stop = recording.trace.shape[0] * crossings
    while progress[0] < stop:
        accepted, _, status = step(family, weight, proposal, state, rng)
        if status == CAPACITY:
            return
        recording.failures[status] += 1
        progress[0] += 1
        progress[1] += 1 if accepted else 0
        if progress[0] % crossings == 0:
            recording.failures[within_stratum(family, weight, state, room, rng)] += 1
            describe(family, weight, state)
            record(family, state, progress[1] / crossings, recording, progress[0] // crossings - 1)
            progress[1] = 0


@dataclass(frozen=True, slots=True)
class CoareaOptions:
    """Options of ``sampler="coarea"``.

    Attributes
    ----------
    crossings : PPMH steps of each draw
    epsilon, step : of those steps, as for ``sampler="ppmh"``
    policy : how "auto" chooses between dense and reduced: "measured" cost, or the "paper" rule
    """

    crossings: int = 8
    epsilon: float = 1.0
    step: float | None = None
    policy: str = "measured"

    def as_ppmh(self) -> PpmhOptions:
        """Give the options of the crossing steps, which checks them."""
        if self.crossings < 1 or self.crossings != int(self.crossings):
            msg = f"crossings must be a positive integer; got {self.crossings!r}"
            raise InvalidProblem(msg)
        return PpmhOptions(
            epsilon=self.epsilon, step=self.step, thin=self.crossings, policy=self.policy
        )


class CoareaLoop:
    """The compiled loop with the room its level sets need, in the form `PpmhRun` calls."""

    def __init__(self) -> None:
        self.state: Any = None
        self.room: Any = None

    def __call__(self, family: Any, weight: float, proposal: Any, state: Any, *rest: Any) -> None:
        """Run; the room follows the state when it grows."""
        if state is not self.state:
            self.state, self.room = state, level_room(family, state)
        run_coarea(family, weight, proposal, state, self.room, *rest)


def plan(request: Request) -> Plan:
    """Check the request."""
    options = parse_options(CoareaOptions, request, "coarea").as_ppmh()
    if not isinstance(request.family, LassoFamily):
        raise InvalidProblem("sampler='coarea' serves Lasso and ElasticNet; use sampler='hmc'")
    proposal = make_proposal(request.family, request.solver, options)

    def make_run(rng: np.random.Generator) -> PpmhRun:
        start = first_point(request, options.start, rng)
        adapt = options.step is None
        return PpmhRun(
            request, proposal, rng, start, thin=options.thin, adapt=adapt, loop=CoareaLoop()
        )

    return Plan(N_WARMUP, CHUNK_DRAWS, make_run)
