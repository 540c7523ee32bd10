"""One Hamiltonian chain: its stream, state and tuning, and the draws it has recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shtarkov.errors import NotConverged, raise_for_status
from shtarkov.families import protocol
from shtarkov.families.facts import facts_of, relax_work
from shtarkov.families.observables import DF, OBSERVABLES, K
from shtarkov.sampling.chain_loop import Recording, run_chain
from shtarkov.sampling.hmc import Tuning, new_state, place
from shtarkov.types import Floats, Status

# Accepted about three times in four over n = 10...1000 and k/n < 0.3: warm-up starts here.
FIRST_STEP = 0.7
# Flow time of one move. A quarter of the harmonic period, pi/2, forgets y in a Gaussian direction;
# a little less gave the most effective draws per solve (benchmarks/sampler.py).
FLOW_TIME = 1.3
# Where the fibre move leaves flat directions to the flow, a move may take so many times longer.
LONGEST_FLOW = 12.0
MAX_LEAPS = 40
# A weight above the penalty makes the walls of the strata so many times steeper. Steps shrink with
# it, and moves by this power of it (benchmarks/steep_walls.py).
STEEP_POWER = 2.0 / 3.0
# Moves between two adjustments of the step size in warm-up.
BATCH = 5
# Room for this many active columns at first; doubled when a move needs more. Two k x k factors are
# kept, so no N x N array is made unless that many columns are active.
FIRST_CAPACITY = 256
# Rounds of the solver in a typical leapfrog step, for the modelled cost.
ROUNDS = 3.0
# More failed moves than this share and the run is an error, not a statistic.
MAX_FAILURE_SHARE = 0.01


def flow_time_for(fibre_width: float, steepness: float = 1.0) -> float:
    """Give how long one move should follow the flow: across what is flat, but not past a wall."""
    return FLOW_TIME * min(max(fibre_width, 1.0), LONGEST_FLOW) / steepness**STEEP_POWER


def tuning_for(step_size: float, frequency_sq: float, flow_time: float = FLOW_TIME) -> Tuning:
    """Give the tuning that follows the flow for about `flow_time`."""
    n_leaps = math.ceil(flow_time / step_size - 0.25)
    return Tuning(step_size, frequency_sq, min(max(n_leaps, 1), MAX_LEAPS))


class Chain:
    """A chain at one penalty, in units of the noise scale; `extend` makes more draws.

    Parameters
    ----------
    family : the compiled family at its penalty
    weight : tau, the weight of the norm in the target; equal to the penalty for matched luckiness
    rng : the chain's own stream
    probe_lams, probe_every : record the envelope at these other penalties every so many draws
    keep_supports, keep_data : also record the active sets, the data vectors
    """

    def __init__(
        self,
        family: Any,
        weight: float,
        rng: np.random.Generator,
        *,
        probe_lams: Floats | None = None,
        probe_every: int = 1,
        keep_supports: bool = False,
        keep_data: bool = False,
    ) -> None:
        self.family, self.weight, self.rng = family, float(weight), rng
        self.probe_lams = np.zeros(0) if probe_lams is None else np.asarray(probe_lams, float)
        self.probe_every = probe_every
        self.keep_supports, self.keep_data = keep_supports, keep_data
        self.facts = facts_of(family)
        self.steepness = max(1.0, self.weight / family.lam)
        self.flow_time = flow_time_for(self.facts.fibre_width, self.steepness)
        self.tuning = tuning_for(FIRST_STEP / self.steepness, 1.0, self.flow_time)
        self.segments: list[Recording] = []
        self.capacity = FIRST_CAPACITY
        start = rng.standard_normal(self.facts.n_dim)
        self.settle(start, "solving at the chain's first data vector")

    def settle(self, y: Floats, doing: str) -> None:
        """Solve at y from nothing: the state then depends on the data vector alone."""
        self.state = new_state(self.family, y.size, self.capacity)
        status = place(self.family, y, self.state)
        while status == Status.CAPACITY:
            self.capacity *= 2
            self.state = new_state(self.family, y.size, self.capacity)
            status = place(self.family, y, self.state)
        raise_for_status(status, doing)

    def _grow(self) -> None:
        """Double the room for active columns."""
        self.capacity *= 2
        wider = new_state(self.family, self.state.y.size, self.capacity)
        wider.y[:] = self.state.y
        protocol.copy_work(self.family, self.state.work, wider.work)
        self.state = wider

    def _empty_recording(self, n_draws: int) -> Recording:
        n_probes = n_draws // self.probe_every if self.probe_lams.size else 0
        return Recording(
            np.zeros((n_draws, len(OBSERVABLES))),
            np.zeros(n_draws),
            np.zeros((n_draws if self.keep_supports else 0, self.facts.n_recorded), np.uint8),
            np.zeros((n_draws if self.keep_data else 0, self.facts.n_dim)),
            self.probe_lams,
            np.zeros((n_probes, self.probe_lams.size)),
            self.probe_every,
            np.zeros(len(Status), np.int64),
        )

    def _run(self, recording: Recording, tuning: Tuning) -> None:
        """Fill `recording`, giving the solver more room when it asks."""
        stop, at = recording.trace.shape[0], 0
        while True:
            at = run_chain(
                self.family, self.weight, self.state, tuning, at, stop, self.rng, recording
            )
            if at == stop:
                return
            self._grow()

    def warm_up(self, n_steps: int, target: float = 0.8) -> None:
        """Tune step size (Robbins-Monro) and omega^2 (from the mean df); draws are thrown away."""
        n_batches = n_steps // BATCH
        log_step, frequency_sq = math.log(FIRST_STEP / self.steepness), 1.0
        settled, dfs = [], []
        for batch in range(n_batches):
            recording = self._empty_recording(BATCH)._replace(probe_lams=np.zeros(0))
            self._run(recording, tuning_for(math.exp(log_step), frequency_sq, self.flow_time))
            gain = 1.5 / (batch + 1.0) ** 0.6
            log_step += gain * (float(recording.acceptance.mean()) - target)
            log_step = min(log_step, math.log(min(self.flow_time, FLOW_TIME)))
            dfs.append(float(recording.trace[:, DF].mean()))
            if 2 * batch + 1 >= n_batches:
                settled.append(log_step)
            else:  # the share of flat directions, from the later part of the first half
                recent = dfs[len(dfs) // 2 :]
                share = sum(recent) / len(recent) / self.state.y.size
                frequency_sq = min(max(1.0 - share, 0.0), 1.0)
        if settled:
            log_step = sum(settled) / len(settled)
        self.tuning = tuning_for(math.exp(log_step), frequency_sq, self.flow_time)

    def extend(self, n_draws: int) -> None:
        """Make and record `n_draws` more draws (a multiple of `probe_every` when probing)."""
        recording = self._empty_recording(n_draws)
        self._run(recording, self.tuning)
        self.segments.append(recording)
        self._check_failures()

    def _check_failures(self) -> None:
        counts = self.failures
        failed, total = int(counts[1:].sum()), int(counts.sum())
        if failed > MAX_FAILURE_SHARE * total:
            table = {Status(code).name: int(n) for code, n in enumerate(counts) if n}
            msg = f"{failed} of {total} moves failed ({table}); rescale X or drop dependent columns"
            raise NotConverged(msg)

    @property
    def n_draws(self) -> int:
        """Recorded draws."""
        return sum(segment.trace.shape[0] for segment in self.segments)

    @property
    def work_per_draw(self) -> float:
        """Multiplications of one draw, modelled: measured time would not repeat with the seed."""
        k = float(self.column(K).mean()) if self.segments else 0.0
        round_work = relax_work(self.family, k)
        return self.facts.image_work + ROUNDS * self.tuning.n_leaps * round_work

    @property
    def failures(self) -> Any:
        """Counts of moves by status."""
        return np.sum([segment.failures for segment in self.segments], axis=0)

    def column(self, index: int) -> Floats:
        """Return all recorded draws of one observable."""
        return np.concatenate([segment.trace[:, index] for segment in self.segments])

    def gathered(self, field: str) -> Any:
        """Return one field of the recordings, all segments joined."""
        return np.concatenate([getattr(segment, field) for segment in self.segments])
