# mypy: allow-untyped-defs, allow-untyped-calls
"""The compiled loop around the moves of one chain; Python sees whole chunks only."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import inlined_kernel, kernel
from shtarkov.families import protocol
from shtarkov.families.active_work import assign
from shtarkov.sampling.hmc import step
from shtarkov.types import Status

OK = int(Status.OK)
CAPACITY = int(Status.CAPACITY)
# Recomputing the image from y this often keeps the recurrences' rounding below 1e-12 relative.
IMAGE_EVERY = 64


class Recording(NamedTuple):
    """Where a run writes; arrays with no rows are not recorded.

    Attributes
    ----------
    trace : (draws, observables)
    acceptance : (draws,) acceptance probability of each move
    supports : (draws or 0, D) which columns are active
    data : (draws or 0, n) the data vectors
    probe_lams : (m,) other penalties at which the envelope is wanted
    probes : (draws // probe_every, m) the envelopes there
    failures : (statuses,) counts of moves by status
    """

    trace: np.ndarray
    acceptance: np.ndarray
    supports: np.ndarray
    data: np.ndarray
    probe_lams: np.ndarray
    probes: np.ndarray
    probe_every: int
    failures: np.ndarray


@inlined_kernel
def record_supports(work, row_out):
    """Mark the active columns in a row of zeros."""
    for i in range(work.counts[0]):
        row_out[work.active[i]] = 1


@inlined_kernel
def probe(family, state, recording, row):
    """Write the envelope of the present data vector at the probe penalties, solved warm."""
    protocol.copy_work(family, state.work, state.work_kept)
    for i in range(recording.probe_lams.size):
        other = protocol.with_lam(family, recording.probe_lams[i])
        status = protocol.relax(other, state.y, state.work_kept)
        energy = protocol.potential(other, recording.probe_lams[i], state.work_kept)
        recording.probes[row, i] = energy if status == OK else math.nan


@inlined_kernel
def record(family, weight, state, info, recording, t):
    """Write draw t."""
    recording.failures[info.status] += 1
    recording.acceptance[t] = info.acceptance
    protocol.observe(family, weight, state.work, recording.trace[t])
    if recording.supports.shape[0] > 0:
        record_supports(state.work, recording.supports[t])
    if recording.data.shape[0] > 0:
        assign(state.y, recording.data[t])


@kernel
def run_chain(family, weight, state, tuning, start, stop, rng, recording):
    """Run and record draws start ... stop - 1; return the first draw not made.

    That is `stop`, unless a move met more active columns than the work has room for.
    """
    for t in range(start, stop):
        info = step(family, weight, state, tuning, rng)
        if info.status == CAPACITY:
            return t
        record(family, weight, state, info, recording, t)
        if recording.probe_lams.size > 0 and (t + 1) % recording.probe_every == 0:
            probe(family, state, recording, (t + 1) // recording.probe_every - 1)
        protocol.refresh_fibre(family, weight, state.y, state.work, rng)
        if t % IMAGE_EVERY == 0:
            protocol.image(family, state.y, state.work.z)
    return stop
