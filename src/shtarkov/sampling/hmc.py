# mypy: allow-untyped-defs, allow-untyped-calls
"""Hamiltonian moves on data space for q proportional to exp(-potential), in units of sigma.

The gradient of the envelope is the residual. The potential is split into a harmonic part
half omega^2 |y|^2, whose flow is a rotation and is followed exactly, and the rest, whose gradient
r - omega^2 y kicks the momentum. n - k directions of the envelope have curvature one and k have
curvature zero, so omega^2 = 1 - k/n makes the kicks, and with them the energy error, smallest;
omega = 0 is plain leapfrog. Any omega leaves the target exact.

The image z of y (X'y) and that of the momentum move by the same linear recurrences: a leapfrog
step needs no product with X, only the draw of a momentum does.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shtarkov._jit import inlined_kernel, kernel
from shtarkov.families import protocol
from shtarkov.families.active_work import assign, dot
from shtarkov.types import Status

OK = int(Status.OK)
# Each trajectory's step is drawn within this share of the tuned one: no resonance survives it.
JITTER = 0.2


class ChainState(NamedTuple):
    """What the next step needs. `work` is the solver's memory at y; *_kept undo a rejection."""

    y: np.ndarray
    momentum: np.ndarray
    force: np.ndarray
    y_kept: np.ndarray
    momentum_image: np.ndarray
    force_image: np.ndarray
    work: Any
    work_kept: Any


class Tuning(NamedTuple):
    """What warm-up settles: step size, omega^2 of the split, leapfrog steps per move."""

    step_size: float
    frequency_sq: float
    n_leaps: int


class StepInfo(NamedTuple):
    """What only diagnostics need."""

    accepted: bool
    acceptance: float
    status: int


@kernel
def new_state(family, n, capacity):
    """Return an empty state with room for `capacity` active columns."""
    work = protocol.new_work(family, capacity)
    work_kept = protocol.new_work(family, capacity)
    m = work.z.size
    vectors = (np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n))
    return ChainState(
        vectors[0], vectors[1], vectors[2], vectors[3], np.zeros(m), np.zeros(m), work, work_kept
    )


@kernel
def place(family, y, state):
    """Put the chain at data vector y; return the status of the solve."""
    assign(y, state.y)
    protocol.image(family, y, state.work.z)
    return protocol.relax(family, state.y, state.work)


@kernel
def push(position, momentum, force, frequency_sq, duration):
    """Kick the momentum by the part of the force the rotation leaves out."""
    for i in range(position.size):
        momentum[i] -= duration * (force[i] - frequency_sq * position[i])


@kernel
def rotate(position, momentum, frequency_sq, duration):
    """Follow the harmonic flow exactly; a straight line when the frequency is zero."""
    frequency = math.sqrt(frequency_sq)
    cosine, sine = math.cos(frequency * duration), math.sin(frequency * duration)
    reach = duration if frequency == 0.0 else sine / frequency
    pull = frequency * sine
    for i in range(position.size):
        moved = cosine * position[i] + reach * momentum[i]
        momentum[i] = cosine * momentum[i] - pull * position[i]
        position[i] = moved


@inlined_kernel
def kick(family, weight, state, frequency_sq, duration):
    """Refresh the force at y and kick momentum and image with it."""
    protocol.write_force(family, weight, state.y, state.work, state.force, state.force_image)
    push(state.y, state.momentum, state.force, frequency_sq, duration)
    push(state.work.z, state.momentum_image, state.force_image, frequency_sq, duration)


@inlined_kernel
def leapfrog(family, weight, state, tuning, step_size):
    """Follow the flow for n_leaps steps; return the status."""
    frequency_sq = tuning.frequency_sq
    kick(family, weight, state, frequency_sq, 0.5 * step_size)
    for leap in range(tuning.n_leaps):
        rotate(state.y, state.momentum, frequency_sq, step_size)
        rotate(state.work.z, state.momentum_image, frequency_sq, step_size)
        status = protocol.relax(family, state.y, state.work)
        if status != OK:
            return status
        last = leap == tuning.n_leaps - 1
        kick(family, weight, state, frequency_sq, 0.5 * step_size if last else step_size)
    return OK


@inlined_kernel
def step(family, weight, state, tuning, rng):
    """Draw a momentum, follow the flow, accept or go back; return the StepInfo."""
    for i in range(state.y.size):
        state.momentum[i] = rng.standard_normal()
    protocol.image(family, state.momentum, state.momentum_image)
    assign(state.y, state.y_kept)
    protocol.copy_work(family, state.work, state.work_kept)
    kinetic = 0.5 * dot(state.momentum, state.momentum)
    before = protocol.potential(family, weight, state.work) + kinetic
    step_size = tuning.step_size * (1.0 + JITTER * (2.0 * rng.random() - 1.0))
    status = leapfrog(family, weight, state, tuning, step_size)
    acceptance = 0.0
    if status == OK:
        kinetic = 0.5 * dot(state.momentum, state.momentum)
        after = protocol.potential(family, weight, state.work) + kinetic
        acceptance = math.exp(min(0.0, before - after)) if math.isfinite(after) else 0.0
    accepted = rng.random() < acceptance
    if not accepted:
        assign(state.y_kept, state.y)
        protocol.copy_work(family, state.work_kept, state.work)
    return StepInfo(accepted, acceptance, status)
