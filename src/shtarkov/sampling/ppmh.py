# mypy: allow-untyped-defs, allow-untyped-calls
"""Propose-and-project Metropolis-Hastings on data space, with the full Metropolis ratio.

Target: exp(-potential), sigma = 1. Proposal: N(y, delta_k^2 S_y), S_y as in `ppmh_geometry`,
delta_k^2 = step^2 / max(n - k, 1). Both change from cell to cell, so the ratio of proposal
densities (THEORY section 8) does not cancel:

    ln q(y | y') - ln q(y' | y) = (F - F') / 2 + n (ln delta - ln delta') + (ln det S - ln det S')/2

with F = D'S^-1 D / delta^2, D = y' - y, primes at y'. The standard normals of many steps are drawn
at once and multiplied by X' in one matrix product, since they do not depend on the state: a step
then needs no product with X. Slow twin: the same step with the route DENSE.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.active_work import assign, dot
from shtarkov.sampling.active_columns import active_rows, wanted_pull
from shtarkov.sampling.ppmh_geometry import (
    LOG_DET,
    LOG_VOLUME,
    ROUTE,
    copy_geometry,
    displace,
    inverse_form,
    new_geometry,
    prepare,
)
from shtarkov.types import Status

OK = int(Status.OK)
CAPACITY = int(Status.CAPACITY)
# Steps whose noise is drawn together. z is computed afresh as often, which keeps its rounding low.
BATCH = 64
# Places in `PpmhState.counts`: noise used up, and whether this step's own draws are already made.
POSITION, PENDING = range(2)
# Columns of `Recording.extra`.
EXTRA = ("route", "constraint_residual")


class PpmhState(NamedTuple):
    """Everything a chain keeps; arrays are overwritten in place.

    Attributes
    ----------
    y, y_proposed, delta : data vector, candidate and their difference
    work, work_proposed : the solver's memory at both
    here, there : the geometry at both
    noise, images : (BATCH, n) standard normals and (BATCH, D) their images, if images are kept
    eta, white : (cap,) further normals of D_EN, and scratch
    uniform : (1,) the uniform of the accept decision
    row : (observables,) what is recorded of y
    extra : (EXTRA,) likewise
    counts : see POSITION, PENDING
    """

    y: np.ndarray
    y_proposed: np.ndarray
    delta: np.ndarray
    work: Any
    work_proposed: Any
    here: Any
    there: Any
    noise: np.ndarray
    images: np.ndarray
    eta: np.ndarray
    white: np.ndarray
    uniform: np.ndarray
    row: np.ndarray
    extra: np.ndarray
    counts: np.ndarray


class PpmhRecording(NamedTuple):
    """Where a run writes; arrays with no rows are not recorded."""

    trace: np.ndarray
    acceptance: np.ndarray
    supports: np.ndarray
    data: np.ndarray
    extra: np.ndarray
    failures: np.ndarray


@kernel
def new_state(family, n, capacity, with_basis, with_block):
    """Return an empty state."""
    work = protocol.new_work(family, capacity)
    room = active_rows(family, work).size
    return PpmhState(
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        work,
        protocol.new_work(family, capacity),
        new_geometry(n, room, with_basis, with_block),
        new_geometry(n, room, with_basis, with_block),
        np.zeros((BATCH, n)),
        np.zeros((BATCH, work.z.size)),
        np.zeros(room),
        np.zeros(room),
        np.zeros(1),
        np.zeros(len(obs.OBSERVABLES)),
        np.zeros(len(EXTRA)),
        np.array([BATCH, 0]),
    )


@kernel
def worst_constraint(family, work):
    """Return the largest entry of X_A'r less the penalty's gradient, from the residual itself."""
    worst, rows = 0.0, active_rows(family, work)
    for i in range(work.counts[0]):
        pull = dot(family.Xt[rows[i]], work.residual)
        worst = max(worst, abs(pull - wanted_pull(family, work, i)))
    return worst


@kernel
def describe(family, weight, state):
    """Write what is recorded of the present point."""
    protocol.observe(family, weight, state.work, state.row)
    if not math.isnan(state.here.numbers[LOG_VOLUME]):
        state.row[obs.LOG_VOLUME] = state.here.numbers[LOG_VOLUME]
    state.extra[0] = state.here.numbers[ROUTE]
    state.extra[1] = worst_constraint(family, state.work)


def place(family: Any, weight: float, y: Any, proposal: Any, state: PpmhState) -> Any:
    """Put the chain at data vector y, from Python; return the status."""
    state.y[:] = y
    protocol.image(family, state.y, state.work.z)
    status = protocol.relax(family, state.y, state.work)
    if status == OK:
        status = prepare(proposal, family, state.work, state.here)
    if status == OK:
        describe(family, weight, state)
    state.counts[POSITION] = BATCH
    state.counts[PENDING] = 0
    return status


@kernel
def draw_noise(family, state, rng):
    """Draw the normals of the next BATCH steps and their images; refresh the image of y."""
    for i in range(state.noise.shape[0]):
        for j in range(state.noise.shape[1]):
            state.noise[i, j] = rng.standard_normal()
    if state.images.size > 0:
        np.dot(state.noise, family.Xt.T, state.images)
    protocol.image(family, state.y, state.work.z)
    state.counts[POSITION] = 0


@kernel
def draw_step(family, proposal, state, rng):
    """Draw what a step needs, unless it was drawn before the step ran out of room."""
    if state.counts[PENDING] == 1:
        return
    if state.counts[POSITION] == BATCH:
        draw_noise(family, state, rng)
    if proposal.is_d_en:
        for i in range(state.work.counts[0]):
            state.eta[i] = rng.standard_normal()
    state.uniform[0] = rng.random()
    state.counts[PENDING] = 1


@kernel
def scale_of(proposal, n, k):
    """Return delta_k."""
    return proposal.step / math.sqrt(max(n - k, 1))


@kernel
def propose(family, proposal, state):
    """Write delta and the candidate with its image; return F, the inverse form over delta_k^2."""
    position = state.counts[POSITION]
    xi, image_out = state.noise[position], state.work_proposed.z
    xi_image = state.images[position] if state.images.size > 0 else state.images[0, :0]
    displace(
        proposal,
        family,
        state.work,
        state.here,
        xi,
        xi_image,
        state.eta,
        state.white,
        state.delta,
        image_out,
    )
    scale = scale_of(proposal, xi.size, state.work.counts[0])
    for i in range(xi.size):
        state.delta[i] *= scale
        state.y_proposed[i] = state.y[i] + state.delta[i]
    for i in range(image_out.size):
        image_out[i] = state.work.z[i] + scale * image_out[i]
    if proposal.is_d_en:
        form = inverse_form(proposal, family, state.work, state.here, state.delta, state.white)
        return form / (scale * scale)
    return dot(xi, xi)


@kernel
def log_density_ratio(family, proposal, state, forward):
    """Return ln q(y | y') - ln q(y' | y)."""
    n = state.y.size
    scale = scale_of(proposal, n, state.work.counts[0])
    scale_there = scale_of(proposal, n, state.work_proposed.counts[0])
    form = inverse_form(
        proposal, family, state.work_proposed, state.there, state.delta, state.white
    )
    backward = form / (scale_there * scale_there)
    log_dets = state.here.numbers[LOG_DET] - state.there.numbers[LOG_DET]
    return 0.5 * (forward - backward + log_dets) + n * math.log(scale / scale_there)


@kernel
def step(family, weight, proposal, state, rng):
    """Propose, accept or stay; return (accepted, acceptance probability, status)."""
    draw_step(family, proposal, state, rng)
    protocol.copy_work(family, state.work, state.work_proposed)
    forward = propose(family, proposal, state)
    status = protocol.relax(family, state.y_proposed, state.work_proposed)
    if status == CAPACITY:
        return False, 0.0, status
    state.counts[PENDING] = 0
    state.counts[POSITION] += 1
    if status == OK:
        status = prepare(proposal, family, state.work_proposed, state.there)
    if status != OK:
        return False, 0.0, status
    log_ratio = log_density_ratio(family, proposal, state, forward)
    log_ratio += protocol.potential(family, weight, state.work)
    log_ratio -= protocol.potential(family, weight, state.work_proposed)
    probability = math.exp(min(0.0, log_ratio)) if math.isfinite(log_ratio) else 0.0
    accepted = state.uniform[0] < probability
    if accepted:
        assign(state.y_proposed, state.y)
        protocol.copy_work(family, state.work_proposed, state.work)
        copy_geometry(state.there, state.here)
        describe(family, weight, state)
    return accepted, probability, OK


@kernel
def record(family, state, accepted, recording, t):
    """Write draw t."""
    recording.acceptance[t] = accepted
    assign(state.row, recording.trace[t])
    assign(state.extra, recording.extra[t])
    if recording.supports.shape[0] > 0:
        protocol.mark_active(family, state.work, recording.supports[t])
    if recording.data.shape[0] > 0:
        assign(state.y, recording.data[t])


@kernel
def run_ppmh(family, weight, proposal, state, progress, thin, rng, recording):
    """Run until the recording is full, one draw every `thin` steps.

    `progress` holds (steps made, accepted since the last draw); the run returns early, to be called
    again with wider work, when a step meets more active columns than there is room for.
    """
    stop = recording.trace.shape[0] * thin
    while progress[0] < stop:
        accepted, _, status = step(family, weight, proposal, state, rng)
        if status == CAPACITY:
            return
        recording.failures[status] += 1
        progress[0] += 1
        progress[1] += 1 if accepted else 0
        if progress[0] % thin == 0:
            record(family, state, progress[1] / thin, recording, progress[0] // thin - 1)
            progress[1] = 0
