"""Envelope HMC as a `Run`: what `sample(sampler="hmc")` collects from."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from shtarkov.sampling.chain import Chain
from shtarkov.sampling.hmc import Tuning
from shtarkov.sampling.runs import Chunk, Plan, Request, Snapshot, chunk_of, parse_options

CHUNK_DRAWS = 250
N_WARMUP = 200


@dataclass(frozen=True, slots=True)
class HmcOptions:
    """There are none: warm-up finds the step."""


def plan(request: Request) -> Plan:
    """Check the request."""
    parse_options(HmcOptions, request, "hmc")

    def make_run(rng: np.random.Generator) -> HmcRun:
        return HmcRun(request.family, request.weight, rng, active=request.active, data=request.data)

    return Plan(N_WARMUP, CHUNK_DRAWS, make_run)


class HmcRun:
    """Envelope HMC behind the `Run` interface."""

    def __init__(
        self,
        family: Any,
        weight: float,
        rng: np.random.Generator,
        *,
        active: bool = False,
        data: bool = False,
    ) -> None:
        self.chain = Chain(family, weight, rng, keep_supports=active, keep_data=data)
        self.active, self.data = active, data

    def warm_up(self, n_steps: int) -> None:
        """Tune the step size and the frequency of the split."""
        self.chain.warm_up(n_steps)
        self.chain.settle(self.chain.state.y, "solving at the end of the warm-up")

    def advance(self, n_draws: int) -> Chunk:
        """Make draws."""
        began = time.perf_counter()
        self.chain.extend(n_draws)
        recording = self.chain.segments.pop()
        self.chain.settle(self.chain.state.y, "solving at the end of a chunk")
        extras = {}
        if self.active:
            extras["active"] = recording.supports
        if self.data:
            extras["data"] = recording.data
        return chunk_of(recording, time.perf_counter() - began, extras)

    def snapshot(self) -> Snapshot:
        """Give data vector, tuning and stream."""
        tuning = np.array(self.chain.tuning, dtype=np.float64)
        stream = self.chain.rng.bit_generator.state
        return {"y": self.chain.state.y.copy(), "tuning": tuning, "rng": stream}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        step_size, frequency_sq, n_leaps = snapshot["tuning"]
        self.chain.tuning = Tuning(float(step_size), float(frequency_sq), int(n_leaps))
        self.chain.rng.bit_generator.state = snapshot["rng"]
        self.chain.settle(snapshot["y"], "solving at the data vector of a checkpoint")
