# mypy: allow-untyped-defs, allow-untyped-calls
"""Moves on labels that leave q(y) ~ exp(-eta (E_lam(y) - (lam - tau) |w(y)|_1)) invariant.

Single flips: one label, in random or in systematic order, by the Metropolis rule. The objective at
the present w with the label flipped is known without solving (one margin changes sign); with
`screen` it decides first, and only labels that pass are solved for and corrected by the exact ratio
(delayed acceptance, Christen and Fox 2005). The uniform number of the last decision is drawn before
the solve, which ends as soon as a dual value shows that the flip will be rejected.

Block flips: every label flips independently with probability 1 / (1 + exp(change / 2 - drift)),
`change` being what the flip alone adds at the present w; accepted by the Metropolis-Hastings ratio
with the margins of both ends. At eta = 0 and drift = 0 this draws all labels afresh.
Slow twin: `complexity.label_enumeration`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.label_family import (
    NORM,
    PRIMAL,
    LabelWork,
    copy_label_work,
    new_label_work,
)
from shtarkov.families.svm_losses import HINGE, loss_value
from shtarkov.families.svm_solve import ABOVE_LIMIT, relax_labels, start_at_zero
from shtarkov.types import Floats, Ints, Status

OK = int(Status.OK)
RANDOM_SCAN = 0
SYSTEMATIC_SCAN = 1
BLOCKS = 2
SCANS = {"random": RANDOM_SCAN, "systematic": SYSTEMATIC_SCAN, "blocks": BLOCKS}


class LabelTarget(NamedTuple):
    """The law of the labels: weight of the objective, and of the norm within it."""

    eta: float
    tau: float


class FlipMove(NamedTuple):
    """How labels are moved.

    Attributes
    ----------
    scan : RANDOM_SCAN, SYSTEMATIC_SCAN or BLOCKS
    screen : 1 if single flips are first decided at the present w
    drift : block flips: zero flips half of the indifferent labels, less flips fewer
    """

    scan: int
    screen: int
    drift: float


class LabelState(NamedTuple):
    """Labels and their solution, the proposal's solution, and scratch.

    `place` holds the row the systematic scan looks at next.
    """

    y: Floats
    work: LabelWork
    y_proposed: Floats
    trial: LabelWork
    place: Ints


@kernel
def new_label_state(family, capacity):
    """Return a state with room for `capacity` active columns, its labels all +1 and unsolved."""
    n = family.Xt.shape[1]
    return LabelState(
        np.ones(n),
        new_label_work(family, capacity),
        np.ones(n),
        new_label_work(family, capacity),
        np.zeros(1, np.int64),
    )


@kernel
def place_labels(family, y, state):
    """Put the state at labels y, solved from w = 0; return the status."""
    for i in range(y.size):
        state.y[i] = y[i]
        state.y_proposed[i] = y[i]
    start_at_zero(family, state.y, state.work)
    return relax_labels(family, state.y, np.inf, state.work)


@kernel
def energy(family, target, work):
    """Return minus the log of the unnormalised law at a solution."""
    return target.eta * (work.values[PRIMAL] - (family.lam - target.tau) * work.values[NORM])


@kernel
def flip_change(family, target, margin):
    """Return what flipping a label of this margin adds to the energy at the same w."""
    return target.eta * (loss_value(family.loss, -margin) - loss_value(family.loss, margin))


@kernel
def solve_proposal(family, target, allowed, state):
    """Solve at the proposed labels, warm; end early once the energy must pass `allowed`.

    The limit bounds the objective, so it can be used only where that is the energy.
    """
    copy_label_work(state.work, state.trial)
    limit = np.inf
    if target.tau == family.lam and target.eta > 0.0:
        limit = allowed / target.eta
    for i in range(state.y.size):
        if family.loss == HINGE and state.y_proposed[i] != state.y[i]:
            outside = state.y_proposed[i] * state.trial.scores[i] > 1.0
            state.trial.centres[i] = 0.0 if outside else 1.0
    return relax_labels(family, state.y_proposed, limit, state.trial)


@kernel
def accept(state):
    """Make the proposal the state."""
    copy_label_work(state.trial, state.work)
    for i in range(state.y.size):
        state.y[i] = state.y_proposed[i]


@kernel
def flip_one(family, target, move, state, row, rng):
    """Try to flip one label; return (status, labels flipped, accepted)."""
    first = 0.0  # log-probability of passing the screen
    if move.screen == 1:
        margin = state.y[row] * state.work.scores[row]
        first = min(0.0, -flip_change(family, target, margin))
        if first < 0.0 and -rng.standard_exponential() > first:
            return OK, 0, 0
    allowed = energy(family, target, state.work) + rng.standard_exponential() - first
    state.y_proposed[row] = -state.y[row]
    status = solve_proposal(family, target, allowed, state)
    if status == OK:
        back = 0.0
        if move.screen == 1:
            margin = state.y_proposed[row] * state.trial.scores[row]
            back = min(0.0, -flip_change(family, target, margin))
        if energy(family, target, state.trial) <= allowed + back:
            accept(state)
            return OK, 1, 1
    state.y_proposed[row] = state.y[row]
    return (OK if status == ABOVE_LIMIT else status), 0, 0


@kernel
def log_flip(family, target, drift, margin):
    """Return the log-odds of flipping a label of this margin in a block."""
    return drift - 0.5 * flip_change(family, target, margin)


@kernel
def log_of_block(family, target, drift, labels, work, other):
    """Return the log-probability that a block move from `labels` gives `other`."""
    total = 0.0
    for i in range(labels.size):
        odds = log_flip(family, target, drift, labels[i] * work.scores[i])
        if other[i] == labels[i]:
            odds = -odds
        total -= loss_value(2, odds)
    return total


@kernel
def flip_block(family, target, move, state, rng):
    """Try to flip a random block of labels; return (status, labels flipped, accepted)."""
    flipped = 0
    for i in range(state.y.size):
        margin = state.y[i] * state.work.scores[i]
        odds = log_flip(family, target, move.drift, margin)
        state.y_proposed[i] = state.y[i]
        if rng.random() * (1.0 + math.exp(-odds)) < 1.0:
            state.y_proposed[i] = -state.y[i]
            flipped += 1
    if flipped == 0:
        return OK, 0, 1
    forward = log_of_block(family, target, move.drift, state.y, state.work, state.y_proposed)
    allowed = energy(family, target, state.work) + rng.standard_exponential() - forward
    status = solve_proposal(family, target, allowed, state)
    if status == OK:
        back = log_of_block(family, target, move.drift, state.y_proposed, state.trial, state.y)
        if energy(family, target, state.trial) <= allowed + back:
            accept(state)
            return OK, flipped, 1
    return (OK if status == ABOVE_LIMIT else status), 0, 0


@kernel
def move_labels(family, target, move, state, rng):
    """Make one move; return (status, labels flipped, accepted)."""
    if move.scan == BLOCKS:
        return flip_block(family, target, move, state, rng)
    n = state.y.size
    if move.scan == RANDOM_SCAN:
        row = rng.integers(0, n)
    else:
        row = state.place[0]
        state.place[0] = (row + 1) % n
    return flip_one(family, target, move, state, row, rng)
