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

Pair flips leave the number of positive labels alone: rows of the two classes are matched at random,
and a pair flips together or not at all. A matching is as likely from the labels it leads to as from
those it starts at, so the ratio is that of block flips with pairs for rows.
Slow twin: `complexity.label_enumeration`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shtarkov._jit import bare_kernel, inlined_kernel, kernel
from shtarkov.families.label_family import (
    ABOVE_LIMIT,
    NORM,
    PRIMAL,
    LabelWork,
    copy_label_work,
    new_label_work,
)
from shtarkov.families.svm_losses import HINGE, LOGISTIC, loss_value
from shtarkov.families.svm_solve import relax_labels, start_at_zero
from shtarkov.types import Floats, Ints, Status

OK = int(Status.OK)
# A running product is folded into a logarithm below this.
SMALL = 1e-100
RANDOM_SCAN = 0
SYSTEMATIC_SCAN = 1
BLOCKS = 2
PAIRS = 3
SCANS = {
    "random": RANDOM_SCAN,
    "systematic": SYSTEMATIC_SCAN,
    "blocks": BLOCKS,
    "pairs": PAIRS,
}


class LabelTarget(NamedTuple):
    """The law of the labels: weight of the objective, and of the norm within it."""

    eta: float
    tau: float


class FlipMove(NamedTuple):
    """How labels are moved.

    Attributes
    ----------
    scan : RANDOM_SCAN, SYSTEMATIC_SCAN, BLOCKS or PAIRS
    screen : 1 if single flips are first decided at the present w
    drift : block and pair flips: zero flips half of the indifferent labels, less flips fewer
    """

    scan: int
    screen: int
    drift: float


class LabelState(NamedTuple):
    """Labels and their solution, the proposal's solution, and scratch.

    `place` holds the row the systematic scan looks at next. `partner` holds the row that flips
    with each row: itself in a block, -1 for one that a pair move leaves alone. `order` lists the
    rows by class while they are matched, `chances` the probabilities that a block is drawn with.
    """

    y: Floats
    work: LabelWork
    y_proposed: Floats
    trial: LabelWork
    place: Ints
    partner: Ints
    order: Ints
    chances: Floats


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
        np.arange(n),
        np.arange(n),
        np.zeros(n),
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


@bare_kernel
def flip_change(loss, eta, margin):
    """Return what flipping a label of this margin adds to the energy at the same w."""
    if loss == LOGISTIC:
        return eta * margin
    return eta * (loss_value(loss, -margin) - loss_value(loss, margin))


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


@inlined_kernel
def flip_one(family, target, move, state, row, rng):
    """Try to flip one label; return (status, labels flipped, accepted)."""
    first = 0.0  # log-probability of passing the screen
    if move.screen == 1:
        margin = state.y[row] * state.work.scores[row]
        first = min(0.0, -flip_change(family.loss, target.eta, margin))
        if first < 0.0 and -rng.standard_exponential() > first:
            return OK, 0, 0
    allowed = energy(family, target, state.work) + rng.standard_exponential() - first
    state.y_proposed[row] = -state.y[row]
    status = solve_proposal(family, target, allowed, state)
    if status == OK:
        back = 0.0
        if move.screen == 1:
            margin = state.y_proposed[row] * state.trial.scores[row]
            back = min(0.0, -flip_change(family.loss, target.eta, margin))
        if energy(family, target, state.trial) <= allowed + back:
            accept(state)
            return OK, 1, 1
    state.y_proposed[row] = state.y[row]
    return (OK if status == ABOVE_LIMIT else status), 0, 0


@kernel
def match_classes(state, rng):
    """Match every row of the smaller class with a random row of the larger one."""
    n, first, last = state.y.size, 0, state.y.size - 1
    for i in range(n):
        state.partner[i] = -1
        if state.y[i] > 0.0:
            state.order[first] = i
            first += 1
        else:
            state.order[last] = i
            last -= 1
    # The larger class fills one end; draw from that end without replacement.
    small, large = (0, first) if 2 * first <= n else (first, 0)
    n_small = min(first, n - first)
    for p in range(n_small):
        place = large + p + rng.integers(0, n - n_small - p)
        row, other = state.order[small + p], state.order[place]
        state.order[place] = state.order[large + p]
        state.partner[row], state.partner[other] = other, row


@bare_kernel
def write_chances(family, target, drift, labels, scores, state):
    """Write each row's probability of flipping, with its partner, in a block move from `labels`."""
    partner, chances = state.partner, state.chances
    for i in range(labels.size):
        chances[i] = flip_change(family.loss, target.eta, labels[i] * scores[i])
    for i in range(labels.size):
        change = chances[i]
        if partner[i] > i:
            change += chances[partner[i]]
        chances[i] = 1.0 / (1.0 + math.exp(0.5 * change - drift))


@bare_kernel
def log_of_block(labels, other, state):
    """Return the log-probability that a block move from `labels` gives `other`."""
    total, product = 0.0, 1.0
    for i in range(labels.size):
        if state.partner[i] >= i:
            chance = state.chances[i]
            product *= chance if labels[i] != other[i] else 1.0 - chance
            if product < SMALL:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@bare_kernel
def propose_block(state, rng):
    """Write the proposed labels; return how many flipped."""
    flipped = 0
    for i in range(state.y.size):
        state.y_proposed[i] = state.y[i]
    for i in range(state.y.size):
        other = state.partner[i]
        if other >= i and rng.random() < state.chances[i]:
            state.y_proposed[i] = -state.y[i]
            state.y_proposed[other] = -state.y[other]
            flipped += 1 if other == i else 2
    return flipped


@inlined_kernel
def flip_block(family, target, move, state, rng):
    """Try to flip a random block of labels; return (status, labels flipped, accepted)."""
    drift, y, proposed = move.drift, state.y, state.y_proposed
    if move.scan == PAIRS:
        match_classes(state, rng)
    write_chances(family, target, drift, y, state.work.scores, state)
    flipped = propose_block(state, rng)
    if flipped == 0:
        return OK, 0, 1
    forward = log_of_block(y, proposed, state)
    allowed = energy(family, target, state.work) + rng.standard_exponential() - forward
    status = solve_proposal(family, target, allowed, state)
    if status == OK:
        write_chances(family, target, drift, proposed, state.trial.scores, state)
        back = log_of_block(proposed, y, state)
        if energy(family, target, state.trial) <= allowed + back:
            accept(state)
            return OK, flipped, 1
    return (OK if status == ABOVE_LIMIT else status), 0, 0


@inlined_kernel
def move_labels(family, target, move, state, rng):
    """Make one move; return (status, labels flipped, accepted)."""
    if move.scan == BLOCKS or move.scan == PAIRS:
        return flip_block(family, target, move, state, rng)
    n = state.y.size
    if move.scan == RANDOM_SCAN:
        row = rng.integers(0, n)
    else:
        row = state.place[0]
        state.place[0] = (row + 1) % n
    return flip_one(family, target, move, state, row, rng)
