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
def probe(family, state, recording, row):
    """Write the envelope of the present data vector at the probe penalties, solved warm.

    Gives CAPACITY when one of them needs more room; any other failure is a NaN in the recording.
    """
    protocol.copy_work(family, state.work, state.work_kept)
    for i in range(recording.probe_lams.size):
        other = protocol.with_lam(family, recording.probe_lams[i])
        status = protocol.relax(other, state.y, state.work_kept)
        if status == CAPACITY:
            return CAPACITY
        energy = protocol.potential(other, recording.probe_lams[i], state.work_kept)
        recording.probes[row, i] = energy if status == OK else math.nan
    return OK


@inlined_kernel
def record(family, weight, state, info, recording, t):
    """Write draw t."""
    recording.failures[info.status] += 1
    recording.acceptance[t] = info.acceptance
    protocol.observe(family, weight, state.work, recording.trace[t])
    if recording.supports.shape[0] > 0:
        protocol.mark_active(family, state.work, recording.supports[t])
    if recording.data.shape[0] > 0:
        assign(state.y, recording.data[t])


@kernel
def run_chain(family, weight, state, tuning, start, stop, rng, recording):
    """Run and record draws start ... stop - 1; return where to go on from.

    That is `stop`, unless the work has no room for the active columns: of a move, then it is the
    number of the draw to make; of a probe, then it is minus one minus the number of the draw made.
    """
    made = start < 0
    first = -1 - start if made else start
    for t in range(first, stop):
        if t > first or not made:
            info = step(family, weight, state, tuning, rng)
            if info.status == CAPACITY:
                return t
            record(family, weight, state, info, recording, t)
        if recording.probe_lams.size > 0 and (t + 1) % recording.probe_every == 0:
            row = (t + 1) // recording.probe_every - 1
            if probe(family, state, recording, row) == CAPACITY:
                return -1 - t
        protocol.refresh_fibre(family, weight, state.y, state.work, rng)
        if t % IMAGE_EVERY == 0:
            protocol.image(family, state.y, state.work.z)
    return stop
