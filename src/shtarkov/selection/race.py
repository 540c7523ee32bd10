"""The competitors of one selection, computed only as accurately as the decision between them needs.

The empty and the subset code are exact; the matched code is sampled along its penalties, the free
code around its minimum. Where the two shortest are not told apart, both are sampled again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shtarkov.complexity.ladder import INTERRUPTED
from shtarkov.complexity.ray_chain import empty_model_ln_i
from shtarkov.progress import Progress
from shtarkov.selection.candidates import Candidate, empty, free, matched, subset
from shtarkov.selection.data_part import DataPart
from shtarkov.selection.free import FreeChoice, free_code
from shtarkov.selection.matched import matched_curve, refined_curve
from shtarkov.selection.matched_curve import MatchedCurve, is_stopped, stopped

# Competitors this close, in standard errors of their difference, are sampled again more finely.
SETTLED = 2.0
MAX_REFINEMENTS = 1
REFINEMENT = 0.5
# The free code is first looked for with this many times the standard error, and few chains.
COARSE = 4.0
COARSE_CHAINS = 2
COARSE_DRAWS = 5_000
# A free code whose length is this uncertain after all its draws does not compete.
USELESS_ERROR = 1.0
# Nor is one sampled that is guessed to be this much longer than the shortest of the others.
HOPELESS = 20.0
EXACT = {"empty", "subset"}


class Race:
    """The competitors of one selection, refined while the decision between them is open."""

    def __init__(
        self,
        data: DataPart,
        grid: Any,
        wanted: tuple[str, ...],
        extend: bool,
        seed: int,
        bar: Progress,
        options: dict[str, Any],
    ) -> None:
        self.data, self.grid, self.wanted, self.extend = data, grid, wanted, extend
        self.seed, self.bar, self.options = seed, bar, options
        self.curve: MatchedCurve | None = None
        self.choice: FreeChoice | None = None
        self.candidates: dict[str, Candidate] = {}
        self.needs_free = len(wanted) == 2

    def run(self, std_error: float, conservative: float) -> None:
        """Compute the codelengths; spend more draws where the two best are not told apart."""
        ln_i = 0.0 if self.data.sigma is not None else empty_model_ln_i(self.data.n_dim)
        self.candidates["empty"] = empty(self.data, ln_i)
        if self.grid.size == 0:
            return
        if "subset" in self.wanted:
            found = subset(self.data, self.candidates["empty"].code.nats)
            if math.isfinite(found.code.nats):  # as many rows as columns chosen leave no code
                self.candidates["subset"] = found
        try:
            self._sample(std_error, conservative)
        except KeyboardInterrupt:
            if self.curve is None or (self.needs_free and set(self.candidates) == {"empty"}):
                raise
            self.curve = stopped(self.curve)

    def _sample(self, std_error: float, conservative: float) -> None:
        """Sample the codes that have an integral, again where the winner is open."""
        self._sample_matched(std_error, conservative)
        if not self._interrupted():
            self._sample_free(std_error)
        for refinement in range(MAX_REFINEMENTS):
            open_codes = self._open()
            if self._interrupted() or open_codes <= EXACT:
                return
            finer = std_error * REFINEMENT ** (refinement + 1)
            self._sample_matched(finer, conservative)
            if "free" in open_codes and not self._interrupted():
                self._sample_free(finer)

    def _sample_matched(self, std_error: float, conservative: float) -> None:
        if self.curve is not None:
            self.curve = refined_curve(
                self.data, self.curve, std_error=std_error, seed=self.seed, **self.options
            )
        else:
            self.curve = matched_curve(
                self.data,
                self.grid,
                std_error=std_error,
                extend=self.extend,
                seed=self.seed,
                bar=self.bar,
                **self.options,
            )
        if "matched" in self.wanted:
            self.candidates["matched"] = matched(self.data, self.curve, conservative)

    def _sample_free(self, std_error: float) -> None:
        """Look for the free code coarsely, and finely only if it may win."""
        if "free" not in self.wanted:
            return
        assert self.curve is not None
        few = {
            **self.options,
            "n_chains": min(self.options["n_chains"], COARSE_CHAINS),
            "max_draws": min(self.options["max_draws"], COARSE_DRAWS),
        }
        stages = [(std_error, self.options)]
        if self.choice is None:
            stages.insert(0, (COARSE * std_error, few))
        least = min(item.code.nats for name, item in self.candidates.items() if name != "free")
        longest = math.inf if self.needs_free else least + HOPELESS
        for accuracy, options in stages:
            self.choice = free_code(
                self.data,
                self.curve,
                std_error=accuracy,
                seed=self.seed + 2,
                bar=self.bar,
                start=self.choice,
                longest=longest,
                **options,
            )
            if self.choice is None:
                return
            self.candidates["free"] = free(self.data, self.choice)
            if self.choice.std_error > USELESS_ERROR and not self.needs_free:
                del self.candidates["free"]
                return
            least = min(item.code.nats for item in self.candidates.values())
            if self.choice.codelength - least > SETTLED * self.choice.std_error:
                return

    def _interrupted(self) -> bool:
        """Say whether Ctrl-C has ended the sampling: what is known by then is the answer."""
        met = () if self.choice is None else self.choice.warnings
        return INTERRUPTED in met or (self.curve is not None and is_stopped(self.curve))

    def _open(self) -> set[str]:
        """Name the codes between which more draws could change the winner; empty if settled."""
        first = min(self.candidates, key=lambda name: self.candidates[name].code.nats)
        best = self.candidates[first].code
        close = {
            name
            for name, item in self.candidates.items()
            if name != first
            and item.code.nats - best.nats < SETTLED * np.hypot(best.std_error, item.code.std_error)
        }
        return close | {first} if close else close
