"""Replica exchange of labels: one chain a law, all at one penalty, that trade their labels.

Laws at one penalty differ only in the weights of two numbers every state carries: F, the loss with
its ridge, and |w|_1. Whether two laws trade is therefore decided without solving anything, and a
trade is a swap of two references. Where laws of large weight fall into separate modes (labels that
different sparse directions explain), their chains travel by way of the flat law.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from shtarkov.families.label_family import NORM, PRIMAL
from shtarkov.sampling.label_chain import LabelChain
from shtarkov.types import Floats


class LabelTower:
    """Chains of neighbouring laws at one penalty; `extend` makes draws of all of them.

    Parameters
    ----------
    chains : one a law, neighbours within reach of each other
    rng : stream of the trades
    """

    def __init__(self, chains: Sequence[LabelChain], rng: np.random.Generator) -> None:
        self.chains, self.rng = list(chains), rng
        self.tried = np.zeros(len(self.chains) - 1)
        self.traded = np.zeros(len(self.chains) - 1)
        self._parity = 0

    @property
    def n_draws(self) -> int:
        """Draws of every chain."""
        return min(chain.n_draws for chain in self.chains)

    @property
    def work_per_draw(self) -> float:
        """Multiplications per draw of all chains, roughly."""
        return sum(chain.work_per_draw for chain in self.chains)

    @property
    def acceptance(self) -> Floats:
        """Share of trades accepted between each law and the next."""
        return np.asarray(self.traded / np.maximum(self.tried, 1.0))

    def warm_up(self, n_draws: int) -> None:
        """Make draws that are thrown away."""
        self.extend(n_draws)
        for chain in self.chains:
            chain.segments.pop()

    def extend(self, n_draws: int) -> None:
        """Make draws, trading after each."""
        began = time.perf_counter()
        recordings = [chain.new_recording(n_draws) for chain in self.chains]
        for draw in range(n_draws):
            for chain, recording in zip(self.chains, recordings, strict=True):
                chain.fill(recording, draw, draw + 1, chain.thin)
            self._trade()
        seconds = (time.perf_counter() - began) / len(self.chains)
        for chain, recording in zip(self.chains, recordings, strict=True):
            chain.segments.append(recording)
            chain.seconds += seconds
            chain.check_failures()

    def _trade(self) -> None:
        """Let every other pair of neighbours trade, by the Metropolis rule."""
        for lower in range(self._parity, len(self.chains) - 1, 2):
            first, second = self.chains[lower], self.chains[lower + 1]
            self.tried[lower] += 1.0
            if -self.rng.standard_exponential() < log_trade(first, second):
                first.state, second.state = second.state, first.state
                self.traded[lower] += 1.0
        self._parity = 1 - self._parity


def log_trade(first: LabelChain, second: LabelChain) -> float:
    """Give the log-ratio of the joint law after and before a trade."""
    fits, norms = [], []
    for chain in (first, second):
        values = chain.state.work.values
        norms.append(float(values[NORM]))
        fits.append(float(values[PRIMAL]) - float(chain.family.lam) * norms[-1])
    eta = first.target.eta - second.target.eta
    weight = first.target.eta * first.target.tau - second.target.eta * second.target.tau
    ratio = eta * (fits[0] - fits[1]) + weight * (norms[0] - norms[1])
    return ratio if math.isfinite(ratio) else -math.inf
