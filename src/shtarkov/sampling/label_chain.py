"""One chain of labels: its stream, state and tuning, and the draws it has recorded."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from shtarkov.errors import NotConverged, raise_for_status
from shtarkov.families.label_family import LabelFamily, copy_label_work
from shtarkov.sampling.label_flips import (
    BLOCKS,
    PAIRS,
    SCANS,
    FlipMove,
    LabelTarget,
    new_label_state,
    place_labels,
)
from shtarkov.sampling.label_loop import LABEL_OBSERVABLES, LabelRecording, run_labels
from shtarkov.types import Floats, Status

FIRST_CAPACITY = 128
MAX_FAILURE_SHARE = 0.01
# The share is of at least this many moves: one failure among a few says nothing.
FEW_MOVES = 500
# Moves between two adjustments of the block size, and the acceptance they aim at: the optimum of
# proposals that know the gradient.
BATCH = 10
TARGET_ACCEPTANCE = 0.55
LEAST_DRIFT = -12.0


class LabelChain:
    """A chain at one penalty and one (eta, tau); `extend` makes more draws.

    Parameters
    ----------
    family : the compiled family at its penalty
    eta, tau : weight of the objective, and of the norm within it (lam for the matched law)
    rng : the chain's own stream
    scan : "blocks", "pairs", "systematic" or "random"
    screen : decide single flips first at the present w
    thin : moves between draws; None lets the warm-up choose about one change of every label
    most_moves : upper end of that choice
    keep_labels : also record the labels
    n_positive : keep to labelings with this many positive labels, which needs scan="pairs"
    start : a chain of a neighbouring law to take the first labels and the block size from
    """

    def __init__(
        self,
        family: LabelFamily,
        eta: float,
        tau: float,
        rng: np.random.Generator,
        *,
        scan: str = "blocks",
        screen: bool = True,
        thin: int | None = None,
        most_moves: int | None = None,
        keep_labels: bool = False,
        n_positive: int | None = None,
        start: LabelChain | None = None,
    ) -> None:
        self.family, self.rng = family, rng
        self.target = LabelTarget(float(eta), float(tau))
        self.move = FlipMove(SCANS[scan], int(screen), 0.0)
        n = family.Xt.shape[1]
        self.chosen_thin = thin
        self.most_moves = n if most_moves is None else most_moves
        self.thin = thin or (1 if self.move.scan in (BLOCKS, PAIRS) else n)
        self.movable = n if n_positive is None else 2 * min(n_positive, n - n_positive)
        self.keep_labels = keep_labels
        self.seconds = 0.0
        self.segments: list[LabelRecording] = []
        labels = np.where(rng.random(n) < 0.5, -1.0, 1.0)
        if n_positive is not None:
            labels = np.where(rng.permutation(n) < n_positive, 1.0, -1.0)
        if start is not None:
            labels = start.state.y.copy()
            self.move = self.move._replace(drift=start.move.drift)
        self.state: Any = new_label_state(family, FIRST_CAPACITY)
        status = place_labels(family, labels, self.state)
        while status == Status.CAPACITY:
            self.state = new_label_state(family, 2 * self.state.work.active.size)
            status = place_labels(family, labels, self.state)
        raise_for_status(status, "solving at the chain's first labels")

    def grow(self) -> None:
        """Double the room for active columns."""
        wider = new_label_state(self.family, 2 * self.state.work.active.size)
        copy_label_work(self.state.work, wider.work)
        wider.y[:] = self.state.y
        wider.y_proposed[:] = self.state.y
        wider.place[:] = self.state.place
        self.state = wider

    def new_recording(self, n_draws: int, keep_labels: bool = False) -> LabelRecording:
        """Give room for draws."""
        return LabelRecording(
            np.zeros((n_draws, len(LABEL_OBSERVABLES))),
            np.zeros((n_draws if keep_labels else 0, self.family.Xt.shape[1]), np.int8),
            np.zeros(2, np.int64),
            np.zeros(1, np.int64),
            np.zeros(len(Status), np.int64),
        )

    def fill(self, recording: LabelRecording, start: int, stop: int, thin: int) -> None:
        """Make and record draws start ... stop - 1, finding room for columns at need."""
        while True:
            start = run_labels(
                self.family,
                self.target,
                self.move,
                self.state,
                start,
                stop,
                thin,
                self.rng,
                recording,
            )
            if start == stop:
                return
            self.grow()

    def _run(self, n_draws: int, thin: int, keep_labels: bool) -> LabelRecording:
        recording = self.new_recording(n_draws, keep_labels)
        self.fill(recording, 0, n_draws, thin)
        return recording

    def warm_up(self, n_moves: int) -> None:
        """Make moves that are thrown away; tune the block size (Robbins-Monro)."""
        n = self.family.Xt.shape[1]
        if self.move.scan not in (BLOCKS, PAIRS):
            self._run(1, max(1, n_moves), False)
            return
        settled: list[float] = []
        drift, n_batches = self.move.drift, max(1, n_moves // BATCH)
        if self.target.eta > 0.0 and drift == 0.0:
            drift = -0.5 * math.log(n)
        flips, moves = 0, 0
        for batch in range(n_batches):
            self.move = self.move._replace(drift=drift)
            recording = self._run(1, BATCH, False)
            share = float(recording.accepted[0]) / BATCH
            drift += 4.0 / (batch + 1.0) ** 0.6 * (share - TARGET_ACCEPTANCE)
            drift = min(0.0, max(LEAST_DRIFT, drift))
            if 2 * batch + 1 >= n_batches:
                settled.append(drift)
                flips, moves = flips + int(recording.flips[0]), moves + int(recording.flips[1])
        self.move = self.move._replace(drift=sum(settled) / len(settled))
        if self.chosen_thin is None:
            per_move = max(flips, 1) / moves
            wanted = math.ceil(0.5 * self.movable / per_move)
            self.thin = int(min(n, self.most_moves, max(1, wanted)))

    def extend(self, n_draws: int) -> None:
        """Make and record `n_draws` more draws."""
        began = time.perf_counter()
        self.segments.append(self._run(n_draws, self.thin, self.keep_labels))
        self.seconds += time.perf_counter() - began
        self.check_failures()

    def check_failures(self) -> None:
        """Raise if more moves failed than may be counted and forgotten."""
        counts = self.failures
        failed, total = int(counts[1:].sum()), int(counts.sum())
        if failed > MAX_FAILURE_SHARE * max(total, FEW_MOVES):
            table = {Status(code).name: int(n) for code, n in enumerate(counts) if n}
            msg = f"{failed} of {total} flips failed ({table}); rescale X or drop columns"
            raise NotConverged(msg)

    @property
    def work_per_draw(self) -> float:
        """Multiplications per draw, roughly: a few products with X a move."""
        return 20.0 * self.thin * self.family.Xt.size

    @property
    def n_draws(self) -> int:
        """Recorded draws."""
        return sum(segment.trace.shape[0] for segment in self.segments)

    @property
    def failures(self) -> Any:
        """Counts of moves by status."""
        return np.sum([segment.failures for segment in self.segments], axis=0)

    def column(self, index: int) -> Floats:
        """Return all recorded draws of one observable."""
        return np.concatenate([segment.trace[:, index] for segment in self.segments])
