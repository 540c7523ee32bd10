"""PPMH as a `Run`: options, choice of routes, step adaptation, growth."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shtarkov.errors import InvalidProblem, NotConverged, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.group_lasso import GroupLassoFamily
from shtarkov.families.lasso import LassoFamily
from shtarkov.families.nuclear_work import NuclearFamily
from shtarkov.families.observables import OBSERVABLES
from shtarkov.geometry.choose import choose_route
from shtarkov.sampling.active_columns import weight_of_squares
from shtarkov.sampling.chain import Chain
from shtarkov.sampling.ppmh import (
    EXTRA,
    PENDING,
    POSITION,
    PpmhRecording,
    PpmhState,
    new_state,
    place,
    run_ppmh,
)
from shtarkov.sampling.ppmh_dense import DenseProposal
from shtarkov.sampling.ppmh_geometry import DENSE, QR, ROUTES, Proposal
from shtarkov.sampling.rank_ppmh_run import full_rank_maker
from shtarkov.sampling.runs import Chunk, Plan, Request, Snapshot, chunk_of, parse_options
from shtarkov.types import Floats, Ints, Status

CHUNK_DRAWS = 4096
N_WARMUP = 4000
FIRST_CAPACITY = 64
# Warm-up steps between two adjustments of the step.
ADAPT_EVERY = 64
# Best for random walks in many dimensions (Gelman, Roberts and Gilks 1996).
TARGET_ACCEPTANCE = 0.3
# "auto" changes to QR beyond this spread of the factor's diagonal, where eps * cond^2 is 2e-10.
QR_BEYOND = 1e3
MAX_FAILURE_SHARE = 0.01
COVARIANCES = ("projector", "d_en")
POLICIES = ("measured", "paper")
STARTS = ("normal", "target")
# Hamiltonian moves to the first data vector of start="target".
N_APPROACH = 200


@dataclass(frozen=True, slots=True)
class PpmhOptions:
    """Options of ``sampler="ppmh"``.

    Attributes
    ----------
    epsilon : variance along the active columns' span, relative to the directions across it
    step : length of a proposal; None finds it in warm-up
    covariance : "projector", or "d_en" for the Elastic Net
    thin : steps for each recorded draw
    policy : how "auto" chooses between dense and reduced: "measured" cost, or the "paper" rule
    start : first data vector: "normal" noise, or a draw of the "target" by Hamiltonian moves, for
        proposals so narrow (small epsilon) that the chain keeps the active set it starts with
    """

    epsilon: float = 0.3
    step: float | None = None
    covariance: str = "projector"
    thin: int = 1
    policy: str = "measured"
    start: str = "normal"

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon <= 1e6:
            msg = f"epsilon must be positive (and at most 1e6); got {self.epsilon!r}"
            raise InvalidProblem(msg)
        if self.step is not None and not 0.0 < self.step < math.inf:
            msg = f"step must be positive and finite; got {self.step!r}"
            raise InvalidProblem(msg)
        if self.covariance not in COVARIANCES or self.policy not in POLICIES:
            msg = f"covariance is one of {COVARIANCES} and policy one of {POLICIES}"
            raise InvalidProblem(msg)
        if self.start not in STARTS:
            msg = f"start must be one of {STARTS}; got {self.start!r}"
            raise InvalidProblem(msg)
        if self.thin < 1 or self.thin != int(self.thin):
            msg = f"thin must be a positive integer; got {self.thin!r}"
            raise InvalidProblem(msg)


def route_table(family: Any, solver: str, policy: str) -> Ints:
    """Give the route for each number of active columns."""
    n_features, n = family.Xt.shape
    size = min(n, n_features) + 1
    if solver != "auto":
        return np.full(size, ROUTES.index(solver))
    names = [choose_route(n, n_features, k, policy=policy).route for k in range(size)]
    return np.array([ROUTES.index(name) for name in names])


def make_proposal(family: Any, solver: str, options: PpmhOptions) -> Proposal | DenseProposal:
    """Put options and routes together; the step is a first guess if none was given."""
    is_d_en = options.covariance == "d_en"
    if is_d_en and weight_of_squares(family) == 0.0:
        raise InvalidProblem("covariance='d_en' needs the Elastic Net's lam2 > 0")
    routes = route_table(family, solver, options.policy)
    kind = DenseProposal if (routes == DENSE).any() else Proposal
    # A step of 2.4 is best where the target is a standard normal in the n - k curved directions.
    return kind(
        step=2.4 if options.step is None else float(options.step),
        epsilon=float(options.epsilon),
        log_epsilon=math.log(options.epsilon),
        is_d_en=is_d_en,
        routes=routes,
        qr_beyond=QR_BEYOND if solver == "auto" else math.inf,
    )


def plan(request: Request) -> Plan:
    """Check the request."""
    options = parse_options(PpmhOptions, request, "ppmh")
    if isinstance(request.family, NuclearFamily):
        if options.covariance != "projector":
            raise InvalidProblem("covariance='d_en' needs the Elastic Net's lam2 > 0")
        return Plan(N_WARMUP, CHUNK_DRAWS, full_rank_maker(request, options))
    if not isinstance(request.family, LassoFamily | GroupLassoFamily):
        msg = "sampler='ppmh' serves Lasso, ElasticNet, GroupLasso, NuclearNorm; use sampler='hmc'"
        raise InvalidProblem(msg)
    if isinstance(request.family, GroupLassoFamily) and request.family.l1 > 0.0:
        raise InvalidProblem("sampler='ppmh' knows no l1_ratio; use sampler='hmc'")
    proposal = make_proposal(request.family, request.solver, options)

    def make_run(rng: np.random.Generator) -> PpmhRun:
        start = first_point(request, options.start, rng)
        return PpmhRun(request, proposal, rng, start, thin=options.thin, adapt=options.step is None)

    return Plan(N_WARMUP, CHUNK_DRAWS, make_run)


def first_point(request: Request, start: str, rng: np.random.Generator) -> Floats:
    """Draw the first data vector from the chain's own stream."""
    if start == "normal":
        return rng.standard_normal(request.family.Xt.shape[1])
    chain = Chain(request.family, request.weight, rng)
    chain.warm_up(N_APPROACH)
    return np.array(chain.state.y)


class PpmhRun:
    """One chain.

    Parameters
    ----------
    request, proposal : what is sampled, and how
    rng : the chain's own stream
    start : first data vector
    thin : steps for each recorded draw
    adapt : find the step in warm-up
    loop : the compiled loop, with the signature of `run_ppmh`
    """

    def __init__(
        self,
        request: Request,
        proposal: Proposal | DenseProposal,
        rng: np.random.Generator,
        start: Floats,
        *,
        thin: int = 1,
        adapt: bool = True,
        loop: Callable[..., None] = run_ppmh,
    ) -> None:
        self.loop = loop
        self.family, self.weight, self.rng = request.family, request.weight, rng
        self.request, self.proposal, self.thin, self.adapt = request, proposal, thin, adapt
        self.state = self._new_state(FIRST_CAPACITY)
        self._place(start)

    def _new_state(self, capacity: int) -> PpmhState:
        may_switch = math.isfinite(self.proposal.qr_beyond) or weight_of_squares(self.family) > 0.0
        with_basis = may_switch or bool((self.proposal.routes == QR).any())
        with_block = bool((self.proposal.routes == DENSE).any())
        n = self.family.Xt.shape[1]
        state: PpmhState = new_state(self.family, n, capacity, with_basis, with_block)
        return state

    def _place(self, y: Any) -> None:
        """Solve at y from a cold start, with as much room as it takes."""
        capacity = self.state.eta.size
        while True:
            self.state = self._new_state(capacity)
            status = place(self.family, self.weight, y, self.proposal, self.state)
            if status != Status.CAPACITY:
                break
            capacity *= 2
        raise_for_status(status, "placing the chain")

    def _grow(self) -> None:
        """Double the room, keeping the point and the noise already drawn."""
        old = self.state
        wider = self._new_state(2 * old.eta.size)
        protocol.copy_work(self.family, old.work, wider.work)
        self.state = wider
        status = place(self.family, self.weight, old.y, self.proposal, wider)
        raise_for_status(status, "giving the chain more room")
        wider.noise[:], wider.images[:], wider.uniform[:] = old.noise, old.images, old.uniform
        wider.eta[: old.eta.size] = old.eta
        wider.counts[POSITION], wider.counts[PENDING] = old.counts[POSITION], old.counts[PENDING]

    def _run(self, n_draws: int, thin: int, *, quiet: bool = False) -> PpmhRecording:
        n_features, n = self.family.Xt.shape
        recording = PpmhRecording(
            np.zeros((n_draws, len(OBSERVABLES))),
            np.zeros(n_draws),
            np.zeros((n_draws if self.request.active and not quiet else 0, n_features), np.uint8),
            np.zeros((n_draws if self.request.data and not quiet else 0, n)),
            np.zeros((n_draws, len(EXTRA))),
            np.zeros(len(Status), np.int64),
        )
        progress = np.zeros(2, np.int64)
        while True:
            self.loop(
                self.family,
                self.weight,
                self.proposal,
                self.state,
                progress,
                thin,
                self.rng,
                recording,
            )
            if progress[0] == n_draws * thin:
                return recording
            self._grow()

    def warm_up(self, n_steps: int) -> None:
        """Find the step by Robbins-Monro, averaging its logarithm over the second half."""
        n_rounds = n_steps // ADAPT_EVERY
        log_step, settled = math.log(self.proposal.step), []
        for index in range(n_rounds):
            accepted = float(self._run(1, ADAPT_EVERY, quiet=True).acceptance[0])
            if not self.adapt:
                continue
            log_step += 3.0 / (index + 1.0) ** 0.6 * (accepted - TARGET_ACCEPTANCE)
            if 2 * index + 1 >= n_rounds:
                settled.append(log_step)
            self.proposal = self.proposal._replace(step=math.exp(log_step))
        if settled:
            self.proposal = self.proposal._replace(step=math.exp(sum(settled) / len(settled)))
        self._place(self.state.y)

    def advance(self, n_draws: int) -> Chunk:
        """Make draws."""
        began = time.perf_counter()
        recording = self._run(n_draws, self.thin)
        extras: dict[str, Any] = {
            "route": recording.extra[:, 0].astype(np.int8),
            "constraint_residual": recording.extra[:, 1],
        }
        if self.request.active:
            extras["active"] = recording.supports
        if self.request.data:
            extras["data"] = recording.data
        self._place(self.state.y)
        self._check(recording.failures)
        return chunk_of(recording, time.perf_counter() - began, extras)

    def _check(self, counts: Ints) -> None:
        failed, total = int(counts[1:].sum()), int(counts.sum())
        if failed > MAX_FAILURE_SHARE * total:
            table = {Status(code).name: int(n) for code, n in enumerate(counts) if n}
            msg = (
                f"{failed} of {total} steps failed ({table}); use solver='auto' or 'qr', rescale "
                "X, or drop dependent columns"
            )
            raise NotConverged(msg)

    def snapshot(self) -> Snapshot:
        """Give data vector, step and stream."""
        step = np.array([self.proposal.step])
        return {"y": self.state.y.copy(), "step": step, "rng": self.rng.bit_generator.state}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        self.proposal = self.proposal._replace(step=float(snapshot["step"][0]))
        self.rng.bit_generator.state = snapshot["rng"]
        self._place(snapshot["y"])
