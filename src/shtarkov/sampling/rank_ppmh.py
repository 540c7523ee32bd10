# mypy: allow-untyped-defs, allow-untyped-calls
"""Propose-and-project moves for the nuclear norm: the strata are the ranks.

At an estimate of rank r with singular vectors U, V the data vectors that move it are the image of
the tangents of the rank-r matrices, {S E V' + S U F'}: everything along V, and along the span of
S U elsewhere. With W an orthonormal basis of that span the projector is

    P Z = Z V V' + W W' Z (I - V V'),      of rank d = r p + (q - r) r.

Full rank: the proposal N(y, delta^2 [(I - P) + epsilon P]) crosses ranks, with the Metropolis ratio
of `sampling.ppmh` (d in place of k). Level set: epsilon = 0 leaves the estimate where it is, and a
step is refused when the residual leaves the face (|S r|_op > lam).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import observables as obs
from shtarkov.families import protocol
from shtarkov.families.active_work import assign, dot
from shtarkov.types import Status

OK = int(Status.OK)
# A direction of S U shorter than this share of its length after projection is no direction.
DEPENDENT = 1e-12


class RankProposal(NamedTuple):
    """Step length, and the variance along tangents relative to that across them."""

    step: float
    epsilon: float


class RankFrame(NamedTuple):
    """The projector at one estimate.

    Attributes
    ----------
    across : (m, p) rows: orthonormal basis of the span of S U
    right : (m, q) rows: V'
    sizes : rank r, directions of S U, d
    """

    across: np.ndarray
    right: np.ndarray
    sizes: np.ndarray


class RankState(NamedTuple):
    """Everything a chain keeps; arrays are overwritten in place."""

    y: np.ndarray
    y_proposed: np.ndarray
    delta: np.ndarray
    projected: np.ndarray
    work: Any
    work_proposed: Any
    here: RankFrame
    there: RankFrame


class RankRecording(NamedTuple):
    """Where a run writes; `data` may have no rows."""

    trace: np.ndarray
    acceptance: np.ndarray
    data: np.ndarray
    failures: np.ndarray


@kernel
def new_frame(p, q):
    """Return the frame of rank zero."""
    m = min(p, q)
    return RankFrame(np.zeros((m, p)), np.zeros((m, q)), np.zeros(3, np.int64))


@kernel
def new_state(family):
    """Return an empty state."""
    p, q = family.scales.size, family.n_targets
    n = p * q
    return RankState(
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        protocol.new_work(family, 0),
        protocol.new_work(family, 0),
        new_frame(p, q),
        new_frame(p, q),
    )


@kernel
def prepare(family, work, frame):
    """Write the frame of the estimate in `work`: Gram and Schmidt, twice, on the columns of S U."""
    p, q = work.coef.shape
    rank, kept = work.counts[0], 0
    for i in range(rank):
        assign(work.right[i], frame.right[i])
        row = frame.across[kept]
        for a in range(p):
            row[a] = family.scales[a] * work.left[i, a]
        length = math.sqrt(dot(row, row))
        for _ in range(2):
            for j in range(kept):
                along = dot(frame.across[j], row)
                for a in range(p):
                    row[a] -= along * frame.across[j, a]
        left = math.sqrt(dot(row, row))
        if left > DEPENDENT * length:
            for a in range(p):
                row[a] /= left
            kept += 1
    frame.sizes[0], frame.sizes[1] = rank, kept
    frame.sizes[2] = rank * p + (q - rank) * kept


@kernel
def copy_frame(source, destination):
    """Copy a frame."""
    for i in range(source.sizes[0]):
        assign(source.right[i], destination.right[i])
        assign(source.across[i], destination.across[i])
    for i in range(source.sizes.size):
        destination.sizes[i] = source.sizes[i]


@kernel
def project(frame, p, q, vector, out):
    """Write P v, v a (p, q) matrix row by row."""
    rank, kept = frame.sizes[0], frame.sizes[1]
    for a in range(p):
        for b in range(q):
            out[a * q + b] = 0.0
        for i in range(rank):
            total = 0.0
            for b in range(q):
                total += vector[a * q + b] * frame.right[i, b]
            for b in range(q):
                out[a * q + b] += total * frame.right[i, b]
    for i in range(kept):
        for b in range(q):
            total = 0.0
            for a in range(p):  # out holds Z V V' up to earlier rows of W, orthogonal to this one
                total += frame.across[i, a] * (vector[a * q + b] - out[a * q + b])
            for a in range(p):
                out[a * q + b] += total * frame.across[i, a]


@kernel
def scale_of(proposal, n, d):
    """Return delta_d."""
    return proposal.step / math.sqrt(max(n - d, 1))


@kernel
def inverse_form(proposal, frame, family, delta, scratch):
    """Return delta' [(I - P) + epsilon P]^-1 delta."""
    project(frame, family.scales.size, family.n_targets, delta, scratch)
    along = dot(scratch, scratch)
    return dot(delta, delta) + (1.0 / proposal.epsilon - 1.0) * along


@kernel
def propose(family, proposal, state, rng):
    """Write the step and the candidate; return the scale."""
    n, root = state.y.size, math.sqrt(proposal.epsilon)
    for i in range(n):
        state.delta[i] = rng.standard_normal()
    project(state.here, family.scales.size, family.n_targets, state.delta, state.projected)
    scale = scale_of(proposal, n, state.here.sizes[2])
    for i in range(n):
        state.delta[i] = scale * (state.delta[i] + (root - 1.0) * state.projected[i])
        state.y_proposed[i] = state.y[i] + state.delta[i]
    return scale


@kernel
def log_density_ratio(family, proposal, state, scale):
    """Return ln q(y | y') - ln q(y' | y)."""
    n = state.y.size
    scale_there = scale_of(proposal, n, state.there.sizes[2])
    forward = inverse_form(proposal, state.here, family, state.delta, state.projected)
    backward = inverse_form(proposal, state.there, family, state.delta, state.projected)
    forms = forward / (scale * scale) - backward / (scale_there * scale_there)
    log_dets = (state.here.sizes[2] - state.there.sizes[2]) * math.log(proposal.epsilon)
    return 0.5 * (forms + log_dets) + n * math.log(scale / scale_there)


@kernel
def step(family, weight, proposal, state, rng):
    """Propose, accept or stay; return (accepted, status)."""
    scale = propose(family, proposal, state, rng)
    uniform = rng.random()
    protocol.copy_work(family, state.work, state.work_proposed)
    status = protocol.relax(family, state.y_proposed, state.work_proposed)
    if status != OK:
        return False, status
    prepare(family, state.work_proposed, state.there)
    log_ratio = log_density_ratio(family, proposal, state, scale)
    log_ratio += protocol.potential(family, weight, state.work)
    log_ratio -= protocol.potential(family, weight, state.work_proposed)
    if not uniform < math.exp(min(0.0, log_ratio)):
        return False, OK
    assign(state.y_proposed, state.y)
    protocol.copy_work(family, state.work_proposed, state.work)
    copy_frame(state.there, state.here)
    return True, OK


@kernel
def run_full_rank(family, weight, proposal, state, thin, rng, recording):
    """Fill the recording, one draw every `thin` steps."""
    for t in range(recording.trace.shape[0]):
        n_accepted = 0
        for _ in range(thin):
            accepted, status = step(family, weight, proposal, state, rng)
            recording.failures[status] += 1
            n_accepted += 1 if accepted else 0
        recording.acceptance[t] = n_accepted / thin
        protocol.observe(family, weight, state.work, recording.trace[t])
        if recording.data.shape[0] > 0:
            assign(state.y, recording.data[t])


@kernel
def is_on_face(family, residual):
    """Say whether |S r|_op <= lam, but for rounding: the face's own singular values are lam."""
    p, q = family.scales.size, family.n_targets
    pulled = np.empty((p, q))
    for a in range(p):
        for b in range(q):
            pulled[a, b] = family.scales[a] * residual[a * q + b]
    return np.linalg.svd(pulled, False)[1][0] <= family.lam * (1.0 + 1e-9)


@kernel
def run_level_set(family, proposal, state, thin, rng, recording):
    """Fill the recording with residuals of one estimate; `state.y` and `y_proposed` hold them."""
    p, q = family.scales.size, family.n_targets
    scale = scale_of(proposal, p * q, state.here.sizes[2])
    for t in range(recording.trace.shape[0]):
        n_accepted = 0
        for _ in range(thin):
            for i in range(p * q):
                state.delta[i] = rng.standard_normal()
            project(state.here, p, q, state.delta, state.projected)
            for i in range(p * q):
                state.y_proposed[i] = state.y[i] + scale * (state.delta[i] - state.projected[i])
            drop = 0.5 * (dot(state.y, state.y) - dot(state.y_proposed, state.y_proposed))
            is_better = rng.random() < math.exp(min(0.0, drop))
            if is_better and is_on_face(family, state.y_proposed):
                assign(state.y_proposed, state.y)
                n_accepted += 1
        recording.failures[OK] += thin
        recording.acceptance[t] = n_accepted / thin
        recording.trace[t, obs.RESIDUAL_SQ] = dot(state.y, state.y)
        if recording.data.shape[0] > 0:
            assign(state.y, recording.data[t])
