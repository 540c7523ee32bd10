"""Records the mean squared error of the estimate against known coefficients, for any sampler.

The samplers record data vectors and scalars; the coefficients are solved for again from the data
vectors, one warm solve per draw, and thrown away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shtarkov._jit import kernel
from shtarkov.errors import InvalidProblem, raise_for_status
from shtarkov.families import protocol
from shtarkov.sampling.runs import Chunk, Run, Snapshot
from shtarkov.types import Floats, Status

OK = int(Status.OK)


@kernel
def mean_squares(family, data, truth, capacity, out):  # type: ignore[no-untyped-def]
    """Write the mean squared error of each data vector's estimate; give the worst status."""
    work = protocol.new_work(family, capacity)
    for t in range(data.shape[0]):
        fit = protocol.solve(family, data[t], work)
        if fit.status != OK:
            return fit.status
        total = 0.0
        for j in range(truth.size):
            total += (fit.coef[j] - truth[j]) ** 2
        out[t] = total / max(truth.size, 1)
    return OK


class MeanSquare:
    """Wraps a run that records data vectors."""

    def __init__(self, run: Run, family: Any, truth: Floats, sigma: float, keep: bool) -> None:
        self.run, self.family, self.sigma, self.keep = run, family, sigma, keep
        self.truth = truth / sigma
        self.capacity = 2

    def warm_up(self, n_steps: int) -> None:
        """Warm up the run."""
        self.run.warm_up(n_steps)

    def advance(self, n_draws: int) -> Chunk:
        """Advance the run and add the errors to its extras."""
        chunk = self.run.advance(n_draws)
        out = np.zeros(n_draws)
        self.capacity = max(self.capacity, int(chunk.trace[:, 0].max()) + 8)
        status = Status.CAPACITY
        while status == Status.CAPACITY:
            status = mean_squares(self.family, chunk.extras["data"], self.truth, self.capacity, out)
            self.capacity *= 2
        raise_for_status(status, "solving for the coefficients of a draw")
        extras = {"mse": out * self.sigma**2, **chunk.extras}
        if not self.keep:
            del extras["data"]
        return chunk._replace(extras=extras)

    def snapshot(self) -> Snapshot:
        """Give the run's snapshot."""
        return self.run.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the run."""
        self.run.restore(snapshot)


def check_truth(truth: Any, n_features: int) -> Floats:
    """Give the known coefficients as a vector, or say what is wrong."""
    vector = np.asarray(truth, dtype=np.float64)
    if vector.shape != (n_features,) or not np.isfinite(vector).all():
        msg = f"truth must hold {n_features} finite coefficients; got shape {vector.shape}"
        raise InvalidProblem(msg)
    return vector
