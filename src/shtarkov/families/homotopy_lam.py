# mypy: allow-untyped-defs, allow-untyped-calls
"""The exact penalty path of one data vector: all breakpoints, and the envelope between them.

Objective: half the squared residual + lam * |beta|_1 + half lam2 * |beta|^2 (no 1/n), lam2 fixed.
Between breakpoints beta is linear in lam, so the envelope is the quadratic
E(lam) = e0 + e1 lam + e2 lam^2 with e2 = -s'(H + lam2 I)^-1 s / 2. Its slope is |beta|_1, and
<y, r> = 2 e0 + e1 lam. Walks go down or up from the solution at any lam.

Slow twin: `families.active_set`, one solve per penalty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shtarkov._jit import kernel
from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.active_set import relax
from shtarkov.families.active_work import dot, update_rhs
from shtarkov.families.homotopy import (
    OK,
    advance,
    make_walk,
    next_wall,
    pass_event,
    turn,
    wall_slack,
)
from shtarkov.types import Floats, Ints, Status

FIRST_CAPACITY = 256
# Breakpoints recorded between two returns from compiled code.
BLOCK = 512
# A row of the table: lam at the upper end, e0, e1, e2, and |beta|^2 = b0 + b1 lam + b2 lam^2.
ROW = 7


class Quadratic(NamedTuple):
    """The envelope between two breakpoints, e0 + e1 lam + e2 lam^2."""

    e0: float
    e1: float
    e2: float


@kernel
def segment_quadratic(lam, lam_slope, y_sq, work):
    """Return the envelope around lam; the slopes of a walk in lam must be set."""
    norm, bend, along = 0.0, 0.0, 0.0
    for i in range(work.counts[0]):
        norm += abs(work.coef[i])
        bend -= work.signs[i] * work.target[i] / lam_slope
        along += work.rhs[i] * work.coef[i]
    envelope = 0.5 * (y_sq - along) + 0.5 * lam * norm
    e1, e2 = norm + bend * lam, -0.5 * bend
    return Quadratic(envelope - (e1 + e2 * lam) * lam, e1, e2)


@kernel
def start_walk(Xt, gram, lam, lam_slope, lam2, y, slack, walk, work):
    """Set the rates for a walk in lam from a solution; also turns a walk round."""
    walk.n_events[0] = 0
    for j in range(walk.asleep.size):
        walk.asleep[j] = 0
    update_rhs(Xt, y, work)
    return turn(Xt, gram, lam, lam_slope, lam2, y, slack, -1, walk, work)


@kernel
def walk_segment(Xt, gram, lam, lam_slope, limit, lam2, y, slack, walk, work):
    """Walk to the next breakpoint or to `limit`; gives (lam, status) there.

    With no breakpoint ahead and a limit of 0 or infinity nothing moves: the cell goes on for ever.
    """
    step, column = next_wall(lam, lam_slope, walk, work)
    room = (limit - lam) / lam_slope
    if step >= room:
        if limit > 0.0 and limit < np.inf:
            advance(room, y, walk, work)
        return limit, OK
    advance(step, y, walk, work)
    reached = lam + lam_slope * step
    status = pass_event(Xt, gram, reached, lam_slope, lam2, y, slack, column, walk, work)
    return reached, status


@kernel
def write_row(lam, lam_slope, y_sq, work, row_out):
    """Write one row of the table."""
    envelope = segment_quadratic(lam, lam_slope, y_sq, work)
    row_out[0], row_out[1], row_out[2], row_out[3] = lam, envelope.e0, envelope.e1, envelope.e2
    row_out[4:] = 0.0
    for i in range(work.counts[0]):
        rate = work.target[i] / lam_slope
        base = work.coef[i] - rate * lam
        row_out[4] += base * base
        row_out[5] += 2.0 * base * rate
        row_out[6] += rate * rate


@kernel
def record_path(Xt, gram, lam_from, lam_to, lam2, y, work, table, sizes):
    """Walk down from the solution at lam_from; gives (rows written, lam reached, status).

    With a full table it stops; call again from the lam reached.
    """
    n_features, n = Xt.shape
    walk = make_walk(n, n_features, False)
    y_sq = dot(y, y)
    slack = wall_slack(lam_from, np.max(np.abs(Xt @ y)))
    lam, rows = lam_from, 0
    status = start_walk(Xt, gram, lam, -1.0, lam2, y, slack, walk, work)
    while status == OK and lam > lam_to and rows < sizes.size:
        write_row(lam, -1.0, y_sq, work, table[rows])
        sizes[rows] = work.counts[0]
        rows += 1
        lam, status = walk_segment(Xt, gram, lam, -1.0, lam_to, lam2, y, slack, walk, work)
    return rows, lam, status


class PenaltyPath(NamedTuple):
    """All segments of a path, from large penalties to small.

    Attributes
    ----------
    lams : (S + 1,) breakpoints, descending; segment i lies between lams[i] and lams[i + 1]
    k : (S,) active columns in each segment
    envelope_terms : (S, 3) coefficients of 1, lam, lam^2 in the envelope
    square_terms : (S, 3) the same of |beta|^2
    lam2 : weight of half the squares
    """

    lams: Floats
    k: Ints
    envelope_terms: Floats
    square_terms: Floats
    lam2: float

    def _segment(self, lam: Floats) -> Ints:
        if np.any(lam > self.lams[0]) or np.any(lam < self.lams[-1]):
            msg = f"lam must lie between {self.lams[-1]:g} and {self.lams[0]:g}"
            raise InvalidProblem(msg)
        inside = np.searchsorted(-self.lams, -lam, side="left") - 1
        return np.clip(inside, 0, self.k.size - 1).astype(np.int64)

    def envelope(self, lam: Any) -> Floats:
        """Envelope at each penalty."""
        points = np.asarray(lam, dtype=np.float64)
        terms = self.envelope_terms[self._segment(points)]
        return np.asarray(terms[..., 0] + (terms[..., 1] + terms[..., 2] * points) * points)

    def norm(self, lam: Any) -> Floats:
        """|beta|_1 at each penalty."""
        points = np.asarray(lam, dtype=np.float64)
        terms = self.envelope_terms[self._segment(points)]
        return np.asarray(terms[..., 1] + 2.0 * terms[..., 2] * points)

    def residual_sq(self, lam: Any) -> Floats:
        """Squared residual at each penalty."""
        points = np.asarray(lam, dtype=np.float64)
        terms = self.square_terms[self._segment(points)]
        square = terms[..., 0] + (terms[..., 1] + terms[..., 2] * points) * points
        penalty = points * self.norm(points) + 0.5 * self.lam2 * square
        return np.asarray(2.0 * (self.envelope(points) - penalty))

    def active_size(self, lam: Any) -> Ints:
        """Active columns at each penalty."""
        found: Ints = self.k[self._segment(np.asarray(lam, dtype=np.float64))]
        return found


def penalty_path(
    family: Any, y: Floats, lam_low: float, lam_high: float | None = None
) -> PenaltyPath:
    """Follow the estimate at `y` from `lam_high` (default: where it is zero) down to `lam_low`.

    `family` is the compiled family at any penalty; its lam2, if it has one, is held fixed at the
    value it has there.
    """
    top = lam_high
    if top is None:
        top = max(float(protocol.lam_max(family, y)), 2.0 * lam_low)
    if not 0.0 < lam_low < top < np.inf:
        msg = f"the path must run down to a positive penalty; got {lam_low!r} below {top!r}"
        raise InvalidProblem(msg)
    lam2 = float(family.ridge_ratio * family.lam + family.ridge)
    capacity, status = FIRST_CAPACITY, int(Status.CAPACITY)
    rows: list[tuple[Floats, Ints]] = []
    while status == Status.CAPACITY:
        work, rows, lam = protocol.new_work(family, capacity), [], top
        protocol.image(family, y, work.z)
        status = relax(family.Xt, family.gram, top, lam2, y, work)
        while status == OK and lam > lam_low:
            table, sizes = np.zeros((BLOCK, ROW)), np.zeros(BLOCK, np.int64)
            used, lam, status = record_path(
                family.Xt, family.gram, lam, lam_low, lam2, y, work, table, sizes
            )
            rows.append((table[:used], sizes[:used]))
        capacity *= 2
    raise_for_status(status, "following the penalty path")
    table = np.concatenate([block for block, _ in rows])
    return PenaltyPath(
        np.append(table[:, 0], lam_low),
        np.concatenate([block for _, block in rows]),
        table[:, 1:4],
        table[:, 4:7],
        lam2,
    )
