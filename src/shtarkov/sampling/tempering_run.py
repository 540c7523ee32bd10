"""Replica exchange as a `Run`: options, the ladder and its default, warm-up, snapshots."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.errors import InvalidProblem, NotConverged, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.facts import facts_of
from shtarkov.families.observables import NORM, OBSERVABLES, SLOPE, K
from shtarkov.sampling.chain import FIRST_CAPACITY, MAX_FAILURE_SHARE, Chain
from shtarkov.sampling.runs import Chunk, Plan, Request, Snapshot, chunk_of, parse_options
from shtarkov.sampling.tempering import Rungs, TemperedRecording, run_tempering
from shtarkov.types import Floats, Ints, Status

CHUNK_DRAWS = 250
N_WARMUP = 200
MAX_RUNGS = 24
# The default ladder ends where fewer columns than this are active on average: there nothing traps.
FEW_ACTIVE = 0.5
# Neighbours this many standard deviations of the slope apart swap about two times in five.
SPACING = 1.2
LONGEST_SPACING = math.log(2.0)
# The chains that find the spacing: a guess for all seeds alike, so that chains share their ladder.
PILOT_WARMUP, PILOT_DRAWS, PILOT_SEED = 50, 100, 0


@dataclass(frozen=True, slots=True)
class TemperingOptions:
    """Options of ``sampler="tempering"``.

    Attributes
    ----------
    lams, taus : (R,) penalties and luckiness weights of the ladder, in order; one of them may be
        left out (then taus are lams, or lam stays the same). The penalty and weight `sample` was
        asked for must be among them, and are what it returns. By default a ladder from there up to
        penalties where hardly any column is active; for tau other than lam, up to tau = lam.
    energies_every : draws between two recordings of all energies of all rungs, for ratios of ln C
    """

    lams: ArrayLike | None = None
    taus: ArrayLike | None = None
    energies_every: int = 5

    def __post_init__(self) -> None:
        if self.energies_every < 1 or self.energies_every != int(self.energies_every):
            msg = f"energies_every must be a positive integer; got {self.energies_every!r}"
            raise InvalidProblem(msg)


def ladder_of(request: Request, options: TemperingOptions) -> Floats:
    """Give the (R, 2) penalties and weights of the ladder, in units of the noise scale."""
    lam, weight = float(request.family.lam), request.weight
    if options.lams is None and options.taus is None:
        return default_ladder(request.family, weight)
    if options.lams is None:
        taus = np.atleast_1d(np.asarray(options.taus, dtype=np.float64)) / request.sigma
        lams = np.full(taus.shape, lam)
    else:
        lams = np.atleast_1d(np.asarray(options.lams, dtype=np.float64)) / request.sigma
        given = lams if options.taus is None else np.asarray(options.taus) / request.sigma
        taus = np.asarray(given, dtype=np.float64)
    if lams.ndim != 1 or lams.shape != taus.shape or lams.size < 2:
        raise InvalidProblem("lams and taus must be sequences of equal length, of two at least")
    ladder = np.stack([lams, taus], axis=1)
    if not np.isfinite(ladder).all() or ladder.min() <= 0.0:
        raise InvalidProblem("lams and taus must be positive and finite")
    return ladder


def target_of(ladder: Floats, lam: float, weight: float) -> int:
    """Find the rung that was asked for."""
    is_target = np.isclose(ladder, [lam, weight], rtol=1e-9, atol=0.0).all(axis=1)
    if is_target.sum() != 1:
        raise InvalidProblem("the ladder must hold lam and tau, as sample was given them, once")
    return int(np.flatnonzero(is_target)[0])


def default_ladder(family: Any, weight: float) -> Floats:
    """Give rungs spaced by what short chains say of the spread of the energies."""
    rungs = [(float(family.lam), weight)]
    matched = math.isclose(weight, float(family.lam), rel_tol=1e-9)
    while len(rungs) < MAX_RUNGS:
        lam, tau = rungs[-1]
        chain = Chain(protocol.with_lam(family, lam), tau, np.random.default_rng(PILOT_SEED))
        chain.warm_up(PILOT_WARMUP)
        chain.extend(PILOT_DRAWS)
        if matched and float(chain.column(K).mean()) < FEW_ACTIVE and len(rungs) > 1:
            break
        slope = chain.column(SLOPE) if matched else tau * chain.column(NORM)
        gap = SPACING / max(float(slope.std()), SPACING / LONGEST_SPACING)
        if matched:
            rungs.append((lam * math.exp(gap), tau * math.exp(gap)))
        elif abs(math.log(tau / lam)) <= gap:
            rungs.append((lam, lam))
            break
        else:
            rungs.append((lam, tau * math.exp(math.copysign(gap, lam - tau))))
    return np.array(rungs)


def plan(request: Request) -> Plan:
    """Check the request and settle the ladder."""
    options = parse_options(TemperingOptions, request, "tempering")
    ladder = ladder_of(request, options)
    target = target_of(ladder, float(request.family.lam), request.weight)

    def make_run(rng: np.random.Generator) -> TemperingRun:
        return TemperingRun(request, ladder, target, options.energies_every, rng)

    return Plan(N_WARMUP, CHUNK_DRAWS, make_run, ladder)


class TemperingRun:
    """One ladder of replicas, which is one chain of the target."""

    def __init__(
        self,
        request: Request,
        ladder: Floats,
        target: int,
        energies_every: int,
        rng: np.random.Generator,
    ) -> None:
        self.request, self.target, self.rng = request, target, rng
        self.energies_every = energies_every
        n_rungs, n = ladder.shape[0], facts_of(request.family).n_dim
        self.rungs = Rungs(
            lams=np.ascontiguousarray(ladder[:, 0]),
            weights=np.ascontiguousarray(ladder[:, 1]),
            tuning=np.zeros((n_rungs, 3)),
            points=np.zeros((n_rungs, n)),
            replicas=np.arange(n_rungs),
            room=np.full(n_rungs, FIRST_CAPACITY),
            n_draws=np.zeros(1, np.int64),
        )

    def warm_up(self, n_steps: int) -> None:
        """Tune every rung by itself, then let the replicas mix for as long."""
        for rung, (lam, weight) in enumerate(zip(self.rungs.lams, self.rungs.weights, strict=True)):
            own = protocol.with_lam(self.request.family, lam)
            chain = Chain(own, weight, self.rng)
            chain.warm_up(n_steps)
            self.rungs.tuning[rung] = chain.tuning
            self.rungs.points[rung] = chain.state.y
        if n_steps > 0:
            self._run(self._empty_recording(n_steps, quiet=True))
        self.rungs.n_draws[0] = 0

    def _empty_recording(self, n_draws: int, *, quiet: bool = False) -> TemperedRecording:
        n_rungs, n = self.rungs.points.shape
        n_recorded = facts_of(self.request.family).n_recorded
        active = n_draws if self.request.active and not quiet else 0
        data = n_draws if self.request.data and not quiet else 0
        return TemperedRecording(
            trace=np.zeros((n_draws, len(OBSERVABLES))),
            acceptance=np.zeros(n_draws),
            supports=np.zeros((active, n_recorded), np.uint8),
            data=np.zeros((data, n)),
            replicas=np.zeros((n_draws, n_rungs), np.int64),
            swaps=np.full((n_draws, n_rungs - 1), np.nan),
            energies=np.full((n_draws, n_rungs, n_rungs), np.nan),
            failures=np.zeros(len(Status), np.int64),
        )

    def _run(self, recording: TemperedRecording) -> None:
        status = run_tempering(
            self.request.family, self.rungs, self.target, self.energies_every, self.rng, recording
        )
        raise_for_status(status, "solving at the start of a chunk")

    def advance(self, n_draws: int) -> Chunk:
        """Make draws."""
        began = time.perf_counter()
        recording = self._empty_recording(n_draws)
        self._run(recording)
        _check(recording.failures)
        extras: dict[str, Any] = {
            "replica": recording.replicas.astype(np.int16),
            "swap_probability": recording.swaps,
            "energies": recording.energies,
        }
        if self.request.active:
            extras["active"] = recording.supports
        if self.request.data:
            extras["data"] = recording.data
        return chunk_of(recording, time.perf_counter() - began, extras)

    def snapshot(self) -> Snapshot:
        """Give what the replicas carry, and the stream."""
        rungs = self.rungs
        return {
            "tuning": rungs.tuning.copy(),
            "points": rungs.points.copy(),
            "replicas": rungs.replicas.copy(),
            "room": rungs.room.copy(),
            "n_draws": rungs.n_draws.copy(),
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        carried = {name: np.array(value) for name, value in snapshot.items() if name != "rng"}
        self.rungs = self.rungs._replace(**carried)
        self.rng.bit_generator.state = snapshot["rng"]


def _check(counts: Ints) -> None:
    failed, total = int(counts[1:].sum()), int(counts.sum())
    if failed > MAX_FAILURE_SHARE * total:
        table = {Status(code).name: int(n) for code, n in enumerate(counts) if n}
        msg = f"{failed} of {total} moves failed ({table}); rescale X or drop dependent columns"
        raise NotConverged(msg)
