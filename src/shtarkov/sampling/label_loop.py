# mypy: allow-untyped-defs, allow-untyped-calls
"""The compiled loop around the moves of labels, and what it records."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.families.label_family import DUAL, NORM, PRIMAL, K
from shtarkov.families.svm_losses import HINGE, SQUARED_HINGE
from shtarkov.families.svm_solve import relax_labels, start_at_zero
from shtarkov.sampling.label_flips import move_labels
from shtarkov.types import Floats, Ints, Status

OK = int(Status.OK)
CAPACITY = int(Status.CAPACITY)
# A multiplier this far from both ends marks a row on the margin.
INTERIOR = 1e-7

LABEL_OBSERVABLES: Final = (
    "envelope",  # the objective at the minimum
    "norm",  # |w|_1
    "k",  # active columns, without the intercept
    "n_support",  # rows with a positive multiplier
    "n_margin",  # rows on the margin
    "margin_residual",  # the paper's R_SVM, for the hinge
    "gap",  # objective minus dual value
    "n_positive",  # labels +1
)
# Those that are counts.
COUNTS: Final = ("k", "n_support", "n_margin", "n_positive")
ENVELOPE, NORM_COLUMN, ACTIVE, N_SUPPORT, N_MARGIN, RESIDUAL, GAP, N_POSITIVE = range(8)


class LabelRecording(NamedTuple):
    """Where a run writes.

    Attributes
    ----------
    trace : (draws, observables)
    labels : (draws or 0, N) the labels
    flips : (2,) labels flipped, moves made
    accepted : (1,) moves accepted
    failures : (statuses,) counts of moves by status
    """

    trace: Floats
    labels: np.ndarray
    flips: Ints
    accepted: Ints
    failures: Ints


@kernel
def observe_labels(family, state, row_out):
    """Write the observables of the present labels."""
    work = state.work
    n_support, n_margin, n_positive, residual = 0, 0, 0, 0.0
    for i in range(state.y.size):
        n_positive += 1 if state.y[i] > 0.0 else 0
        held = work.multipliers[i]
        n_support += 1 if held > INTERIOR else 0
        if held > INTERIOR and (family.loss == SQUARED_HINGE or held < 1.0 - INTERIOR):
            n_margin += 1
            if family.loss == HINGE:
                residual = max(residual, abs(state.y[i] * work.scores[i] - 1.0))
    row_out[ENVELOPE] = work.values[PRIMAL]
    row_out[NORM_COLUMN] = work.values[NORM]
    row_out[ACTIVE] = work.counts[K] - family.n_free
    row_out[N_SUPPORT] = n_support
    row_out[N_MARGIN] = n_margin
    row_out[RESIDUAL] = residual
    row_out[GAP] = work.values[PRIMAL] - work.values[DUAL]
    row_out[N_POSITIVE] = n_positive


@kernel
def evaluate_labels(family, labels, work, envelope_out):
    """Write the objective of each row of recorded labels, solved warm one after another."""
    y = np.ones(labels.shape[1])
    for t in range(labels.shape[0]):
        for i in range(y.size):
            y[i] = labels[t, i]
        if t == 0:
            start_at_zero(family, y, work)
        status = relax_labels(family, y, np.inf, work)
        if status != OK:
            return status
        envelope_out[t] = work.values[PRIMAL]
    return OK


@kernel
def run_labels(family, target, move, state, start, stop, thin, rng, recording):
    """Record draws start ... stop - 1, `thin` moves apart; return the first draw not made.

    That is `stop`, unless a solve met more active columns than the work has room for.
    """
    for t in range(start, stop):
        for _ in range(thin):
            status, flipped, accepted = move_labels(family, target, move, state, rng)
            if status == CAPACITY:
                return t
            recording.failures[status] += 1
            recording.flips[0] += flipped
            recording.flips[1] += 1
            recording.accepted[0] += accepted
        observe_labels(family, state, recording.trace[t])
        if recording.labels.shape[0] > 0:
            for i in range(state.y.size):
                recording.labels[t, i] = 1 if state.y[i] > 0.0 else -1
    return stop
