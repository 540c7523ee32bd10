# mypy: allow-untyped-defs, allow-untyped-calls
"""Replica exchange over a ladder of (lam, tau): Hamiltonian moves at each rung, swaps between them.

Rung i has density exp(-E_i(y)), E_i half the squared residual plus the penalty at lam_i with its
norm weighted by tau_i, sigma = 1. Neighbours exchange data vectors with probability
min(1, exp(-[E_i(y_j) + E_j(y_i) - E_i(y_i) - E_j(y_j)])), the pairs (0, 1), (2, 3), ... at even
draws and (1, 2), (3, 4), ... at odd ones: without a random choice of pairs a replica keeps its
direction while swaps are accepted (Okabe et al. 2001; Syed et al. 2022). E_j(y_i) is the exact
solve at lam_j started from the solution at lam_i; where only tau differs it needs none.

A chunk starts with every rung solved afresh from its data vector, so that a run can be resumed;
room for active columns grows inside the loop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families import protocol
from shtarkov.families.active_work import assign
from shtarkov.sampling.chain_loop import IMAGE_EVERY
from shtarkov.sampling.hmc import Tuning, new_state, place, step
from shtarkov.types import Status

OK = int(Status.OK)
CAPACITY = int(Status.CAPACITY)


class Rungs(NamedTuple):
    """The ladder and what its replicas carry from chunk to chunk.

    Attributes
    ----------
    lams, weights : (R,) penalty and luckiness weight of each rung
    tuning : (R, 3) step size, omega^2 and leapfrog steps of each rung
    points : (R, n) the data vector at each rung
    replicas : (R,) which replica is there: it keeps its number when it is swapped
    room : (R,) active columns there is room for
    n_draws : (1,) draws made so far, which the schedule follows
    """

    lams: np.ndarray
    weights: np.ndarray
    tuning: np.ndarray
    points: np.ndarray
    replicas: np.ndarray
    room: np.ndarray
    n_draws: np.ndarray


class TemperedRecording(NamedTuple):
    """Where a run writes; arrays with no rows are not recorded.

    Attributes
    ----------
    trace, acceptance, supports, data : of the target's rung, as in `chain_loop.Recording`
    replicas : (draws, R) which replica is at each rung
    swaps : (draws, R - 1) probability of each swap tried, NaN for those not tried
    energies : (draws, R, R) energy of rung i's data vector at rung j, NaN in draws left out
    failures : (statuses,) counts of moves and solves by status
    """

    trace: np.ndarray
    acceptance: np.ndarray
    supports: np.ndarray
    data: np.ndarray
    replicas: np.ndarray
    swaps: np.ndarray
    energies: np.ndarray
    failures: np.ndarray


@kernel
def widen(family, rungs, states, rung):
    """Double a rung's room for active columns."""
    old = states[rung]
    rungs.room[rung] *= 2
    wider = new_state(family, old.y.size, rungs.room[rung])
    assign(old.y, wider.y)
    protocol.copy_work(family, old.work, wider.work)
    states[rung] = wider


@kernel
def settled(family, rungs, rung):
    """Return the rung's state, solved from its data vector alone, and the status."""
    own = protocol.with_lam(family, rungs.lams[rung])
    while True:
        state = new_state(own, rungs.points.shape[1], rungs.room[rung])
        status = place(own, rungs.points[rung], state)
        if status != CAPACITY:
            return state, status
        rungs.room[rung] *= 2


@kernel
def move(family, rungs, states, rung, refresh_image, rng):
    """Make one Hamiltonian and one fibre move at a rung; return the move's StepInfo."""
    own = protocol.with_lam(family, rungs.lams[rung])
    row = rungs.tuning[rung]
    tuning = Tuning(row[0], row[1], int(row[2]))
    info = step(own, rungs.weights[rung], states[rung], tuning, rng)
    while info.status == CAPACITY:
        widen(own, rungs, states, rung)
        info = step(own, rungs.weights[rung], states[rung], tuning, rng)
    state = states[rung]
    protocol.refresh_fibre(own, rungs.weights[rung], state.y, state.work, rng)
    if refresh_image:
        protocol.image(own, state.y, state.work.z)
    return info


@kernel
def solve_on(family, rungs, states, rung, other):
    """Move the spare solution of a rung's data vector on to lam of `other`; (energy, status)."""
    there = protocol.with_lam(family, rungs.lams[other])
    status = protocol.relax(there, states[rung].y, states[rung].work_kept)
    while status == CAPACITY:
        widen(family, rungs, states, rung)
        state = states[rung]
        protocol.copy_work(family, state.work, state.work_kept)
        status = protocol.relax(there, state.y, state.work_kept)
    return protocol.potential(there, rungs.weights[other], states[rung].work_kept), status


@kernel
def own_energy(family, rungs, states, rung):
    """Return E_i(y_i)."""
    own = protocol.with_lam(family, rungs.lams[rung])
    return protocol.potential(own, rungs.weights[rung], states[rung].work)


@kernel
def log_swap_ratio(family, rungs, states, low):
    """Return ln of the Metropolis ratio of swapping rungs `low` and `low` + 1, and the status.

    Leaves each data vector's solution at the other rung in its `work_kept`.
    """
    high = low + 1
    log_ratio = own_energy(family, rungs, states, low) + own_energy(family, rungs, states, high)
    for rung, other in ((low, high), (high, low)):
        protocol.copy_work(family, states[rung].work, states[rung].work_kept)
        energy, status = solve_on(family, rungs, states, rung, other)
        if status != OK:
            return -math.inf, status
        log_ratio -= energy
    return log_ratio, OK


@kernel
def swap(family, rungs, states, low):
    """Exchange the data vectors of rungs `low` and `low` + 1, solved there already."""
    here, there = states[low], states[low + 1]
    protocol.copy_work(family, here.work_kept, here.work)
    protocol.copy_work(family, there.work_kept, there.work)
    states[low] = there
    states[low + 1] = here
    replica = rungs.replicas[low]
    rungs.replicas[low] = rungs.replicas[low + 1]
    rungs.replicas[low + 1] = replica


@kernel
def swap_sweep(family, rungs, states, rng, recording, t):
    """Try the swaps whose turn it is."""
    for low in range(rungs.n_draws[0] % 2, len(states) - 1, 2):
        log_ratio, status = log_swap_ratio(family, rungs, states, low)
        probability = math.exp(min(0.0, log_ratio)) if not math.isnan(log_ratio) else 0.0
        if status != OK:
            recording.failures[status] += 1
        recording.swaps[t, low] = probability
        if rng.random() < probability:
            swap(family, rungs, states, low)


@kernel
def write_energies(family, rungs, states, rung, out):
    """Write the energy of a rung's data vector at all rungs, walking away on either side."""
    out[rung] = own_energy(family, rungs, states, rung)
    for direction in (-1, 1):
        protocol.copy_work(family, states[rung].work, states[rung].work_kept)
        other = rung + direction
        while 0 <= other < out.size:
            energy, status = solve_on(family, rungs, states, rung, other)
            if status != OK:
                break
            out[other] = energy
            other += direction


@kernel
def record(family, rungs, states, target, energies_every, recording, t):
    """Write draw t."""
    state = states[target]
    own = protocol.with_lam(family, rungs.lams[target])
    protocol.observe(own, rungs.weights[target], state.work, recording.trace[t])
    if recording.supports.shape[0] > 0:
        protocol.mark_active(own, state.work, recording.supports[t])
    if recording.data.shape[0] > 0:
        assign(state.y, recording.data[t])
    assign(rungs.replicas, recording.replicas[t])
    if rungs.n_draws[0] % energies_every == 0:
        for rung in range(len(states)):
            write_energies(family, rungs, states, rung, recording.energies[t, rung])


@kernel
def run_tempering(family, rungs, target, energies_every, rng, recording):
    """Fill the recording; return the status of solving where the last run left off."""
    # Appended one by one: numba 0.68 loses writes to records made in a list comprehension.
    state, status = settled(family, rungs, 0)
    states = [state]
    for rung in range(1, rungs.lams.size):
        state, worse = settled(family, rungs, rung)
        states.append(state)
        status = max(status, worse)
    if status != OK:
        return status
    for t in range(recording.trace.shape[0]):
        for rung in range(rungs.lams.size):
            info = move(family, rungs, states, rung, t % IMAGE_EVERY == 0, rng)
            recording.failures[info.status] += 1
            if rung == target:
                recording.acceptance[t] = info.acceptance
        swap_sweep(family, rungs, states, rng, recording, t)
        record(family, rungs, states, target, energies_every, recording, t)
        rungs.n_draws[0] += 1
    for rung in range(rungs.lams.size):
        assign(states[rung].y, rungs.points[rung])
    return OK
