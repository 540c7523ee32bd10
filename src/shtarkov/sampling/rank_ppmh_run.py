"""Propose-and-project moves for the nuclear norm as `Run`s: across ranks, and at one estimate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from shtarkov.errors import InvalidProblem, NotConverged, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.nuclear_work import NuclearFamily
from shtarkov.families.observables import ENVELOPE, KKT_RESIDUAL, OBSERVABLES, PENALTY, RESIDUAL_SQ
from shtarkov.sampling.rank_ppmh import (
    RankProposal,
    RankRecording,
    RankState,
    new_state,
    prepare,
    project,
    run_full_rank,
    run_level_set,
)
from shtarkov.sampling.runs import Chunk, Request, Run, Snapshot, chunk_of
from shtarkov.types import Floats, Status

# Warm-up steps between two adjustments of the step.
ADAPT_EVERY = 64
# Best for random walks in many dimensions (Gelman, Roberts and Gilks 1996).
TARGET_ACCEPTANCE = 0.3
FIRST_STEP = 2.4
MAX_FAILURE_SHARE = 0.01


class RankRun:
    """What both runs share: the step found in warm-up, recordings, snapshots.

    Parameters
    ----------
    request : what is sampled
    epsilon : variance along tangents relative to that across them
    step : length of a proposal; None finds it in warm-up
    thin : steps for each recorded draw
    """

    def __init__(
        self,
        request: Request,
        rng: np.random.Generator,
        *,
        epsilon: float,
        step: float | None,
        thin: int,
    ) -> None:
        self.family: NuclearFamily = request.family
        self.request, self.rng, self.thin, self.adapt = request, rng, thin, step is None
        first = FIRST_STEP if step is None else float(step)
        self.proposal = RankProposal(first, float(epsilon))
        self.n_dim = self.family.scales.size * self.family.n_targets
        self.state: RankState = new_state(self.family)

    def _move(self, recording: RankRecording, thin: int) -> None:
        """Run the compiled loop."""
        raise NotImplementedError

    def _put(self, y: Floats) -> None:
        """Start from what a snapshot holds."""
        raise NotImplementedError

    def _recording(self, n_draws: int, with_data: bool) -> RankRecording:
        return RankRecording(
            np.zeros((n_draws, len(OBSERVABLES))),
            np.zeros(n_draws),
            np.zeros((n_draws if with_data else 0, self.n_dim)),
            np.zeros(len(Status), np.int64),
        )

    def warm_up(self, n_steps: int) -> None:
        """Find the step by Robbins-Monro, averaging its logarithm over the second half."""
        n_rounds, settled = n_steps // ADAPT_EVERY, []
        log_step = math.log(self.proposal.step)
        for index in range(n_rounds):
            recording = self._recording(1, with_data=False)
            self._move(recording, ADAPT_EVERY)
            if not self.adapt:
                continue
            accepted = float(recording.acceptance[0])
            log_step += 3.0 / (index + 1.0) ** 0.6 * (accepted - TARGET_ACCEPTANCE)
            if 2 * index + 1 >= n_rounds:
                settled.append(log_step)
            self.proposal = self.proposal._replace(step=math.exp(log_step))
        if settled:
            self.proposal = self.proposal._replace(step=math.exp(sum(settled) / len(settled)))
        self._put(self.state.y.copy())

    def _draws(self, n_draws: int, with_data: bool) -> tuple[RankRecording, float]:
        began = time.perf_counter()
        recording = self._recording(n_draws, with_data)
        self._move(recording, self.thin)
        self._put(self.state.y.copy())
        return recording, time.perf_counter() - began

    def snapshot(self) -> Snapshot:
        """Give point, step and stream."""
        step = np.array([self.proposal.step])
        return {"y": self.state.y.copy(), "step": step, "rng": self.rng.bit_generator.state}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        self.proposal = self.proposal._replace(step=float(snapshot["step"][0]))
        self.rng.bit_generator.state = snapshot["rng"]
        self._put(np.asarray(snapshot["y"]))


class FullRankRun(RankRun):
    """Moves across ranks: the luckiness law of the data."""

    def __init__(self, request: Request, rng: np.random.Generator, **options: Any) -> None:
        super().__init__(request, rng, **options)
        self._put(rng.standard_normal(self.n_dim))

    def _put(self, y: Floats) -> None:
        """Solve at y from nothing: the state then depends on the data vector alone."""
        self.state = new_state(self.family)
        self.state.y[:] = y
        status = protocol.relax(self.family, self.state.y, self.state.work)
        raise_for_status(status, "placing the chain")
        prepare(self.family, self.state.work, self.state.here)

    def _move(self, recording: RankRecording, thin: int) -> None:
        run_full_rank(
            self.family, self.request.weight, self.proposal, self.state, thin, self.rng, recording
        )

    def advance(self, n_draws: int) -> Chunk:
        """Make draws."""
        recording, seconds = self._draws(n_draws, self.request.data)
        failed = int(recording.failures[1:].sum())
        if failed > MAX_FAILURE_SHARE * recording.failures.sum():
            msg = f"{failed} steps failed; rescale X or drop dependent columns"
            raise NotConverged(msg)
        extras = {"data": recording.data} if self.request.data else {}
        return chunk_of(recording, seconds, extras)


class LevelSetRankRun(RankRun):
    """Residuals of one estimate: y = S B + r, B fixed; `state.y` holds r.

    Parameters
    ----------
    coef : (p, q) the estimate in the family's coordinates and units, not zero
    """

    def __init__(
        self, request: Request, coef: Floats, rng: np.random.Generator, **options: Any
    ) -> None:
        super().__init__(request, rng, epsilon=1.0, **options)
        scales = self.family.scales[:, None]
        left, values, right = np.linalg.svd(coef, full_matrices=False)
        rank = int(np.sum(values > 1e-10 * max(values[0], 1e-300)))
        # S r = lam U V' lies on the face, and in its interior.
        self.start = (self.family.lam * (left[:, :rank] @ right[:rank]) / scales).ravel()
        self.fitted = (scales * coef).ravel()
        work = self.state.work
        status = protocol.relax(self.family, self.fitted + self.start, work)
        raise_for_status(status, "solving on the level set")
        if work.counts[0] != rank or not np.allclose(work.coef, coef, atol=1e-6 * values[0]):
            raise InvalidProblem("no data vector has this estimate: coef does not determine it")
        self.row = np.zeros(len(OBSERVABLES))
        protocol.observe(self.family, self.request.weight, work, self.row)
        prepare(self.family, work, self.state.here)
        self._put(self.start)

    def _put(self, y: Floats) -> None:
        """Take the residual, brought back onto the equations of the face."""
        p, q = self.family.scales.size, self.family.n_targets
        correction = np.zeros(self.n_dim)
        project(self.state.here, p, q, self.start - y, correction)
        self.state.y[:] = y + correction

    def _move(self, recording: RankRecording, thin: int) -> None:
        run_level_set(self.family, self.proposal, self.state, thin, self.rng, recording)

    def advance(self, n_draws: int) -> Chunk:
        """Make draws: all that is recorded but the residual is the same on the level set."""
        recording, seconds = self._draws(n_draws, with_data=True)
        residual_sq = recording.trace[:, RESIDUAL_SQ].copy()
        recording.trace[:] = self.row
        recording.trace[:, RESIDUAL_SQ] = residual_sq
        recording.trace[:, ENVELOPE] = 0.5 * residual_sq + self.row[PENALTY]
        recording.trace[:, KKT_RESIDUAL] = self._beyond(recording.data)
        extras = {"data": self.fitted + recording.data} if self.request.data else {}
        return chunk_of(recording, seconds, extras)

    def _beyond(self, residuals: Floats) -> Floats:
        """Give how far each residual is outside the face, in units of lam."""
        p, q, lam = self.family.scales.size, self.family.n_targets, self.family.lam
        pulled = residuals.reshape(-1, p, q) * self.family.scales[:, None]
        return np.maximum(np.linalg.svd(pulled, compute_uv=False)[:, 0] / lam - 1.0, 0.0)


def full_rank_maker(request: Request, options: Any) -> Callable[[np.random.Generator], Run]:
    """Give what makes chains across ranks; options as those of ``sampler="ppmh"``."""

    def make_run(rng: np.random.Generator) -> FullRankRun:
        return FullRankRun(
            request, rng, epsilon=options.epsilon, step=options.step, thin=options.thin
        )

    return make_run


def level_set_maker(request: Request, options: Any) -> Callable[[np.random.Generator], Run]:
    """Give what makes chains at one estimate; options as those of ``sampler="level_set"``."""
    family = request.family
    wanted = (family.basis.shape[0], family.n_targets)
    given = np.asarray(options.coef, dtype=np.float64)
    if given.shape != wanted or not np.isfinite(given).all():
        msg = f"coef must be a finite matrix of shape {wanted}; got shape {given.shape}"
        raise InvalidProblem(msg)
    coef = family.basis.T @ given / request.sigma
    if not np.allclose(family.basis @ coef * request.sigma, given, atol=1e-9 * np.abs(given).max()):
        raise InvalidProblem("coef has a part X does not see; no estimate has one")

    def make_run(rng: np.random.Generator) -> LevelSetRankRun:
        return LevelSetRankRun(request, coef, rng, step=None, thin=options.thin)

    return make_run
