"""`select` for labels: the empty, matched and free codes compete along a grid of penalties.

From large penalties down, each with a ladder of its own, until the codelengths have clearly passed
their minimum; then halfway to both neighbours of the best; then the contenders are sampled to the
error asked for (THEORY 4b and 5).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shtarkov.blas import one_blas_thread
from shtarkov.compile_notice import compile_notice
from shtarkov.errors import InvalidProblem
from shtarkov.families.build import check_lams, check_non_negative
from shtarkov.families.label_problems import LabelProblem, refuse_sigma
from shtarkov.progress import (
    METER_UNITS,
    InnerProgress,
    Meter,
    Progress,
    resolve_progress,
    tracked,
)
from shtarkov.sampling.collect import InterruptWatch
from shtarkov.seeds import resolve_seed
from shtarkov.selection.label_data import LabelData, make_label_data
from shtarkov.selection.label_node import LabelNode
from shtarkov.selection.label_verdict import assemble_labels
from shtarkov.selection.report import SelectionReport
from shtarkov.settings import check_run
from shtarkov.types import Floats

LABEL_CRITERIA = {
    "auto": ("matched", "free"),
    "prediction": ("matched",),
    "structure": ("free",),
}
# The default grid: each penalty this share of the last, and at most this many of them.
STEP = 0.5
MOST_PENALTIES = 14
# Codes are first looked at with this many times the standard error; contenders are within this
# many errors of the least.
COARSE = 4.0
CONTENDING = 3.0
# The curve has passed its minimum once this far above it, in nats and in standard errors.
CLEARLY_PASSED = 3.0
PASSED_ERRORS = 3.0
# What the bar expects: penalties until the curve has turned, and draws of every chain at each.
USUAL_PENALTIES = 8
USUAL_DRAWS = 500


def select_labels(
    problem: LabelProblem,
    y: ArrayLike,
    *,
    lams: ArrayLike | None = None,
    sigma: str | float = "unknown",
    criterion: str = "auto",
    std_error: float = 0.1,
    conservative: float = 0.0,
    n_grid: int = 100,
    n_chains: int = 4,
    n_jobs: int | None = None,
    seed: int | np.random.SeedSequence | None = None,
    progress: bool | Progress | None = None,
    max_draws: int = 4_000,
) -> SelectionReport:
    """Choose a sparse classifier for labels; the arguments are those of `select`.

    The grid has at most 14 penalties, or `n_grid` if that is fewer: codelengths are smooth in the
    penalty, and each costs a ladder of chains. `max_draws` is for each chain of a ladder.
    """
    began = time.perf_counter()
    if criterion not in LABEL_CRITERIA:
        msg = f"criterion must be one of {', '.join(LABEL_CRITERIA)}; got {criterion!r}"
        raise InvalidProblem(msg)
    refuse_sigma(sigma)
    check_non_negative(conservative, "conservative")
    check_run(std_error=std_error, max_draws=max_draws, n_chains=n_chains, n_jobs=n_jobs)
    chosen, data = resolve_seed(seed), make_label_data(problem, y)
    options = {"seed": chosen, "n_chains": n_chains, "n_jobs": n_jobs}
    given = None if lams is None else check_lams(lams).lams[::-1]
    bar = resolve_progress(progress)
    with (
        InterruptWatch(),
        one_blas_thread(),
        compile_notice(),
        tracked(bar, METER_UNITS, "codelengths of labels"),
    ):
        race = _Race(data, LABEL_CRITERIA[criterion], max_draws, Meter(bar), options)
        race.run(given, min(n_grid, MOST_PENALTIES), std_error)
    return assemble_labels(
        data,
        race.nodes,
        criterion=criterion,
        conservative=conservative,
        std_error=std_error,
        seed=chosen,
        seconds=time.perf_counter() - began,
        is_stopped=race.is_stopped,
    )


class _Race:
    """The ladders of one selection, from large penalties to small."""

    def __init__(
        self,
        data: LabelData,
        wanted: tuple[str, ...],
        max_draws: int,
        meter: Meter,
        options: dict[str, Any],
    ) -> None:
        self.data, self.wanted = data, wanted
        self.max_draws, self.meter, self.options = max_draws, meter, options
        self.nodes: list[LabelNode] = []
        self.n_made, self.is_stopped = 0, False

    def run(self, given: Floats | None, n_grid: int, std_error: float) -> None:
        """Sample coarsely along the grid, then finely where the decision is."""
        if self.data.lam_max <= 0.0:
            return
        try:
            self._sample(given, n_grid, std_error)
        except KeyboardInterrupt:
            if self._best() is None:
                raise
            self.is_stopped = True

    def _sample(self, given: Floats | None, n_grid: int, std_error: float) -> None:
        n_lams = min(n_grid, USUAL_PENALTIES) if given is None else given.size
        for lam in self._default_grid(n_grid) if given is None else given:
            self._tell(max(1, n_lams - self.n_made) + (3 if given is None else 1))
            self._add(float(lam), COARSE * std_error)
            if given is None and self._passed():
                break
        if given is None:
            for lam in self._between():
                self._tell(2)
                self._add(lam, COARSE * std_error)
        contenders = self._contenders(std_error)
        for place, node in enumerate(contenders):
            self._tell(len(contenders) - place)
            node.refine(std_error, self.max_draws)

    def _default_grid(self, n_grid: int) -> Iterator[float]:
        largest = self.data.largest_lam(self.options["seed"])
        return (largest * STEP**place for place in range(n_grid))

    def _add(self, lam: float, std_error: float) -> None:
        bar = InnerProgress(self.meter)
        node = LabelNode(self.data, lam, self.wanted, place=self.n_made, bar=bar, **self.options)
        self.n_made += 1
        node.refine(std_error, self.max_draws)
        self.nodes.append(node)
        self.nodes.sort(key=lambda item: -item.lam)

    def _tell(self, n_left: int) -> None:
        """Tell the bar how many penalties are left, and the shortest code so far."""
        best, numbers = self._best(), {}
        if best is not None:
            numbers = dict(zip(("nats", "error"), _least(best), strict=True), lam=best.lam)
        self.meter.plan(n_left * USUAL_DRAWS * self.options["n_chains"], **numbers)

    def _best(self) -> LabelNode | None:
        coded = [node for node in self.nodes if node.codes]
        return min(coded, key=lambda node: _least(node)[0], default=None)

    def _passed(self) -> bool:
        """Say whether the last penalty is clearly beyond the minimum of every code."""
        best, last = self._best(), self.nodes[-1]
        if best is None or last is best:
            return False
        if last.trouble:
            return True
        for name in self.wanted:
            least = min((node.codes[name] for node in self.nodes if node.codes), key=_nats)
            gap = last.codes[name].nats - least.nats
            error = math.hypot(last.codes[name].std_error, least.std_error)
            if gap < max(CLEARLY_PASSED, PASSED_ERRORS * error):
                return False
        return True

    def _between(self) -> list[float]:
        """Give the penalties halfway from the best to its neighbours."""
        best = self._best()
        if best is None:
            return []
        place = self.nodes.index(best)
        others = [self.nodes[i] for i in (place - 1, place + 1) if 0 <= i < len(self.nodes)]
        return [math.sqrt(best.lam * other.lam) for other in others]

    def _contenders(self, std_error: float) -> list[LabelNode]:
        """Give the penalties that may hold the shortest code, at its final error."""
        best = self._best()
        if best is None:
            return []
        nats, error = _least(best)
        limit = nats + CONTENDING * math.hypot(error, std_error)
        return [node for node in self.nodes if node.codes and _least(node)[0] <= limit]


def _nats(code: Any) -> float:
    return float(code.nats)


def _least(node: LabelNode) -> tuple[float, float]:
    """Give the length and error of a node's shortest code."""
    code = min(node.codes.values(), key=_nats)
    return code.nats, code.std_error
